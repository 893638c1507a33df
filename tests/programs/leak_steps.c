/* SPDX-License-Identifier: MIT
 * leak_steps.c [every [OPERATION]] -- checks for leaks at each instruction of the library.
 *
 * A thread executes operations of the heap one instruction at a time (the trap flag of x86-64), and
 * another thread checks for leaks where the first one stands.  No block is ever lost, so each check
 * must find none: the step at which a block is in no list and no register is found for certain,
 * which a check at a random moment finds once in thousands.
 *
 * Of the instructions that were not executed before, each fifth is checked.  With "every" each one
 * is, anew in each operation with each size, which takes many minutes.
 *
 * The operation stands still until the check has ended.  While it holds a lock that the check
 * needs, it goes on: the check is in futex(2) then. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define MALLOW_WEAK
#include <mallow/mallow.h>

#define TRAP_FLAG 0x100
/* Most bytes of the library's code. */
#define CODE_BYTES (2u << 20)
/* How often the operation that waits for a check looks where it stands. */
#define LOOK_NS 1000000
/* So many looks in a row find the check in futex(2): it waits for a lock, not for an answer. */
enum { LOCKED_LOOKS = 2 };
/* Steps of an operation that goes on, until it looks again. */
enum { LATE_STEPS = 64 };

static uintptr_t library_start, library_limit;
static sem_t wanted, done;
static atomic_int check_call_fd = -1; /* names the system call in which the check's thread is */
static bool is_checking;              /* of the thread that steps */
static unsigned late_steps;
static atomic_int leaked;
static uintptr_t at; /* the instruction of the check */
static unsigned checks, found;
static const char *operation;
static size_t block_bytes;

/* Instructions from one check to the next. */
static unsigned stride = 5;
/* By instruction of the library.  Bits, because each check searches them for pointers. */
static uint64_t visited[CODE_BYTES / 64];

static void fail(const char *what) {
	fprintf(stderr, "leak_steps: %s: %s at %#zx in the library: %s\n", operation, what,
		at - library_start, strerror(errno));
	_Exit(1);
}

static void *check(void *unused) {
	char path[64];
	snprintf(path, sizeof path, "/proc/self/task/%ld/syscall", syscall(SYS_gettid));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail(path);
	atomic_store(&check_call_fd, fd);
	for (;;) {
		while (sem_wait(&wanted) != 0)
			;
		mallow_leaks_t leaks = {.size = sizeof leaks};
		int error = mallow_leak_check(&leaks);
		if (error != 0) {
			errno = error;
			fail("mallow_leak_check");
		}
		atomic_store(&leaked, (int)(leaks.direct_blocks + leaks.indirect_blocks));
		sem_post(&done);
	}
	return unused;
}

static void say(int count) {
	Dl_info info = {0};
	dladdr((void *)at, &info);
	fprintf(stderr,
		"leak_steps: %s of %zu bytes: %d blocks leaked at %s+%#zx (%#zx in the library)\n",
		operation, block_bytes, count, info.dli_sname ? info.dli_sname : "?",
		at - (uintptr_t)info.dli_saddr, at - library_start);
	_Exit(1);
}

static bool is_in_futex(void) {
	char call[16] = "";
	return pread(check_call_fd, call, sizeof call - 1, 0) > 0 && atoi(call) == SYS_futex;
}

static bool check_has_ended_after(long wait_ns) {
	struct timespec limit;
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_nsec += wait_ns;
	limit.tv_sec += limit.tv_nsec / 1000000000;
	limit.tv_nsec %= 1000000000;
	int result;
	while ((result = sem_timedwait(&done, &limit)) != 0 && errno == EINTR)
		;
	return result == 0;
}

static void end_check(void) {
	is_checking = false;
	if (atomic_load(&leaked) != 0)
		say(atomic_load(&leaked));
}

/* Waits for the end of the check, or until it needs a lock. */
static void await_check(void) {
	int locked = 0;
	while (!check_has_ended_after(LOOK_NS)) {
		locked = is_in_futex() ? locked + 1 : 0;
		if (locked == LOCKED_LOOKS)
			return;
	}
	end_check();
}

/* The check waits for a lock, or did so a few steps ago. */
static void step_late(void) {
	if (sem_trywait(&done) == 0)
		end_check();
	else if (++late_steps % LATE_STEPS == 0)
		await_check();
}

/* Returns whether a check is due at the instruction. */
static bool is_due(uintptr_t place) {
	const size_t i = place - library_start;
	const uint64_t bit = (uint64_t)1 << i % 64;
	if ((visited[i / 64] & bit) != 0)
		return false;
	visited[i / 64] |= bit;
	return found++ % stride == 0;
}

static void step(int number, siginfo_t *info, void *context) {
	(void)number, (void)info;
	int saved_errno = errno;
	uintptr_t place = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	if (is_checking) {
		step_late();
	} else if (place >= library_start && place < library_limit && is_due(place)) {
		at = place;
		checks++;
		is_checking = true;
		sem_post(&wanted);
		await_check();
	}
	errno = saved_errno;
}

