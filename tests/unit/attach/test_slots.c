/* SPDX-License-Identifier: MIT
 * test_slots.c -- what the blob of `mallow attach` does with slots that are not as the command saw
 * them, and with requests while it changes slots. */
#include "attach_host.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

/* Slots whose pages are not as the command saw them are left alone: the dynamic linker is writing a
 * page that it closes later, or the program has closed one that was open. */
static void other_protections_are_refused(void) {
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t *pages =
		mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	uint64_t *closed = pages, *open = pages + bytes / sizeof *pages;
	host_list();
	host.work->mean_bytes = 1;
	*closed = *open = host.work->original[MW_ATTACH_malloc];
	CHECK(mprotect(closed, bytes, PROT_READ) == 0);
	uint64_t first = host.work->slot_count;
	const mw_attach_slot_t wrong[2] = {
		{.address = (uintptr_t)closed,
		 .original = *closed,
		 .function = MW_ATTACH_malloc,
		 .protection = PROT_READ | PROT_WRITE},
		{.address = (uintptr_t)open,
		 .original = *open,
		 .function = MW_ATTACH_malloc,
		 .protection = PROT_READ},
	};
	memcpy(&host.slots[first], wrong, sizeof wrong);
	host.work->slot_count += 2;
	CHECK_EQ(host_request(MW_ATTACH_START), MW_ATTACH_REASON_NONE);
	CHECK_EQ(host.work->slots_refused, 2);
	CHECK_EQ(*closed, host.work->original[MW_ATTACH_malloc]);
	CHECK_EQ(*open, host.work->original[MW_ATTACH_malloc]);
	*(volatile uint64_t *)open = 1; /* the linker goes on */
	CHECK_EQ(host_request(MW_ATTACH_STOP), MW_ATTACH_REASON_NONE);
	CHECK(munmap(pages, 2 * bytes) == 0);
}

/* While one thread changes slots, another one's request is not followed. */
static volatile uint32_t answer;

static void *send_stop(void *unused) {
	(void)unused;
	answer = host_request(MW_ATTACH_STOP);
	return NULL;
}

static int ask_meanwhile(int (*see)(struct dl_phdr_info *, size_t, void *), void *argument) {
	pthread_t thread;
	(void)see;
	(void)argument;
	CHECK(pthread_create(&thread, NULL, send_stop, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	return 0;
}

static void one_thread_changes_slots(void) {
	host_list();
	host.work->mean_bytes = 1;
	host.work->dl_iterate_phdr = (uintptr_t)ask_meanwhile;
	CHECK_EQ(host_request(MW_ATTACH_START), MW_ATTACH_REASON_NONE);
	/* The next allocation looks for modules. */
	void *module = dlopen(NULL, RTLD_LAZY);
	CHECK(module != NULL);
	answer = MW_ATTACH_REASON_NONE;
	void *volatile block = malloc(100);
	free(block);
	CHECK_EQ(answer, MW_ATTACH_REASON_BUSY);
	CHECK_EQ(host.work->state, MW_ATTACH_ON);
	CHECK_EQ(host_request(MW_ATTACH_STOP), MW_ATTACH_REASON_NONE);
	CHECK(dlclose(module) == 0);
}

/* The profiler calls it, and a thread leaves the profiler by it as by a signal handler. */
static jmp_buf outside;
static size_t leave_profiler(void *block) {
	(void)block;
	longjmp(outside, 1);
}

static volatile unsigned calls;
static size_t count_call(void *block) {
	calls++;
	return malloc_usable_size(block);
}

static void *leave_and_end(void *unused) {
	if (setjmp(outside) == 0)
		free(malloc(100));
	return unused;
}

static void *allocate(void *unused) {
	free(malloc(100));
	return unused;
}

static void *run(void *(*work)(void *)) {
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	return (void *)thread;
}

/* The thread after it has the same thread pointer, and is recorded. */
static void thread_ends_in_profiler(void) {
	CHECK_EQ(host_attach(1), MW_ATTACH_REASON_NONE);
	host.work->malloc_usable_size = (uintptr_t)leave_profiler;
	void *first = run(leave_and_end);
	host.work->malloc_usable_size = (uintptr_t)count_call;
	calls = 0;
	void *second = run(allocate);
	host.work->malloc_usable_size = (uintptr_t)malloc_usable_size;
	CHECK(first == second);
	CHECK_EQ(calls, 1);
	CHECK_EQ(host_request(MW_ATTACH_STOP), MW_ATTACH_REASON_NONE);
}

/* A child that another thread forks while one is in the entry code has that thread's mark, but not
 * the thread. It says by its status whether it is such a child, and whether it is answered. */
enum { FORKS = 3000, OF_AN_ENTRY = 7 };

static int ask_in_child(void) {
	bool is_of_entry = host.work->requested != host.work->answered;
	CHECK_EQ(host_request(MW_ATTACH_STOP), MW_ATTACH_REASON_NONE);
	return is_of_entry ? OF_AN_ENTRY : 0;
}

static _Atomic bool has_forked;

static void *fork_often(void *unused) {
	for (unsigned i = 0, found = 0; i < FORKS && found < 2; i++) {
		int status = -1;
		pid_t child = fork();
		if (child == 0)
			_exit(ask_in_child());
		CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
		CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == OF_AN_ENTRY);
		found += WEXITSTATUS(status) == OF_AN_ENTRY;
	}
	has_forked = true;
	return unused;
}

static void children_of_an_entry_answer(void) {
	pthread_t thread;
	host_list();
	CHECK(pthread_create(&thread, NULL, fork_often, NULL) == 0);
	while (!has_forked) {
		CHECK_EQ(host_request(MW_ATTACH_START), MW_ATTACH_REASON_NONE);
		CHECK_EQ(host_request(MW_ATTACH_STOP), MW_ATTACH_REASON_NONE);
	}
	CHECK(pthread_join(thread, NULL) == 0);
}

/* The last test: this thread is inside from then on. */
static void thread_inside_detaches(void) {
	CHECK_EQ(host_attach(1), MW_ATTACH_REASON_NONE);
	host.work->malloc_usable_size = (uintptr_t)leave_profiler;
	leave_and_end(NULL);
	CHECK_EQ(host_request(MW_ATTACH_START), MW_ATTACH_REASON_BUSY);
	CHECK_EQ(host_request(MW_ATTACH_STOP), MW_ATTACH_REASON_NONE);
	CHECK_EQ(host.work->state, MW_ATTACH_OFF);
	for (uint64_t i = 0; i < host.work->slot_count; i++)
		CHECK(*(const uint64_t *)host.slots[i].address !=
		      host.work->replacement[host.slots[i].function]);
}

int main(void) {
	CHECK_EQ(host_attach(1), MW_ATTACH_REASON_NONE);
	CHECK_EQ(host.work->slots_refused, 0);
	CHECK_EQ(host_request(MW_ATTACH_STOP), MW_ATTACH_REASON_NONE);
	RUN(other_protections_are_refused);
	RUN(one_thread_changes_slots);
	RUN(thread_ends_in_profiler);
	RUN(children_of_an_entry_answer);
	RUN(thread_inside_detaches);
	return 0;
}
