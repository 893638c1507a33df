/* SPDX-License-Identifier: MIT
 * known_bugs.c -- a small program that valgrind and AddressSanitizer are asked about.  Without
 * arguments it does nothing wrong; "overflow", "stale" and "leak" do what they say. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *work(void *unused) {
	for (size_t i = 0; i < 2000; i++) {
		char *block = malloc(10 + i * 7);
		memset(block, 1, 10 + i * 7);
		block = realloc(block, 20 + i * 13);
		free(block);
	}
	return unused;
}

int main(int argc, char **argv) {
	const char *bug = argc > 1 ? argv[1] : "";
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 2;
	work(NULL);
	pthread_join(thread, NULL);
	volatile char *block = malloc(100);
	char *zeros = calloc(30, 1000), *aligned = memalign(256, 1000);
	memset(aligned, zeros[500], 1000);
	/* Above any table of sizes, with samples at the default rate. */
	char *large = malloc(9000000);
	large[0] = large[8999999] = aligned[7];
	if (strcmp(bug, "overflow") == 0)
		block[100] = 1;
	free((void *)block);
	if (strcmp(bug, "stale") == 0)
		block[3] = 1;
	if (strcmp(bug, "leak") == 0)
		*(char *volatile *)&large = NULL;
	free(large);
	free(zeros);
	free(aligned);
	puts("done");
	return 0;
}
