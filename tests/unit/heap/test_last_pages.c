/* SPDX-License-Identifier: MIT
 * The last page of a class stays with its heap, empty or not; but a heap that needs more memory
 * than ever uses those of other classes first, where much of them was touched. */
#include <pthread.h>
#include <stddef.h>

#include "heap/core/alloc.h"
#include "heap/core/free.h"
#include "heap/layout/size_class.h"
#include "heap/local/heap.h"
#include "heap/memory/chunk.h"
#include "heap/memory/limit.h"
#include "heap/thread/thread.h"
#include "test.h"

enum { BLOCKS = 2048, CLASS_BYTES = 48 << 10, KEPT = 20000, KEPT_BYTES = 96 };

static void *blocks[BLOCKS];

/* Slices that the heap reserves have no memory. */
static size_t in_pages_bytes(void) {
	return mw_heap_in_use_bytes() - mw_thread.heap->reserved_slices * MW_SLICE_BYTES;
}

/* Half a page of every class in turn, as strings do that grow side by side.  Returns the most that
 * was in use. */
static size_t climb(size_t most_bytes) {
	size_t peak_bytes = 0;
	for (unsigned c = 0; mw_class_bytes[c] <= most_bytes; c++) {
		unsigned count = CLASS_BYTES / mw_class_bytes[c];
		if (count > BLOCKS)
			count = BLOCKS;
		for (unsigned i = 0; i < count; i++)
			CHECK((blocks[i] = mw_heap_alloc(mw_class_bytes[c])) != NULL);
		if (peak_bytes < in_pages_bytes())
			peak_bytes = in_pages_bytes();
		for (unsigned i = 0; i < count; i++)
			mw_heap_free_slow(blocks[i]);
	}
	return peak_bytes;
}

static void growth_takes_empty_pages(void) {
	/* Some 30 classes, of which two have blocks or lists at a time. */
	CHECK(climb(4096) <= 6 * MW_SLICE_BYTES);
	CHECK(climb(4096) <= 6 * MW_SLICE_BYTES);
	mw_chunk_check();
}

static size_t pages_made(void) {
	mw_heap_counts_t counts;
	mw_heap_sum_counts(&counts);
	size_t total = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++)
		total += counts.pages[c];
	return total;
}

/* As a tree that is read in: what it keeps grows, and texts and lists on the way to it come and go
 * at every step.  Their pages must not change hands at every step too. */
static void growth_leaves_pages_in_use(void) {
	static const size_t passing[] = {16, 32, 48, 64, 80, 112, 128};
	enum { PASSING = sizeof passing / sizeof *passing };
	static void *kept[KEPT];
	size_t before = pages_made();
	for (unsigned i = 0; i < KEPT; i++) {
		void *block[PASSING];
		CHECK((kept[i] = mw_heap_alloc(KEPT_BYTES)) != NULL);
		for (unsigned j = 0; j < PASSING; j++) {
			CHECK((block[j] = mw_heap_alloc(passing[j])) != NULL);
			if (j > 0)
				mw_heap_free_slow(block[j - 1]);
		}
		mw_heap_free_slow(block[PASSING - 1]);
	}
	size_t grown = KEPT * KEPT_BYTES / MW_SLICE_BYTES;
	/* Each page more may cost them theirs. */
	CHECK(pages_made() - before <= (grown + PASSING) * (PASSING + 1));
	for (unsigned i = 0; i < KEPT; i++)
		mw_heap_free_slow(kept[i]);
}

/* A young heap, of whose classes each has a block now and then, makes the pages of each once. */
static void *take_turns(void *unused) {
	enum { TURNS = 50, MOST_BYTES = 8 << 10 };
	size_t before = pages_made(), slices = 0;
	for (unsigned i = 0; i < TURNS; i++) {
		for (unsigned c = 0; mw_class_bytes[c] <= MOST_BYTES; c++) {
			void *block = mw_heap_alloc(mw_class_bytes[c]);
			CHECK(block != NULL);
			mw_heap_free_slow(block);
			slices += i == 0 ? mw_class_run_slices[c] : 0;
		}
	}
	CHECK(pages_made() - before <= slices);
	return unused;
}

static void little_pages_stay(void) {
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, take_turns, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

int main(void) {
	RUN(growth_takes_empty_pages);
	RUN(growth_leaves_pages_in_use);
	if (!MW_HARDEN_ON)
		RUN(little_pages_stay);
	return 0;
}
