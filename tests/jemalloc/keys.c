/* SPDX-License-Identifier: MIT
 * keys.c LETTERS -- prints malloc_stats_print(LETTERS) of a process with blocks, an arena more, and
 * one that is destroyed. */
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(void *context, const char *text) {
	(void)context;
	fputs(text, stdout);
}

static unsigned create(void) {
	unsigned arena;
	size_t length = sizeof arena;
	if (mallctl("arenas.create", &arena, &length, NULL, 0) != 0)
		exit(1);
	return arena;
}

int main(int argc, char **argv) {
	static void *volatile blocks[100];
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		blocks[i] = malloc(i * 2000);
	create();
	char destroy[32];
	snprintf(destroy, sizeof destroy, "arena.%u.destroy", create());
	if (mallctl(destroy, NULL, NULL, NULL, 0) != 0)
		return 1;
	malloc_stats_print(print, NULL, argc > 1 ? argv[1] : "");
	return 0;
}
