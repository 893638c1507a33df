/* SPDX-License-Identifier: MIT
 * fork_threads.c -- a thread that is not the first forks while others allocate, free each other's
 * blocks and give memory back to the kernel.  The children free what the vanished threads own,
 * start threads, which get the stacks and so the thread pointers of the vanished ones, let them
 * end, and fork once more.  200 children; MALLOW_TEST_FORKS in the environment sets another
 * number. */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs.h"

enum { FORKS = 200, THREADS = 3, MAILBOXES = 256 };

/* Blocks on their way from one thread to another; the first byte says how long they are. */
static _Atomic(unsigned char *) mailboxes[MAILBOXES];
static atomic_bool done;

static size_t bytes_of(unsigned char kind) {
	return kind < 250 ? (size_t)kind * 13 + 1 : (size_t)(kind - 249) * 50000;
}

static void check_and_free(unsigned char *block) {
	if (!block)
		return;
	size_t bytes = bytes_of(block[0]);
	MUST(bytes == 1 || block[bytes - 1] == (unsigned char)(block[0] ^ 0x5a));
	free(block);
}

static unsigned char *make(unsigned char kind) {
	size_t bytes = bytes_of(kind);
	unsigned char *block = malloc(bytes);
	MUST(block != NULL);
	block[bytes - 1] = (unsigned char)(kind ^ 0x5a);
	block[0] = kind;
	return block;
}

static void exchange(unsigned *seed, int turns) {
	for (int i = 0; i < turns; i++) {
		unsigned r = (unsigned)rand_r(seed);
		unsigned char *block = make((unsigned char)(r >> 10));
		/* Acquire and release: the block's contents go with it. */
		check_and_free(atomic_exchange(&mailboxes[r % MAILBOXES], block));
	}
}

static void *churn(void *argument) {
	unsigned seed = (unsigned)(size_t)argument;
	while (!atomic_load_explicit(&done, memory_order_relaxed)) {
		exchange(&seed, 100);
		/* Forks then meet purges, which hold no lock while the kernel works. */
		if ((size_t)argument == 1)
			malloc_trim(0);
	}
	return NULL;
}

static void *child_thread(void *argument) {
	unsigned seed = (unsigned)(size_t)argument;
	/* What is freed first belongs to a thread that had this thread's pointer. */
	for (unsigned i = seed; i < MAILBOXES; i += THREADS)
		check_and_free(atomic_exchange(&mailboxes[i], NULL));
	exchange(&seed, 100);
	return NULL;
}

/* In a child, whose only thread this is. */
static void live_on(unsigned number) {
	for (unsigned round = 0; round < 2; round++) {
		pthread_t threads[THREADS];
		for (size_t i = 0; i < THREADS; i++)
			MUST(pthread_create(&threads[i], NULL, child_thread, (void *)i) == 0);
		unsigned seed = number;
		exchange(&seed, 100);
		for (int i = 0; i < THREADS; i++)
			MUST(pthread_join(threads[i], NULL) == 0);
	}
	for (int i = 0; i < MAILBOXES; i++)
		check_and_free(atomic_exchange(&mailboxes[i], NULL));
}

static void must_end_well(pid_t pid) {
	int status;
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

_Noreturn static void child(unsigned number) {
	live_on(number);
	if (number % 8 == 0) {
		for (int i = 0; i < MAILBOXES; i++)
			mailboxes[i] = make((unsigned char)i);
		pid_t pid = fork();
		MUST(pid >= 0);
		if (pid == 0) {
			live_on(number + 1);
			_exit(0);
		}
		must_end_well(pid);
	}
	/* exit() now and then: the library's own end runs in a child too. */
	if (number % 16 == 1)
		exit(0);
	_exit(0);
}

static void *forker(void *argument) {
	long forks = *(long *)argument;
	for (long number = 0; number < forks; number++) {
		pid_t pid = fork();
		MUST(pid >= 0);
		if (pid == 0)
			child((unsigned)number);
		must_end_well(pid);
	}
	return NULL;
}

int main(void) {
	must_be_mallow();
	const char *wanted = getenv("MALLOW_TEST_FORKS");
	long forks = wanted ? atol(wanted) : FORKS;
	pthread_t threads[THREADS], forking;
	for (size_t i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
	MUST(pthread_create(&forking, NULL, forker, &forks) == 0);
	MUST(pthread_join(forking, NULL) == 0);
	atomic_store(&done, 1);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < MAILBOXES; i++)
		check_and_free(mailboxes[i]);
	printf("%ld children\n", forks);
	return 0;
}
