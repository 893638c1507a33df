/* SPDX-License-Identifier: MIT
 * atfork_handlers.c -- forks with the allocating handlers of early_library.c, alone and with a
 * second thread. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs.h"

int early_library_calls(void);

static void *fork_some(void *argument) {
	for (int i = 0; i < 50; i++) {
		int before = early_library_calls();
		pid_t pid = fork();
		MUST(pid >= 0);
		MUST(early_library_calls() == before + 2);
		if (pid == 0) {
			free(malloc(1000));
			_exit(0);
		}
		int status;
		MUST(waitpid(pid, &status, 0) == pid);
		MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	return argument;
}

int main(void) {
	must_be_mallow();
	fork_some(NULL);
	pthread_t thread;
	MUST(pthread_create(&thread, NULL, fork_some, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	return 0;
}
