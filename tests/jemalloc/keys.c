/* SPDX-License-Identifier: MIT
 * keys.c LETTERS -- prints malloc_stats_print(LETTERS) of a process with blocks, and an arena more.
 */
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <string.h>

static void print(void *context, const char *text) {
	(void)context;
	fputs(text, stdout);
}

int main(int argc, char **argv) {
	unsigned arena;
	size_t length = sizeof arena;
	static void *volatile blocks[100];
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		blocks[i] = malloc(i * 2000);
	if (mallctl("arenas.create", &arena, &length, NULL, 0) != 0)
		return 1;
	malloc_stats_print(print, NULL, argc > 1 ? argv[1] : "");
	return 0;
}
