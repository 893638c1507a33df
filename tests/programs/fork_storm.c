/* SPDX-License-Identifier: MIT
 * fork_storm.c -- children, eight at a time, while two threads of the parent allocate; each child
 * allocates, frees what the parent had allocated, starts a thread now and then, and exits. 3,000
 * children, or three times MALLOW_TEST_FORKS in the environment. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs.h"

enum { AT_ONCE = 8, KEPT = 200 };

static atomic_bool done;

/* Holds the allocator's locks as often as it can, so that forks hit them. */
static void *churn(void *argument) {
	unsigned seed = (unsigned)(size_t)argument;
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
	return NULL;
}

static void *child_thread(void *argument) {
	void *block = calloc(1, 5000);
	MUST(block != NULL);
	free(block);
	return argument;
}

static void child(int number, char **inherited) {
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
	int children = 3 * (forks ? atoi(forks) : 1000);
	pthread_t threads[2];
	for (size_t i = 0; i < 2; i++)
		MUST(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
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
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < KEPT; i++)
		free(inherited[i]);
	printf("%d children\n", children);
	return 0;
}
