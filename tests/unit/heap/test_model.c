/* SPDX-License-Identifier: MIT
 * test_model.c -- the heap against a shadow model: contents kept, no overlap, alignment, usable
 * sizes honest; one thread, then threads that free each other's blocks and end. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/core/resize.h"
#include "heap/layout/harden_block.h"
#include "heap/layout/link.h"
#include "heap/stats/stats.h"
#include "heap/thread/maintain.h"
#include "heap/thread/thread.h"
#include "test.h"

#define SLOTS 2000
/* The hardened library calls the kernel for each large block: as many turns take it ten times as
 * long. */
#define TURNS (MW_HARDEN_ON ? 100000 : 300000)

typedef struct slot {
	unsigned char *block;
	size_t bytes;
	unsigned char fill;
} slot_t;

static uint64_t next_random(uint64_t *state) {
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Mostly small, some of every kind. */
static size_t random_bytes(uint64_t *state) {
	uint64_t r = next_random(state);
	switch (r % 100) {
	case 0:
		return (size_t)(r >> 8) % (5u << 20);
	case 1:
	case 2:
	case 3:
		return (size_t)(r >> 8) % (256u << 10);
	case 4:
		return 0;
	default:
		return (size_t)(r >> 8) % ((size_t)16 << (r >> 40) % 10);
	}
}

/* First, last and a few bytes between stand for all: enough to see an overlap or a lost copy. Of a
 * large block one page in four, as most of the time would go into the kernel's pages. */
static size_t next_place(size_t i) {
	return i + (i < 64 ? 1 : i < 65536 ? 509 : 16411);
}

static void fill(const slot_t *slot) {
	for (size_t i = 0; i < slot->bytes; i = next_place(i))
		slot->block[i] = (unsigned char)(slot->fill + i);
	if (slot->bytes)
		slot->block[slot->bytes - 1] = (unsigned char)(slot->fill + slot->bytes - 1);
}

static void verify(const slot_t *slot, size_t bytes) {
	for (size_t i = 0; i < bytes; i = next_place(i))
		CHECK_EQ(slot->block[i], (unsigned char)(slot->fill + i));
}

static void make(slot_t *slot, uint64_t *state) {
	slot->bytes = random_bytes(state);
	slot->fill = (unsigned char)next_random(state);
	uint64_t how = next_random(state) % 8;
	size_t align = 16;
	if (how == 0) {
		align = (size_t)1 << (next_random(state) % 20);
		slot->block = mw_heap_alloc_aligned(align, mw_harden_room(slot->bytes));
	} else if (how == 1) {
		slot->block = mw_heap_alloc_zeroed(mw_harden_room(slot->bytes));
		for (size_t i = 0; i < slot->bytes; i += i < 64 ? 1 : 61)
			CHECK_EQ(slot->block[i], 0);
	} else {
		slot->block = mw_heap_alloc(mw_harden_room(slot->bytes));
	}
	CHECK(slot->block != NULL);
	CHECK_EQ((uintptr_t)slot->block % (align < 16 ? 16 : align), 0);
	CHECK(mw_heap_usable_bytes(slot->block) >= slot->bytes);
	fill(slot);
}

static void change(slot_t *slot, uint64_t *state) {
	verify(slot, slot->bytes);
	if (next_random(state) % 4 != 0) {
		mw_fast_free(slot->block);
		slot->block = NULL;
		return;
	}
	size_t bytes = random_bytes(state) + 1, kept = bytes < slot->bytes ? bytes : slot->bytes;
	slot->block = mw_heap_resize(slot->block, mw_harden_room(bytes));
	CHECK(slot->block != NULL);
	verify(slot, kept);
	slot->bytes = bytes;
	fill(slot);
}

static void test_one_thread(void) {
	static slot_t slots[SLOTS];
	uint64_t state = 20260101;
	for (int turn = 0; turn < TURNS; turn++) {
		slot_t *slot = &slots[next_random(&state) % SLOTS];
		if (slot->block)
			change(slot, &state);
		else
			make(slot, &state);
	}
	for (unsigned i = 0; i < SLOTS; i++)
		if (slots[i].block)
			mw_fast_free(slots[i].block);
	mw_heap_trim();
	uint64_t stats[MW_STAT_COUNT];
	mw_heap_stats(stats);
	CHECK_EQ(stats[MW_STAT_huge_bytes], 0);
	CHECK_EQ(stats[MW_STAT_in_use_bytes], 0);
	CHECK_EQ(stats[MW_STAT_dirty_bytes], 0);
}

/* Blocks travel through a shared array: made by one thread, checked and freed by another. */
static slot_t *_Atomic mailbox[256];

static void *exchange(void *seed) {
	uint64_t state = (uint64_t)(uintptr_t)seed * 0x9e3779b97f4a7c15u + 1;
	static MW_TLS slot_t own[64];
	for (int turn = 0; turn < 20000; turn++) {
		uint64_t r = next_random(&state);
		if (r & 1) {
			slot_t *letter = mw_heap_alloc(sizeof *letter);
			make(letter, &state);
			letter = atomic_exchange(&mailbox[(r >> 8) % 256], letter);
			if (letter) {
				verify(letter, letter->bytes);
				mw_fast_free(letter->block);
				mw_fast_free(letter);
			}
		} else {
			slot_t *slot = &own[(r >> 8) % 64];
			if (slot->block)
				change(slot, &state);
			else
				make(slot, &state);
		}
	}
	for (unsigned i = 0; i < 64; i++)
		if (own[i].block)
			mw_fast_free(own[i].block);
	mw_heap_thread_end();
	return NULL;
}

static void test_threads_exchange_and_end(void) {
	for (uintptr_t round = 0; round < 6; round++) {
		pthread_t threads[6];
		for (uintptr_t i = 0; i < 6; i++)
			CHECK_EQ(pthread_create(&threads[i], NULL, exchange,
						(void *)(round * 16 + i + 1)),
				 0);
		for (unsigned i = 0; i < 6; i++)
			pthread_join(threads[i], NULL);
	}
	for (unsigned i = 0; i < 256; i++) {
		slot_t *letter = atomic_exchange(&mailbox[i], NULL);
		if (letter) {
			verify(letter, letter->bytes);
			mw_fast_free(letter->block);
			mw_fast_free(letter);
		}
	}
	mw_heap_trim();
	uint64_t stats[MW_STAT_COUNT];
	mw_heap_stats(stats);
	/* All blocks are back, and no thread is left: nothing is stranded. */
	CHECK_EQ(stats[MW_STAT_huge_bytes], 0);
	CHECK_EQ(stats[MW_STAT_abandoned_pages], 0);
	CHECK_EQ(stats[MW_STAT_in_use_bytes], 0);
	CHECK_EQ(stats[MW_STAT_live_threads], 1);
}

/* To half a chunk only one place of a chunk is aligned, which the hardened library's guard cuts. */
static void test_alignments_times_sizes(void) {
	enum { SLICE = 65536, STEPS = 68 };
	for (size_t align = 32; align <= (size_t)8 << 20; align *= 2) {
		for (size_t step = 1; step < STEPS; step++) {
			size_t bytes = step * SLICE - step % 3;
			char *block = mw_heap_alloc_aligned(align, bytes);
			CHECK(block != NULL && (uintptr_t)block % align == 0);
			CHECK(mw_heap_usable_bytes(block) >= bytes);
			block[0] = block[bytes - 1] = 1;
			mw_fast_free(block);
		}
	}
}

int main(void) {
	RUN(test_one_thread);
	RUN(test_alignments_times_sizes);
	RUN(test_threads_exchange_and_end);
	return 0;
}
