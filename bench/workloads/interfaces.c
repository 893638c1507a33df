/* SPDX-License-Identifier: MIT
 * interfaces.c MODE -- the other ways to a block.  Modes: aligned (posix_memalign and
 * aligned_alloc, 32 bytes to 4 KiB), calloc (16 bytes to 16 KiB, now and then 256 KiB; must read as
 * zero), resize (realloc within and across size classes, both ways). */
#include "workload.h"

enum { SLOTS = 4096, ALIGNED_TURNS = 5000000, CALLOC_TURNS = 3000000, RESIZE_TURNS = 5000000 };

static unsigned char *slots[SLOTS];
static uint64_t seed = 11;

/* Debian's mimalloc 2.0.9 misplaces blocks as large as their alignment of 256 to 1024 bytes:
 * counted, not fatal, so that its time can still be compared. */
static uint64_t aligned_mode(void) {
	uint64_t sum = 0, misaligned = 0;
	for (unsigned i = 0; i < ALIGNED_TURNS; i++) {
		unsigned slot = wl_below(&seed, SLOTS);
		size_t align = (size_t)32 << wl_below(&seed, i % 16 ? 4 : 8);
		size_t bytes = align * (1 + wl_below(&seed, 3));
		void *block = NULL;
		if (slots[slot])
			sum += wl_drop(slots[slot]);
		if (i % 2)
			block = wl_check(aligned_alloc(align, bytes));
		else if (posix_memalign(&block, align, bytes))
			wl_die("out of memory");
		misaligned += (uintptr_t)block % align != 0;
		slots[slot] = block;
		slots[slot][0] = (unsigned char)i;
	}
	wl_note("misaligned_blocks", misaligned);
	return sum;
}

static uint64_t calloc_mode(void) {
	uint64_t sum = 0;
	for (unsigned i = 0; i < CALLOC_TURNS; i++) {
		unsigned slot = wl_below(&seed, SLOTS);
		size_t bytes = i % 1024 ? wl_skewed_size(&seed, 4, 14) : (size_t)1 << 18;
		if (slots[slot])
			sum += wl_drop(slots[slot]);
		slots[slot] = wl_check(calloc(bytes / 16 + 1, 16));
		if (slots[slot][0] | slots[slot][bytes / 2] | slots[slot][bytes - 1])
			wl_die("a block from calloc is not zero");
		memset(slots[slot], (int)i, bytes < 64 ? bytes : 64);
		slots[slot][bytes - 1] = 1;
	}
	return sum;
}

static uint64_t resize_mode(void) {
	static uint32_t lengths[SLOTS];
	uint64_t sum = 0;
	for (unsigned i = 0; i < RESIZE_TURNS; i++) {
		unsigned slot = wl_below(&seed, SLOTS);
		/* A step up or down by up to a quarter, now and then anywhere. */
		uint32_t length = lengths[slot] - lengths[slot] / 4;
		length += wl_below(&seed, lengths[slot] / 2 + 16);
		if (i % 32 == 0 || length > 20000)
			length = wl_below(&seed, 2000);
		length += 1;
		slots[slot] = wl_check(realloc(slots[slot], length));
		if (lengths[slot])
			sum += slots[slot][0];
		slots[slot][0] = (unsigned char)i;
		slots[slot][length - 1] = (unsigned char)i;
		lengths[slot] = length;
	}
	return sum;
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "aligned";
	if (!strcmp(mode, "calloc"))
		return wl_finish(calloc_mode());
	return wl_finish(!strcmp(mode, "resize") ? resize_mode() : aligned_mode());
}
