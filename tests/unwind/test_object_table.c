/* SPDX-License-Identifier: MIT
 * test_object_table.c -- walks through generated code on the library's own table of objects
 * (MALLOW_TEST_OBJECT_TABLE=1): what is in no object is passed by its frame pointer only after the
 * dynamic linker's list was asked, and that is asked neither in signal handlers, nor with a lock
 * held, nor where a forked child would wait forever. */
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/lock/lock.h"
#include "os/unwind/object_table.h"
#include "prof/modules/modules.h"
#include "prof/new_objects.h"
#include "prof/unwind/unwind.h"
#include "state/layout.h"
#include "test.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

enum { REGION_BYTES = 65536, DEPTH_MAX = 64, WAIT_SECONDS = 60, FUNCTION_BYTES = 40 };

typedef void generated_fn(void (*function)(void));

/* Keeps a frame pointer, calls its argument and returns. */
#if defined(__x86_64__)
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#elif defined(__aarch64__)
static const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#endif

static uint64_t pcs[DEPTH_MAX];
static mw_unwind_result_t walk;
static generated_fn *generated;

/* Code in a region of its own, in which no look-up was made before. */
static generated_fn *generate(void) {
	char *memory = mmap(NULL, 2 * REGION_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	char *at = memory + REGION_BYTES - (uintptr_t)memory % REGION_BYTES;
	memcpy(at, code, sizeof code);
	__builtin___clear_cache(at, at + sizeof code);
	generated_fn *function;
	*(void **)&function = at;
	return function;
}

static bool passes(const void *function) {
	for (unsigned i = 0; i < walk.depth; i++)
		if ((pcs[i] & ~MW_FRAME_EXACT) - (uint64_t)(uintptr_t)function < FUNCTION_BYTES)
			return true;
	return false;
}

static NOINLINE void look(void) {
	walk = mw_unwind_capture(pcs, DEPTH_MAX);
	__asm__ volatile("" ::: "memory");
}

static NOINLINE void call(void (*function)(void)) {
	generated(function);
	__asm__ volatile("" ::: "memory");
}

static bool is_complete(void) {
	return !walk.truncated && passes(*(void **)&generated) && passes((const void *)call);
}

static bool is_cut_there(void) {
	return walk.truncated && walk.met_unknown && passes(*(void **)&generated) &&
	       !passes((const void *)call);
}

static void look_and_learn(void) {
	mw_new_objects_t objects = mw_new_objects_begin();
	look();
	CHECK(is_cut_there());
	CHECK(mw_new_objects_learn(&objects, pcs, walk.depth));
	look();
	CHECK(is_complete());
	/* The list did not change: a third walk would be in vain. */
	CHECK(walk.met_unknown);
	CHECK(!mw_new_objects_learn(&objects, pcs, walk.depth));
}

static void test_generated_code(void) {
	generated = generate();
	call(look_and_learn);
	call(look);
	CHECK(is_complete());
}

static void on_signal(int number) {
	(void)number;
	mw_new_objects_t objects = mw_new_objects_begin();
	look();
	CHECK(is_cut_there());
	CHECK(!mw_new_objects_learn(&objects, pcs, walk.depth));
	mw_new_objects_poll();
	look();
	CHECK(is_cut_there());
}

static void interrupt_here(void) {
	raise(SIGUSR1);
}

/* A handler may have interrupted the dynamic linker. */
static void test_handler(void) {
	generated = generate();
	signal(SIGUSR1, on_signal);
	call(interrupt_here);
	/* The next allocation outside of handlers does what was left. */
	mw_new_objects_poll();
	call(look);
	CHECK(is_complete());
}

static void learn_with_a_lock(void) {
	static mw_lock_t lock;
	mw_new_objects_t objects = mw_new_objects_begin();
	look();
	mw_lock_acquire(&lock, MW_RANK_MODULES);
	CHECK(!mw_new_objects_learn(&objects, pcs, walk.depth));
	mw_new_objects_poll();
	mw_lock_release(&lock, MW_RANK_MODULES);
	look();
	CHECK(is_cut_there());
}

static void test_lock(void) {
	generated = generate();
	call(learn_with_a_lock);
}

static atomic_bool is_inside, may_leave;

static int wait_inside(struct dl_phdr_info *info, size_t bytes, void *argument) {
	(void)info;
	(void)bytes;
	(void)argument;
	is_inside = true;
	while (!may_leave)
		usleep(1000);
	return 1;
}

static void *hold_the_list(void *unused) {
	dl_iterate_phdr(wait_inside, NULL);
	return unused;
}

static void learn_in_child(void) {
	mw_new_objects_t objects = mw_new_objects_begin();
	look();
	mw_new_objects_learn(&objects, pcs, walk.depth);
	mw_new_objects_poll();
	look();
}

static int in_child(bool is_alone) {
	mw_modules_fork_prepare();
	pid_t pid = fork();
	if (pid == 0) {
		alarm(WAIT_SECONDS);
		mw_modules_forked();
		generated = generate();
		call(learn_in_child);
		_exit(is_alone ? !is_complete() : !is_cut_there());
	}
	int status;
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return status;
}

/* glibc does not free the lock of its list in a child, where the lock's holder is not. */
static void test_child(void) {
	CHECK_EQ(in_child(true), 0);
	pthread_t holder;
	CHECK(pthread_create(&holder, NULL, hold_the_list, NULL) == 0);
	while (!is_inside)
		usleep(1000);
	CHECK_EQ(in_child(false), 0);
	may_leave = true;
	CHECK(pthread_join(holder, NULL) == 0);
}

int main(void) {
	setvbuf(stdout, NULL, _IONBF, 0);
	mw_unwind_start();
	CHECK(mw_os_object_table_generation() != 0);
	RUN(test_generated_code);
	RUN(test_handler);
	RUN(test_lock);
	RUN(test_child);
	return 0;
}
