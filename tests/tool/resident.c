/* SPDX-License-Identifier: MIT
 * resident.c -- memory of each kind in known amounts: malloc's, mapped by the program itself, of
 * blocks that nobody touches.
 *   resident MALLOC MAPPED UNTOUCHED [exit]: MiB; ends, or says "ready" and waits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static void *volatile kept;

static void allocate(size_t mib) {
	for (size_t i = 0; i < mib * 1024; i++)
		memset((kept = malloc(1000)), 1, 1000);
}

static void map(size_t mib) {
	char *area = mmap(NULL, mib * MIB + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	if (area == MAP_FAILED)
		exit(3);
	memset(area, 1, mib * MIB);
}

/* As pools of a server: of each only the beginning is written. */
static void reserve(size_t mib) {
	for (size_t i = 0; i < mib; i++)
		*(char *)(kept = malloc(MIB)) = 1;
}

int main(int argc, char **argv) {
	if (argc < 4)
		return 2;
	map((size_t)atoi(argv[2]));
	reserve((size_t)atoi(argv[3]));
	allocate((size_t)atoi(argv[1]));
	if (argc > 4)
		return 0;
	if (write(1, "ready\n", 6) != 6)
		return 1;
	for (;;)
		pause();
}