static inline void step_begin(void) {
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torl $0x100, (%%rsp)\n\tpopfq\n\t"
			 "lea 128(%%rsp), %%rsp" ::
				 : "memory", "cc");
}

static inline void step_end(void) {
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandl $~0x100, (%%rsp)\n\tpopfq\n\t"
			 "lea 128(%%rsp), %%rsp" ::
				 : "memory", "cc");
}

/* ---- operations ---- */

enum { BLOCKS = 24, LARGE_BLOCKS = 8 };
static void *volatile blocks[BLOCKS];

/* Large blocks are in no list that many would fill, and each takes ten thousand steps: 24 of them
 * reach 3 % more instructions than eight, in twice the time. */
static int block_count(void) {
	return block_bytes < 100000 ? BLOCKS : LARGE_BLOCKS;
}

/* The only pointer to a block that is freed is free()'s argument. */
static void free_at(int i) {
	void *block = blocks[i];
	blocks[i] = NULL;
	free(block);
}

static void allocate_and_free(void) {
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < block_count(); i++)
			blocks[i] = malloc(block_bytes);
		for (int i = 0; i < block_count(); i++)
			free_at(i);
	}
}

/* A copy is stepped through in libc, so few steps lead to the largest size. */
static void resize(void) {
	blocks[0] = malloc(block_bytes);
	for (int i = 2; i <= 6; i += 2)
		blocks[0] = realloc(blocks[0], block_bytes << i);
	free_at(0);
}

static void align(void) {
	for (int i = 0; i < 4; i++)
		blocks[i] = aligned_alloc(4096, block_bytes);
	for (int i = 0; i < 4; i++)
		free_at(i);
}

static void *allocate_all(void *unused) {
	for (int i = 0; i < block_count(); i++)
		blocks[i] = malloc(block_bytes);
	return unused;
}

static void in_thread(void *(*work)(void *)) {
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		fail("pthread_create");
	pthread_join(thread, NULL);
}

/* Another thread's blocks: of a thread that has ended. */
static void free_others(void) {
	for (int i = 0; i < block_count(); i++)
		free_at(i);
}

static void *first_malloc(void *unused) {
	step_begin();
	blocks[0] = malloc(block_bytes);
	free_at(0);
	mallow_thread_name("stepped");
	step_end();
	return unused;
}

int malloc_trim(size_t pad);

static void trim(void) {
	for (int i = 0; i < block_count(); i++)
		blocks[i] = malloc(block_bytes);
	for (int i = 0; i < block_count(); i++)
		if (i % 8 != 0)
			free_at(i);
	malloc_trim(0);
	for (int i = 0; i < block_count(); i++)
		if (i % 8 != 0)
			blocks[i] = malloc(block_bytes);
	free_others();
}

static void run_steps(void (*work)(void)) {
	step_begin();
	work();
	step_end();
	while (is_checking)
		await_check();
}

static void step_first_malloc(void) {
	in_thread(first_malloc);
}

static void step_others(void) {
	in_thread(allocate_all);
	run_steps(free_others);
}

static void step_malloc(void) {
	run_steps(allocate_and_free);
}

static void step_realloc(void) {
	run_steps(resize);
}

static void step_aligned(void) {
	run_steps(align);
}

static void step_trim(void) {
	run_steps(trim);
}

static const struct {
	const char *name;
	void (*run)(void);
} operations[] = {
	{"malloc", step_malloc},       {"realloc", step_realloc}, {"aligned_alloc", step_aligned},
	{"thread", step_first_malloc}, {"remote", step_others},   {"trim", step_trim},
};

/* Every path has a size that takes it: tiny, above tiny, in runs of slices, large, huge. */
static void run_all(bool every, const char *chosen) {
	static const size_t sizes[] = {48, 2500, 20000, 200000, 3000000};
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
		operation = operations[i].name;
		unsigned before = checks;
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
			block_bytes = sizes[k];
			if (!chosen || strcmp(chosen, operation) == 0)
				operations[i].run();
			if (every)
				memset(visited, 0, sizeof visited);
		}
		printf("%s: %u checks\n", operation, checks - before);
		fflush(stdout);
	}
}

int main(int argc, char **argv) {
	Dl_info info;
	struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigaction(SIGTRAP, &action, NULL);
	operation = "start";
	if (dladdr((void *)malloc, &info) == 0)
		fail("dladdr");
	library_start = (uintptr_t)info.dli_fbase;
	library_limit = library_start + CODE_BYTES;
	sem_init(&wanted, 0, 0);
	sem_init(&done, 0, 0);
	pthread_t thread;
	if (pthread_create(&thread, NULL, check, NULL) != 0)
		fail("pthread_create");
	while (check_call_fd < 0)
		sched_yield();
	bool every = argc > 1 && strcmp(argv[1], "every") == 0;
	stride = every ? 1 : stride;
	run_all(every, argc > 2 ? argv[2] : NULL);
	puts("ok");
	return 0;
}
