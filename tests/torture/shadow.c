/* SPDX-License-Identifier: MIT
 * shadow.c -- a sparse bit map over the address space, and patterns. */
#include "shadow.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { GRANULE_SHIFT = 4, ADDRESS_BITS = 47, WHOLE_BYTES = 64 << 10, STRIDE_BYTES = 4096 };

static _Atomic uint64_t *map;
static _Atomic uint64_t claimed;

void torture_fail(const char *file, int line, const char *what) {
	fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
	abort();
}

void shadow_init(void) {
	size_t bytes = (size_t)1 << (ADDRESS_BITS - GRANULE_SHIFT - 3);
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	TORTURE_MUST(base != MAP_FAILED);
	map = base;
}

/* Flips the bits of the range, word by word; each of them must have been `before`. */
static void flip(const void *block, size_t bytes, int before) {
	uint64_t first = (uint64_t)(uintptr_t)block >> GRANULE_SHIFT;
	uint64_t limit = (((uint64_t)(uintptr_t)block + bytes - 1) >> GRANULE_SHIFT) + 1;
	TORTURE_MUST(((uintptr_t)block & 15) == 0 && bytes > 0);
	for (uint64_t granule = first; granule < limit;) {
		uint64_t shift = granule % 64;
		uint64_t here = limit - granule < 64 - shift ? limit - granule : 64 - shift;
		uint64_t bits = (here == 64 ? ~UINT64_C(0) : (UINT64_C(1) << here) - 1) << shift;
		/* Relaxed: malloc and free order what two owners of an address do. */
		uint64_t old = before ? atomic_fetch_and_explicit(&map[granule / 64], ~bits,
								  memory_order_relaxed)
				      : atomic_fetch_or_explicit(&map[granule / 64], bits,
								 memory_order_relaxed);
		TORTURE_MUST((old & bits) == (before ? bits : 0));
		granule += here;
	}
	if (before)
		atomic_fetch_sub_explicit(&claimed, limit - first, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&claimed, limit - first, memory_order_relaxed);
}

void shadow_claim(const void *block, size_t bytes) {
	flip(block, bytes, 0);
}

void shadow_release(const void *block, size_t bytes) {
	flip(block, bytes, 1);
}

uint64_t shadow_claimed(void) {
	return atomic_load(&claimed);
}

static unsigned char pattern_byte(uint64_t seed, size_t offset) {
	uint64_t word = (seed + offset / 8) * UINT64_C(0x9e3779b97f4a7c15);
	return (unsigned char)(word >> (8 + offset % 8 * 7));
}

/* Next offset to look at: all of them in a small block, a few of each page in a large one. */
static size_t next_offset(size_t offset, size_t bytes) {
	if (bytes <= WHOLE_BYTES || offset % STRIDE_BYTES < 8)
		return offset + 1;
	size_t jump = offset - offset % STRIDE_BYTES + STRIDE_BYTES;
	return jump < bytes || offset == bytes - 1 ? jump : bytes - 1;
}

void pattern_fill(void *block, size_t bytes, uint64_t seed) {
	unsigned char *at = block;
	for (size_t i = 0; i < bytes; i = next_offset(i, bytes))
		at[i] = pattern_byte(seed, i);
}

void pattern_check(const void *block, size_t bytes, uint64_t seed) {
	const unsigned char *at = block;
	for (size_t i = 0; i < bytes; i = next_offset(i, bytes))
		TORTURE_MUST(at[i] == pattern_byte(seed, i));
}

void zero_check(const void *block, size_t bytes) {
	const unsigned char *at = block;
	static const unsigned char zeros[4096];
	for (size_t i = 0; i < bytes; i += sizeof(zeros))
		TORTURE_MUST(memcmp(at + i, zeros,
				    bytes - i < sizeof(zeros) ? bytes - i : sizeof(zeros)) == 0);
}
