/* SPDX-License-Identifier: MIT
 * harden_space.c -- places of chunks, their guards and those of large blocks; freed large blocks
 * wait, without access.  Part of libmallow_secure only. */
#include "heap/memory/harden_space.h"

#include <string.h>

#include "base/bits.h"
#include "heap/layout/harden_block.h"
#include "heap/layout/page.h"
#include "heap/layout/slices.h"
#include "heap/misuse/misuse.h"
#include "os/memory/map.h"
#include "os/time/clock.h"

/* Large blocks that are guarded at most, live or waiting.  Each takes three mappings, of which a
 * process may have 65,530 (vm.max_map_count), and the program needs some itself.  Further blocks
 * are open up to the ends of their slices, and filled when they are freed. */
#define GUARDED_MAX 8192u
static unsigned guarded_blocks; /* under the chunk lock */

/* A block of 1 MiB that is opened and closed costs 45 microseconds, mostly for its kernel pages: of
 * 262 of them the first ones take 12 ms in all, later ones 0.6 % of the time. */
#define BURST_BYTES (UINT64_C(272) << 20)
#define NS_PER_BYTE 8u /* 119 MiB a second */
/* Two system calls, without their kernel pages, count as so many bytes. */
#define CALL_BYTES UINT64_C(65536)

bool mw_harden_may_close(mw_harden_budget_t *budget, size_t bytes, uint64_t now_ns) {
	if (MW_UNLIKELY(mw_harden_is_whole))
		return true;
	uint64_t back = now_ns > budget->at_ns ? (now_ns - budget->at_ns) / NS_PER_BYTE : 0;
	budget->spent_bytes -= back < budget->spent_bytes ? back : budget->spent_bytes;
	budget->at_ns = now_ns;
	/* A block larger than the burst may be closed when nothing was for long. */
	if (budget->spent_bytes > 0 && budget->spent_bytes + bytes + CALL_BYTES > BURST_BYTES)
		return false;
	budget->spent_bytes += bytes + CALL_BYTES;
	return true;
}

static mw_harden_budget_t large_budget; /* under the chunk lock */

static char *slice_at(const mw_chunk_t *chunk, unsigned number) {
	return (char *)(uintptr_t)chunk + number * MW_SLICE_BYTES;
}

/* Opens a run as a whole.  An invalid pointer into the last block of a page must not fault where
 * free() reads what would be its seal: a closed slice behind the run is opened, too, for a page. */
static bool open_whole(mw_chunk_t *chunk, unsigned first, unsigned count) {
	uint64_t behind = (uint64_t)1 << (first + count);
	size_t bytes = count * MW_SLICE_BYTES +
		       (chunk->decommitted_mask & behind ? mw_os_page_bytes() : 0);
	if (mw_os_unprotect(slice_at(chunk, first), bytes))
		return true;
	/* The kernel's table of mappings is full.  One mapping for all slices is in it already, or
	 * becomes one of several. */
	if (!mw_os_unprotect(slice_at(chunk, 1), MW_CHUNK_BYTES - 2 * MW_SLICE_BYTES))
		return false;
	chunk->decommitted_mask = 0;
	return true;
}

/* Opens `bytes` of a run behind the first `lead_bytes`, and closes the rest. */
static bool open_part(mw_chunk_t *chunk, unsigned first, unsigned count, size_t lead_bytes,
		      size_t bytes) {
	char *start = slice_at(chunk, first);
	uint64_t run = mw_slices_mask(first, count);
	if ((chunk->decommitted_mask & run) != run &&
	    !mw_os_protect_none(start, count * MW_SLICE_BYTES))
		return false;
	return mw_os_unprotect(start + lead_bytes, bytes);
}

bool mw_harden_open_run(mw_chunk_t *chunk, unsigned first, unsigned count, size_t lead_bytes,
			size_t bytes, bool *guarded) {
	uint64_t run = mw_slices_mask(first, count);
	bool guard = bytes > 0 && guarded_blocks < GUARDED_MAX &&
		     mw_harden_may_close(&large_budget, bytes, mw_os_monotonic_coarse_ns());
	*guarded = guard && open_part(chunk, first, count, lead_bytes, bytes);
	/* A refusal may have left some of the slices closed. */
	if (!*guarded && (guard || (chunk->decommitted_mask & run)) &&
	    !open_whole(chunk, first, count)) {
		/* Whoever takes them next opens them: to open an open slice does no harm. */
		chunk->decommitted_mask |= run;
		return false;
	}
	guarded_blocks += *guarded;
	chunk->decommitted_mask &= ~run;
	return true;
}

/* Returns the part of its slices that lies behind a guarded block. */
static void *tail_of(const mw_page_t *page, size_t *bytes) {
	char *tail = page->start + page->large_bytes;
	*bytes = (size_t)(slice_at(mw_chunk_of(page),
				   mw_page_slice_index(page) + page->slice_count) -
			  tail);
	return tail;
}

