/* SPDX-License-Identifier: MIT
 * one_block.c -- what a process is that holds one small block: resident KiB of a library's file, of
 * private memory, and of all.  With any malloc: tests/checks/floor.sh compares.
 *   one_block NAME [PAIRS]: the library whose path ends so; after so many pairs of malloc and free,
 * from two places, by which mallow has samples and a state file */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"

/* The same pages whichever malloc there is. */
static char smaps[1 << 18];

static size_t read_smaps(void) {
	size_t length = 0;
	int file = open("/proc/self/smaps", O_RDONLY);
	MUST(file >= 0);
	for (ssize_t got = 1; got > 0; length += (size_t)got) {
		MUST(length < sizeof smaps - 1);
		got = read(file, smaps + length, sizeof smaps - 1 - length);
		MUST(got >= 0);
	}
	close(file);
	return length;
}

static __attribute__((noinline)) void make_and_free(size_t bytes) {
	char *volatile block = malloc(bytes);
	MUST(block != NULL);
	*block = 1;
	free(block);
}

int main(int argc, char **argv) {
	MUST(argc == 2 || argc == 3);
	for (long pairs = argc == 3 ? atol(argv[2]) : 0; pairs > 0; pairs--)
		make_and_free(pairs % 2 ? 64 : 100);
	char *block = malloc(64);
	MUST(block != NULL);
	memset(block, 1, 64);
	smaps[read_smaps()] = '\0';

	long library = 0, private = 0, all = 0, kib;
	int is_library = 0;
	for (char *line = strtok(smaps, "\n"); line; line = strtok(NULL, "\n")) {
		const char *path = strchr(line, '/');
		/* A mapping begins with its addresses, in small digits; what is said of it with a
		 * name. */
		if (strspn(line, "0123456789abcdef") == strcspn(line, "-"))
			is_library = path && strlen(path) >= strlen(argv[1]) &&
				     strcmp(path + strlen(path) - strlen(argv[1]), argv[1]) == 0;
		if (sscanf(line, "Rss: %ld kB", &kib) == 1) {
			all += kib;
			library += is_library ? kib : 0;
		}
		/* What was written to, in whichever mapping. */
		if (sscanf(line, "Anonymous: %ld kB", &kib) == 1) {
			private += kib;
			library -= is_library ? kib : 0;
		}
	}
	free(block);
	printf("library %ld private %ld all %ld\n", library, private, all);
	return 0;
}
