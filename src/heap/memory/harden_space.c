/* SPDX-License-Identifier: MIT
 * harden_space.c -- places of chunks, their guards and those of large blocks; freed large blocks
 * wait, without access.  Part of libmallow_secure only. */
#include "heap/memory/harden_space.h"

#include <string.h>

#include "base/bits.h"
#include "heap/layout/harden_block.h"
#include "heap/layout/page.h"
#include "heap/misuse/misuse.h"
#include "os/memory/map.h"

/* Returns the part of its slices that a large block does not use, a kernel page at least as a rule.
 */
static void *tail_of(const void *block, size_t *bytes) {
	*bytes = 0;
	if (mw_address_kind((uintptr_t)block) != MW_MAP_CHUNK)
		return NULL;
	const mw_page_t *page = mw_page_of_slice((uintptr_t)block);
	if (page->kind != MW_PAGE_LARGE || mw_chunk_of(page)->arena ||
	    page->large_bytes < MW_HARDEN_CLOSED_BYTES)
		return NULL;
	*bytes = page->slice_count * MW_SLICE_BYTES - page->large_bytes;
	return page->start + page->large_bytes;
}

void mw_harden_guard_tail(const void *block) {
	size_t bytes;
	void *tail = tail_of(block, &bytes);
	if (bytes)
		mw_os_protect_none(tail, bytes);
}

bool mw_harden_unguard_tail(const void *block) {
	size_t bytes;
	void *tail = tail_of(block, &bytes);
	return bytes == 0 || mw_os_unprotect(tail, bytes);
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

/* A block that is not closed is filled at its front. */
bool mw_harden_large_freed(mw_page_t *page) {
	if (page->large_bytes >= MW_HARDEN_CLOSED_BYTES) {
		mw_harden_close(page->start, page->slice_count * MW_SLICE_BYTES);
		return true;
	}
	if (mw_harden_is_whole)
		memset(page->start, (int)(MW_HARDEN_FILL & 0xff), page->large_bytes);
	mw_harden_store_fill(page->start);
	mw_harden_store_fill(page->start + 16);
	return false;
}

static bool is_untouched(const mw_page_t *page) {
	return page->large_bytes >= MW_HARDEN_CLOSED_BYTES ||
	       (mw_harden_load(page->start) == MW_HARDEN_FILL &&
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
	return page;
}

void mw_harden_guard_chunk(void *chunk) {
	/* If the kernel refuses because its table of mappings is full, the guards are lost: the
	 * pages that they would cover are not used either way. */
	size_t metadata =
		mw_round_up(MW_SLACK_TABLE_OFFSET + MW_SLACK_TABLE_BYTES, MW_OS_PAGE_BYTES);
	char *start = chunk;
	mw_os_protect_none(start + metadata, MW_SLICE_BYTES - metadata);
	mw_os_protect_none(start + MW_CHUNK_BYTES - MW_SLICE_BYTES + MW_OS_PAGE_BYTES,
			   MW_SLICE_BYTES - MW_OS_PAGE_BYTES);
}

void *mw_harden_map_chunk(void) {
	void *chunk = map_somewhere();
	if (chunk)
		mw_harden_guard_chunk(chunk);
	return chunk;
}
