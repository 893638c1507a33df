/* SPDX-License-Identifier: MIT
 * example.c -- the example of heap profiler tutorials: 80 and 40 blocks from two functions, never
 * freed.  Prints the sum of their usable sizes, which an exact profile has to show. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile keep;
static size_t usable_bytes;

static __attribute__((noinline)) void do_something(size_t i) {
	keep = malloc(i * 1024);
	usable_bytes += malloc_usable_size(keep);
}

static __attribute__((noinline)) void do_something_else(size_t i) {
	keep = malloc(i * 4096);
	usable_bytes += malloc_usable_size(keep);
}

int main(void) {
	char text[32];
	for (size_t i = 0; i < 80; i++)
		do_something(i);
	for (size_t i = 0; i < 40; i++)
		do_something_else(i);
	/* Not printf(3), whose buffer would be a block of its own. */
	int length = snprintf(text, sizeof(text), "%zu\n", usable_bytes);
	return write(1, text, (size_t)length) == length ? 0 : 1;
}
