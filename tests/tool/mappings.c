/* SPDX-License-Identifier: MIT
 * mappings.c -- maps memory at each line that it reads: w a whole mapping, c one that is cut, f one
 * that goes again, m one that is remapped, d the data segment. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define STEP __attribute__((noinline)) static

STEP char *map(size_t bytes) {
	char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		abort();
	return memset(base, 1, bytes);
}

STEP void map_whole(void) {
	map(24 * MIB);
	__asm__ volatile("");
}

STEP void map_cut(void) {
	char *base = map(20 * MIB);
	munmap(base + 4 * MIB, 8 * MIB);
}

STEP void map_freed(void) {
	munmap(map(9 * MIB), 9 * MIB);
}

STEP void map_grown(void) {
	char *base = mremap(map(2 * MIB), 2 * MIB, 6 * MIB, MREMAP_MAYMOVE);
	memset(base, 1, 6 * MIB);
}

STEP void grow_data(void) {
	memset(sbrk(3 * MIB), 1, 3 * MIB);
	__asm__ volatile("");
}

STEP void allocate(void) {
	static void *volatile kept;
	kept = malloc(5 * MIB);
}

int main(void) {
	int letter;
	puts("ready");
	fflush(stdout);
	while ((letter = getchar()) != EOF) {
		switch (letter) {
		case 'w':
			map_whole();
			break;
		case 'c':
			map_cut();
			break;
		case 'f':
			map_freed();
			break;
		case 'm':
			map_grown();
			break;
		case 'd':
			grow_data();
			break;
		case 'a':
			allocate();
			break;
		default:
			continue;
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
