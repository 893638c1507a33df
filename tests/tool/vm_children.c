/* SPDX-License-Identifier: MIT
 * vm_children.c vfork|clone -- allocates, then has a child that shares its memory do so while it
 * waits, and again by itself.  The child ends by _exit(2). */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 1000, STACK_BYTES = 1 << 20 };
static char *kept[3 * BLOCKS];
static _Alignas(64) char stack[STACK_BYTES];

__attribute__((noinline)) static void by_parent(size_t first) {
	for (size_t i = first; i < first + BLOCKS; i++)
		memset(kept[i] = malloc(1000), 1, 1000);
}

__attribute__((noinline)) static void by_child(void) {
	for (size_t i = BLOCKS; i < 2 * BLOCKS; i++)
		memset(kept[i] = malloc(3000), 1, 3000);
	/* Blocks of the parent. */
	for (size_t i = 0; i < BLOCKS / 2; i++)
		free(kept[i]);
}

static int run_child(void *unused) {
	(void)unused;
	by_child();
	_exit(0);
}

int main(int argc, char **argv) {
	int status = -1;
	pid_t child;
	if (argc != 2)
		return 2;
	by_parent(0);
	if (strcmp(argv[1], "vfork") == 0) {
		child = vfork();
		if (child == 0) {
			by_child();
			_exit(0);
		}
	} else {
		child = clone(run_child, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		return 1;
	by_parent(2 * BLOCKS);
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
