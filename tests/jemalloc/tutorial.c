/* SPDX-License-Identifier: MIT
 * tutorial.c -- the program that introductions to jemalloc's profiler use, and what they add to it
 * with mallctl().  The argument says which. */
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void do_something(size_t i) {
	char *volatile block = malloc(i * 1024);
	(void)block;
}

__attribute__((noinline)) static void do_something_else(size_t i) {
	char *volatile block = malloc(i * 4096);
	(void)block;
}

/* Of one stack, small ones and large ones. */
__attribute__((noinline)) static void mixed_sizes(size_t i) {
	char *volatile block = malloc(i % 100 == 0 ? 65536 : 16 + i % 7 * 100);
	(void)block;
}

static void first_half(void) {
	for (size_t i = 0; i < 80; i++)
		do_something(i);
}

static void second_half(void) {
	for (size_t i = 0; i < 40; i++)
		do_something_else(i);
}

static void set_active(bool active) {
	if (mallctl("prof.active", NULL, NULL, &active, sizeof active) != 0)
		exit(3);
}

static void dump(const char *path) {
	if (mallctl("prof.dump", NULL, NULL, path ? (void *)&path : NULL, path ? sizeof path : 0) !=
	    0)
		exit(4);
}

/* Started inactive: on for a while, off for a while, and what is left then of what came while it
 * was on. */
static void timed(void) {
	first_half();
	dump("before.heap");
	set_active(true);
	second_half();
	void *volatile short_lived[100];
	for (size_t i = 0; i < 100; i++)
		short_lived[i] = malloc(30000);
	set_active(false);
	first_half();
	for (size_t i = 0; i < 100; i++)
		free(short_lived[i]);
	dump("after.heap");
}

int main(int argc, char **argv) {
	const char *what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "mixed") == 0) {
		for (size_t i = 0; i < 300000; i++)
			mixed_sizes(i);
		return 0;
	}
	if (strcmp(what, "timed") == 0) {
		timed();
		return 0;
	}
	first_half();
	if (strcmp(what, "activate") == 0) /* with prof_active:false */
		set_active(true);
	if (strcmp(what, "window") == 0)
		dump("before.heap");
	second_half();
	if (strcmp(what, "window") == 0) {
		dump("after.heap");
		set_active(false);
		first_half();
	}
	if (strcmp(what, "manual") == 0) {
		dump(NULL);
		first_half();
		dump(NULL);
	}
	return 0;
}
