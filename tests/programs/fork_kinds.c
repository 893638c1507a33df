/* SPDX-License-Identifier: MIT
 * fork_kinds.c -- the ways to fork: fork(2), forkpty(3), daemon(3), and libc's own fork, which no
 * other library sees.  First in a process with one thread, the first fork of its life by each way;
 * then while other threads allocate.  The children allocate, start a thread and fork. */
#include <dlfcn.h>
#include <pthread.h>
#include <pty.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs.h"

enum { THREADS = 3, ROUNDS = 20 };
static const char *const kinds[] = {"fork", "forkpty", "daemon", "libc"};

static atomic_bool done;
static atomic_int running; /* threads that have allocated: libc's fork is theirs to prepare for */

static void allocate(unsigned turns) {
	void *blocks[64] = {NULL};
	for (unsigned i = 0; i < turns; i++) {
		free(blocks[i % 64]);
		blocks[i % 64] = malloc((size_t)i * 37 % 20000 + 1);
		MUST(blocks[i % 64] != NULL);
	}
	for (unsigned i = 0; i < 64; i++)
		free(blocks[i]);
}

static void *churn(void *until_done) {
	allocate(200);
	atomic_fetch_add(&running, 1);
	do
		allocate(200);
	while (until_done && !atomic_load_explicit(&done, memory_order_relaxed));
	return NULL;
}

static void must_end_well(pid_t pid) {
	int status;
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* In the child; the last one says so through the pipe. */
_Noreturn static void live_on(int report) {
	pthread_t thread;
	allocate(200);
	MUST(pthread_create(&thread, NULL, churn, NULL) == 0);
	allocate(200);
	MUST(pthread_join(thread, NULL) == 0);
	pid_t pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		allocate(200);
		MUST(write(report, "k", 1) == 1);
		_exit(0);
	}
	must_end_well(pid);
	_exit(0);
}

static pid_t fork_by(const char *kind) {
	int terminal;
	if (strcmp(kind, "forkpty") == 0) {
		pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
		/* Where there are no terminals to be had. */
		return pid >= 0 ? pid : fork();
	}
	if (strcmp(kind, "libc") == 0) {
		void *libc = dlopen("libc.so.6", RTLD_LAZY);
		pid_t (*fork_of_libc)(void);
		MUST(libc != NULL);
		*(void **)&fork_of_libc = dlsym(libc, "fork");
		return fork_of_libc();
	}
	return fork();
}

static void try(const char *kind) {
	int report[2];
	MUST(pipe(report) == 0);
	pid_t pid = fork_by(kind);
	MUST(pid >= 0);
	if (pid == 0) {
		if (strcmp(kind, "daemon") == 0)
			MUST(daemon(1, 1) == 0);
		live_on(report[1]);
	}
	close(report[1]);
	must_end_well(pid);
	char word;
	MUST(read(report[0], &word, 1) == 1 && word == 'k');
	close(report[0]);
}

/* Without an argument: itself once for each way, each a new process. */
int main(int argc, char **argv) {
	must_be_mallow();
	for (size_t i = 0; argc == 1 && i < sizeof kinds / sizeof *kinds; i++) {
		pid_t pid = vfork();
		MUST(pid >= 0);
		if (pid == 0) {
			execl("/proc/self/exe", argv[0], kinds[i], NULL);
			_exit(1);
		}
		must_end_well(pid);
	}
	if (argc == 1)
		return 0;
	allocate(200);
	try(argv[1]);
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, churn, threads) == 0);
	while (atomic_load(&running) < THREADS)
		usleep(1000);
	for (int i = 0; i < ROUNDS; i++)
		try(argv[1]);
	atomic_store(&done, 1);
	for (size_t i = 0; i < THREADS; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	return 0;
}