void mw_harden_guard_tail(const mw_page_t *page) {
	size_t bytes;
	void *tail = tail_of(page, &bytes);
	if (page->is_guarded)
		mw_os_protect_none(tail, bytes);
}

bool mw_harden_unguard_tail(const mw_page_t *page) {
	size_t bytes;
	void *tail = tail_of(page, &bytes);
	return !page->is_guarded || mw_os_unprotect(tail, bytes);
}

/* Chunks lie at random places of a window of 64 GiB, itself at a random place: far from each other,
 * yet in few of the kernel's page tables and few pages of the address map. */
#define WINDOW_CHUNKS 16384u
/* Tries before the window counts as full; a try that meets other memory costs a system call. */
#define TRIES 8u
/* 4 to 96 TiB: the kernel puts neither program, heap nor libraries there. */
#define LOWEST_CHUNK ((uint64_t)1 << (42 - MW_CHUNK_SHIFT))
#define CHUNK_PLACES ((uint32_t)(23 * LOWEST_CHUNK))

/* Under the chunk lock. */
static struct {
	uint64_t window; /* number of its first chunk; 0: none yet */
	uint64_t random;
} places;

static void *map_somewhere(void) {
	for (unsigned windows = 0; windows < 2; windows++) {
		if (places.window == 0)
			places.window =
				LOWEST_CHUNK + mw_harden_draw_below(&places.random, CHUNK_PLACES);
		for (unsigned tries = 0; tries < TRIES; tries++) {
			uint64_t number =
				places.window + mw_harden_draw_below(&places.random, WINDOW_CHUNKS);
			void *chunk =
				mw_os_map_at((void *)(number << MW_CHUNK_SHIFT), MW_CHUNK_BYTES);
			if (chunk)
				return chunk;
		}
		places.window = 0;
	}
	/* Little address space is left, or may be used: take any place. */
	return mw_os_map_aligned(MW_CHUNK_BYTES, MW_CHUNK_BYTES);
}

bool mw_harden_close(void *start, size_t bytes) {
	/* The old contents must not be readable when it is opened again. */
	if (mw_harden_is_whole)
		mw_os_purge(start, bytes);
	return mw_os_protect_none(start, bytes);
}

bool mw_harden_open(void *start, size_t bytes) {
	return mw_os_unprotect(start, bytes);
}

/* Most large blocks that wait: 8, and 2 MiB unless it is one block. */
#define LARGE_PLACES 8u
#define LARGE_WAITING_BYTES ((size_t)2 << 20)

/* Under the chunk lock; a ring. */
static struct {
	mw_page_t *pages[LARGE_PLACES];
	unsigned first, count;
	size_t bytes;
} waiting;

void mw_harden_large_freed(mw_page_t *page) {
	if (page->is_guarded) {
		mw_harden_close(page->start, page->large_bytes);
		return;
	}
	if (mw_harden_is_whole)
		memset(page->start, (int)(MW_HARDEN_FILL & 0xff), page->large_bytes);
	mw_harden_store_fill(page->start);
	mw_harden_store_fill(page->start + 16);
}

static bool is_untouched(const mw_page_t *page) {
	return page->is_guarded || (mw_harden_load(page->start) == MW_HARDEN_FILL &&
				    mw_harden_load(page->start + 8) == MW_HARDEN_FILL &&
				    mw_harden_is_untouched(page->start));
}

void mw_harden_large_wait(mw_page_t *page) {
	waiting.pages[(waiting.first + waiting.count++) % LARGE_PLACES] = page;
	waiting.bytes += page->slice_count * MW_SLICE_BYTES;
}

mw_page_t *mw_harden_large_waited(bool all) {
	/* One place stays free for the next block. */
	bool full = waiting.count == LARGE_PLACES ||
		    (waiting.count > 1 && waiting.bytes > LARGE_WAITING_BYTES);
	if (waiting.count == 0 || (!full && !all))
		return NULL;
	mw_page_t *page = waiting.pages[waiting.first];
	waiting.first = (waiting.first + 1) % LARGE_PLACES;
	waiting.count--;
	waiting.bytes -= page->slice_count * MW_SLICE_BYTES;
	if (MW_UNLIKELY(!is_untouched(page)))
		mw_misuse_after_free(page->start, page);
	guarded_blocks -= page->is_guarded;
	return page;
}

void mw_harden_guard_chunk(void *chunk) {
	/* If the kernel refuses because its table of mappings is full, the slices are open, which
	 * mw_harden_open_run() does not mind. */
	size_t metadata = mw_os_whole_pages(MW_SLACK_TABLE_OFFSET + MW_SLACK_TABLE_BYTES);
	mw_os_protect_none((char *)chunk + metadata, MW_CHUNK_BYTES - metadata);
}

void *mw_harden_map_chunk(void) {
	void *chunk = map_somewhere();
	if (chunk)
		mw_harden_guard_chunk(chunk);
	return chunk;
}
