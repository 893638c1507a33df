/* SPDX-License-Identifier: MIT
 * titled.c TITLE -- a daemon: writes TITLE over its arguments, then forks; parent and child
 * allocate and free, and only the child keeps blocks. Each says a letter when done, and waits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void work(int keeps) {
	for (int i = 0; i < 400; i++) {
		char *volatile block = malloc(9000);
		memset(block, 1, 9000);
		if (!keeps)
			free(block);
	}
}

int main(int argc, char **argv) {
	char title[200];
	size_t room = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]);
	snprintf(title, sizeof(title), "%s", argc > 1 ? argv[1] : "");
	memset(argv[0], 0, room);
	strncpy(argv[0], title, room);
	pid_t child = fork();
	work(child == 0);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	pause();
	return 0;
}
