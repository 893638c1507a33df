/* SPDX-License-Identifier: MIT
 * fork_storm.c -- children, eight at a time, while threads of the parent take the heap's locks as
 * often as they can: one allocates small and large blocks, one huge blocks, and one starts threads.
 * Each child allocates, frees what the parent had allocated, starts a thread now and then, and
 * exits.  600 children, or three times MALLOW_TEST_FORKS in the environment. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs.h"

enum { AT_ONCE = 8, KEPT = 200, PATIENCE_S = 120 };

static atomic_bool done;

static void *churn(void *unused) {
	unsigned seed = 1;
	void *kept[64] = {0};
	while (!atomic_load_explicit(&done, memory_order_relaxed)) {
		unsigned slot = (unsigned)rand_r(&seed) % 64;
		free(kept[slot]);
		size_t bytes = (size_t)rand_r(&seed) % (slot % 16 ? 2000 : 300000);
		kept[slot] = malloc(bytes);
		MUST(kept[slot] != NULL);
	}
	for (int i = 0; i < 64; i++)
		free(kept[i]);
	return unused;
}

static void *churn_huge(void *unused) {
	void *kept[4] = {0};
	for (unsigned i = 0; !atomic_load_explicit(&done, memory_order_relaxed); i++) {
		free(kept[i % 4]);
		kept[i % 4] = malloc(((size_t)3 << 20) + i % 16 * 100000);
		MUST(kept[i % 4] != NULL);
	}
	for (int i = 0; i < 4; i++)
		free(kept[i]);
	return unused;
}

static void *child_thread(void *argument) {
	void *block = calloc(1, 5000);
	MUST(block != NULL);
	free(block);
	return argument;
}

static void *churn_threads(void *unused) {
	while (!atomic_load_explicit(&done, memory_order_relaxed)) {
		pthread_t thread;
		MUST(pthread_create(&thread, NULL, child_thread, NULL) == 0);
		MUST(pthread_join(thread, NULL) == 0);
	}
	return unused;
}

static void child(int number, char **inherited) {
	alarm(PATIENCE_S);
	for (int i = 0; i < KEPT; i++) {
		MUST(inherited[i][0] == (char)i);
		free(inherited[i]);
	}
	for (int i = 0; i < 300; i++) {
		char *block = malloc((size_t)(i * 37 % 3000 + 1));
		MUST(block != NULL);
		block[0] = 1;
		if (i % 3)
			free(block);
	}
	char *large = malloc(2 << 20);
	MUST(large != NULL);
	large[(2 << 20) - 1] = 1;
	free(large);
	if (number % 16 == 0) {
		pthread_t thread;
		MUST(pthread_create(&thread, NULL, child_thread, NULL) == 0);
		MUST(pthread_join(thread, NULL) == 0);
	}
}

int main(void) {
	must_be_mallow();
	const char *forks = getenv("MALLOW_TEST_FORKS");
	int children = 3 * (forks ? atoi(forks) : 200);
	static void *(*const churns[])(void *) = {churn, churn_huge, churn_threads};
	enum { CHURNS = sizeof churns / sizeof *churns };
	pthread_t threads[CHURNS];
	for (size_t i = 0; i < CHURNS; i++)
		MUST(pthread_create(&threads[i], NULL, churns[i], NULL) == 0);
	char *inherited[KEPT];
	for (int i = 0; i < KEPT; i++) {
		inherited[i] = malloc((size_t)(i * 97 + 1));
		inherited[i][0] = (char)i;
	}
	int running = 0;
	for (int number = 0; number < children || running > 0;) {
		if (number < children && running < AT_ONCE) {
			pid_t pid = fork();
			MUST(pid >= 0);
			if (pid == 0) {
				child(number, inherited);
				/* exit() now and then: the library's own end runs in a child too.
				 */
				if (number % 4 == 0)
					exit(0);
				_exit(0);
			}
			number++;
			running++;
			continue;
		}
		int status;
		MUST(wait(&status) > 0);
		MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		running--;
	}
	atomic_store(&done, 1);
	for (int i = 0; i < CHURNS; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < KEPT; i++)
		free(inherited[i]);
	printf("%d children\n", children);
	return 0;
}
