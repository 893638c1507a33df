/* SPDX-License-Identifier: MIT
 * tutorial.c -- a server of sorts for tutorial.sh: an index of 6 MiB, requests whose blocks are
 * freed, and a cache that grows by 1 MiB until it has 16 MiB. */
#include <stdlib.h>
#include <string.h>

static void *volatile kept[64];

__attribute__((noinline)) static char *fill(size_t bytes) {
	char *block = malloc(bytes);
	if (!block)
		abort();
	return memset(block, 1, bytes);
}

__attribute__((noinline)) static void load_index(void) {
	for (int i = 0; i < 24; i++)
		kept[i] = fill(256 << 10);
}

__attribute__((noinline)) static void serve_request(void) {
	free(fill(512 << 10));
	__asm__ volatile("");
}

__attribute__((noinline)) static void grow_cache(int number) {
	kept[24 + number] = fill(1 << 20);
}

int main(void) {
	load_index();
	for (int i = 0; i < 16; i++) {
		serve_request();
		grow_cache(i);
	}
	return 0;
}
