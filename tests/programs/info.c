/* SPDX-License-Identifier: MIT
 * info.c -- what mallinfo2(), malloc_info(), malloc_stats() and mallopt() say of a known heap. With
 * "shape" it runs with any malloc and prints what tests/real/info.sh compares between two. */
#include <errno.h>
#include <malloc.h>

#include "programs.h"

enum { COUNT = 2000, EACH = 1000, LARGE = 20000000 };

static void *blocks[COUNT];

static void figures(void) {
	struct mallinfo2 before = mallinfo2();
	for (int i = 0; i < COUNT; i++)
		MUST((blocks[i] = malloc(EACH)) != NULL);
	char *large = malloc(LARGE);
	MUST(large);
	struct mallinfo2 full = mallinfo2();
	MUST(full.uordblks >= before.uordblks + (size_t)COUNT * EACH);
	MUST(full.uordblks <= before.uordblks + (size_t)COUNT * EACH * 5 / 4);
	MUST(full.hblks == before.hblks + 1 && full.hblkhd >= before.hblkhd + LARGE);
	MUST(full.hblkhd <= before.hblkhd + LARGE + 4096);
	MUST(full.arena == full.uordblks + full.fordblks);
	MUST(full.smblks == 0 && full.fsmblks == 0 && full.usmblks == 0);
	free(large);
	for (int i = 0; i < COUNT; i += 2)
		free(blocks[i]);
	struct mallinfo2 half = mallinfo2();
	MUST(half.uordblks <= full.uordblks - (size_t)COUNT * EACH / 2 * 9 / 10);
	MUST(half.ordblks >= full.ordblks + COUNT / 2 * 9 / 10);
	MUST(half.hblks == before.hblks);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* old programs call it */
	struct mallinfo narrow = mallinfo();
#pragma GCC diagnostic pop
	MUST(narrow.uordblks == (int)half.uordblks && narrow.ordblks == (int)half.ordblks);
	errno = 0;
	MUST(malloc_info(1, stdout) == EINVAL);
}

static void print_shape(void) {
	MUST(malloc_info(0, stdout) == 0);
	puts("<options>");
	static const int values[] = {-1, 0, 1, 160, 161, 1000, 1 << 20, 33 << 20};
	for (int parameter = -12; parameter < 8; parameter++)
		for (size_t i = 0; i < sizeof values / sizeof *values; i++)
			printf("%d %d %d\n", parameter, values[i], mallopt(parameter, values[i]));
	fflush(stdout);
	malloc_stats();
}

int main(int argc, char **argv) {
	(void)argv;
	if (argc == 1) {
		must_be_mallow();
		figures();
		return 0;
	}
	for (int i = 0; i < COUNT; i++)
		blocks[i] = malloc((size_t)i * 7);
	for (int i = 0; i < COUNT; i += 2)
		free(blocks[i]);
	MUST(malloc(LARGE));
	print_shape();
	return 0;
}
