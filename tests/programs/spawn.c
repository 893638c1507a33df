/* SPDX-License-Identifier: MIT
 * spawn.c -- vfork and posix_spawn: a child that shares the parent's memory until it executes
 * another program, while threads allocate.  Called with "child", it allocates and answers with 42.
 */
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs.h"

extern char **environ;

enum { ROUNDS = 100 };

static atomic_bool done;

static void *churn(void *argument) {
	unsigned seed = (unsigned)(size_t)argument;
	while (!atomic_load_explicit(&done, memory_order_relaxed)) {
		void *block = malloc((size_t)rand_r(&seed) % 50000);
		MUST(block != NULL);
		free(block);
	}
	return NULL;
}

static int as_child(void) {
	must_be_mallow();
	size_t sum = 0;
	for (size_t i = 1; i < 2000; i++) {
		char *block = malloc(i);
		memset(block, 1, i);
		sum += (size_t)block[i - 1];
		free(block);
	}
	return sum == 1999 ? 42 : 1;
}

static void reap(pid_t pid, int want) {
	int status;
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(WIFEXITED(status) && WEXITSTATUS(status) == want);
}

int main(int argc, char **argv) {
	if (argc > 1)
		return as_child();
	must_be_mallow();
	char *arguments[] = {argv[0], "child", NULL};
	pthread_t threads[2];
	for (size_t i = 0; i < 2; i++)
		MUST(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid;
		MUST(posix_spawn(&pid, argv[0], NULL, NULL, arguments, environ) == 0);
		reap(pid, 42);
		/* A program that is not there: the child ends, the parent's heap must be sound. */
		char *missing[] = {"/nonexistent/program", NULL};
		MUST(posix_spawn(&pid, missing[0], NULL, NULL, missing, environ) != 0);
		pid = vfork();
		if (pid == 0) {
			execv(argv[0], arguments);
			_exit(127);
		}
		MUST(pid > 0);
		reap(pid, 42);
		pid = vfork();
		if (pid == 0)
			_exit(7);
		MUST(pid > 0);
		reap(pid, 7);
	}
	FILE *pipe = popen("echo piped", "r");
	char word[16] = "";
	MUST(pipe && fgets(word, sizeof(word), pipe) && strcmp(word, "piped\n") == 0);
	MUST(pclose(pipe) == 0);
	MUST(system("exit 3") >> 8 == 3);
	atomic_store(&done, 1);
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	printf("%d children\n", ROUNDS * 3);
	return 0;
}
