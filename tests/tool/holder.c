/* SPDX-License-Identifier: MIT
 * holder.c -- allocates, says "ready" and waits to be killed.  Usage: holder [close|fork]
 * close: closes all descriptors first but the output, as daemons do; fork: leaves a child that
 * waits and whose pid it tells. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

int main(int argc, char **argv) {
	const char *how = argc > 1 ? argv[1] : "";
	for (int i = 0; i < 1000; i++)
		if (malloc(1000) == NULL)
			return 1;
	pid_t child = strcmp(how, "fork") == 0 ? fork() : 0;
	if (strcmp(how, "close") == 0)
		for (int i = 3; i < 1024; i++)
			close(i);
	if (child > 0 || strcmp(how, "fork") != 0) {
		printf("ready %d\n", (int)child);
		fflush(stdout);
	}
	for (;;)
		pause();
}
