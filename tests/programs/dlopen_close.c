/* SPDX-License-Identifier: MIT
 * dlopen_close.c -- loads the library (its path is the argument) like a plugin, allocates with it,
 * and closes it while a thread, a fork handler and exit(3) still lead into it. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs.h"

static void *(*library_malloc)(size_t bytes);
static void (*library_free)(void *block);
static void *library;

static void *work(void *argument) {
	char *block = library_malloc(1000);
	MUST(block != NULL);
	memset(block, 1, 1000);
	library_free(block);
	library_free(library_malloc(5 << 20));
	MUST(dlclose(library) == 0);
	return argument;
}

int main(int argc, char **argv) {
	MUST(argc == 2);
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	MUST(library != NULL);
	*(void **)&library_malloc = dlsym(library, "malloc");
	*(void **)&library_free = dlsym(library, "free");
	MUST(library_malloc && library_free && library_malloc != malloc);
	pthread_t thread;
	MUST(pthread_create(&thread, NULL, work, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	pid_t pid = fork();
	MUST(pid >= 0);
	if (pid == 0)
		exit(0);
	int status;
	MUST(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return 0;
}
