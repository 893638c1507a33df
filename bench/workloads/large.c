/* SPDX-License-Identifier: MIT
 * large.c MODE -- large blocks.  Modes: blocks (1 to 64 MiB made, a part written, resized, freed),
 * medium (64 KiB to 1 MiB in 64 slots), grow (one block realloc'd from 1 KiB to 64 MiB in steps,
 * wholly used, many times), buffers (many strings that grow side by side), replace [SLOTS MIN_MIB
 * MAX_MIB TURNS SEED] (a random one of SLOTS blocks is replaced by one of random size and wholly
 * written; the new block is made before the old one is freed). */
#include "workload.h"

enum { SLOTS = 8, BLOCK_TURNS = 600, MEDIUM_SLOTS = 64, MEDIUM_TURNS = 60000 };
enum { GROW_ROUNDS = 6, BUFFERS = 2000, BUFFER_ROUNDS = 40 };
enum { REPLACE_SLOTS_MAX = 1000 };

static uint64_t seed = 3;

/* One byte in each page of the block's first quarter, as a buffer that was made too large. */
static uint64_t touch(unsigned char *block, size_t bytes, uint64_t mark) {
	for (size_t i = 0; i < bytes; i += 4096)
		block[i] = (unsigned char)mark;
	return block[0];
}

static uint64_t blocks_mode(void) {
	unsigned char *slots[SLOTS] = {0};
	uint64_t sum = 0;
	for (unsigned i = 0; i < BLOCK_TURNS; i++) {
		unsigned slot = wl_below(&seed, SLOTS);
		size_t bytes = ((size_t)1 << 20) << wl_below(&seed, 6);
		bytes += wl_below(&seed, 1u << 20);
		if (slots[slot])
			sum += wl_drop(slots[slot]);
		slots[slot] = wl_malloc(bytes);
		sum += touch(slots[slot], bytes / 4, i);
		if (i % 3 == 0) {
			slots[slot] = wl_check(realloc(slots[slot], bytes * 2));
			sum += slots[slot][0];
		} else if (i % 3 == 1) {
			slots[slot] = wl_check(realloc(slots[slot], bytes / 2));
			sum += slots[slot][0];
		}
	}
	for (unsigned i = 0; i < SLOTS; i++)
		if (slots[i])
			sum += wl_drop(slots[i]);
	wl_note("after_free_kib", wl_resident_kib());
	return sum;
}

static uint64_t medium_mode(void) {
	unsigned char *slots[MEDIUM_SLOTS] = {0};
	uint64_t sum = 0;
	for (unsigned i = 0; i < MEDIUM_TURNS; i++) {
		unsigned slot = wl_below(&seed, MEDIUM_SLOTS);
		size_t bytes = ((size_t)1 << 16) + wl_below(&seed, (1u << 20) - (1u << 16));
		if (slots[slot])
			sum += wl_drop(slots[slot]);
		slots[slot] = wl_malloc(bytes);
		sum += touch(slots[slot], bytes, i);
	}
	for (unsigned i = 0; i < MEDIUM_SLOTS; i++)
		if (slots[i])
			sum += wl_drop(slots[i]);
	return sum;
}

static uint64_t grow_mode(void) {
	uint64_t sum = 0;
	for (unsigned round = 0; round < GROW_ROUNDS; round++) {
		size_t bytes = 1024, used = 0;
		unsigned char *block = wl_malloc(bytes);
		while (bytes < (size_t)64 << 20) {
			memset(block + used, (int)round + 1, bytes - used);
			used = bytes;
			/* Doubling while small, then by an eighth, as vectors and readers do. */
			bytes += bytes < (size_t)1 << 18 ? bytes : bytes / 8;
			block = wl_check(realloc(block, bytes));
			sum += block[used / 2];
		}
		free(block);
	}
	return sum;
}

static uint64_t buffers_mode(void) {
	static unsigned char *buffers[BUFFERS];
	static uint32_t lengths[BUFFERS];
	uint64_t sum = 0;
	for (unsigned round = 0; round < BUFFER_ROUNDS; round++) {
		for (unsigned i = 0; i < BUFFERS * 60; i++) {
			unsigned b = wl_below(&seed, BUFFERS);
			uint32_t more = 8 + wl_below(&seed, 56);
			buffers[b] = wl_check(realloc(buffers[b], lengths[b] + more));
			memset(buffers[b] + lengths[b], (int)b, more);
			lengths[b] += more;
		}
		for (unsigned b = 0; b < BUFFERS; b++) {
			if (lengths[b])
				sum += buffers[b][lengths[b] / 2];
			free(buffers[b]);
			buffers[b] = NULL;
			lengths[b] = 0;
		}
	}
	return sum;
}

static uint64_t replace_mode(int argc, char **argv) {
	static unsigned char *blocks[REPLACE_SLOTS_MAX];
	unsigned slots = wl_argument(argc, argv, 2, 20), turns = wl_argument(argc, argv, 5, 1000);
	size_t least = (size_t)wl_argument(argc, argv, 3, 5) << 20;
	size_t most = (size_t)wl_argument(argc, argv, 4, 25) << 20;
	seed = wl_argument(argc, argv, 6, 3);
	if (slots == 0 || slots > REPLACE_SLOTS_MAX || least > most || most >> 32)
		wl_die("replace: 1 to 1000 slots, sizes below 4096 MiB");
	uint64_t sum = 0;
	for (unsigned i = 0; i < turns; i++) {
		unsigned slot = wl_below(&seed, slots);
		size_t bytes = least + wl_below(&seed, (uint32_t)(most - least) + 1);
		unsigned char *block = wl_malloc(bytes);
		memset(block, (int)i, bytes);
		sum += block[bytes / 2];
		free(blocks[slot]);
		blocks[slot] = block;
	}
	for (unsigned i = 0; i < slots; i++)
		free(blocks[i]);
	return sum;
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "blocks";
	if (!strcmp(mode, "replace"))
		return wl_finish(replace_mode(argc, argv));
	if (!strcmp(mode, "medium"))
		return wl_finish(medium_mode());
	if (!strcmp(mode, "grow"))
		return wl_finish(grow_mode());
	return wl_finish(!strcmp(mode, "buffers") ? buffers_mode() : blocks_mode());
}
