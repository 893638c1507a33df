/* SPDX-License-Identifier: MIT
 * harden_space.h -- the hardened library's chunks: their places, their guard pages and those of
 * large blocks, and freed large blocks that wait.
 * Layer: heap.  The plain library guards no page and lets no block wait. */
#ifndef MW_HEAP_HARDEN_SPACE_H
#define MW_HEAP_HARDEN_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "os/memory/map.h"

#ifdef MW_HARDENED

/* Slice 0 is the chunk's metadata.  The last slice, but for its first page, is a guard. */
#define MW_HARDEN_USABLE_SLICES (~(uint64_t)1 & ~((uint64_t)1 << (MW_CHUNK_SLICES - 1)))

/* Returns the slice at which the search in a chunk begins: the low bits of addresses are no
 * constants. */
static inline unsigned mw_harden_first_slice(const mw_chunk_t *chunk) {
	return (unsigned)(mw_harden_mix(chunk) >> 32) % MW_CHUNK_SLICES;
}
/* Maps a chunk at a random place, with its guards; NULL: no memory. */
void *mw_harden_map_chunk(void);
/* Protects the pages behind a large block, up to the end of its last slice. */
void mw_harden_guard_tail(const void *block);
/* Unprotects these pages, so that the block may grow.  False: the kernel refused. */
bool mw_harden_unguard_tail(const void *block);
/* Blocks from this size on have no access while they are free, and guard pages behind them.  The
 * two or three system calls for that cost 25 times a pair of malloc() and free() of half a MiB, in
 * a program that does nothing else. */
#define MW_HARDEN_CLOSED_BYTES ((size_t)1 << 20)
/* Removes access to the memory of a large or huge block that becomes free, so that a stale pointer
 * faults.  False: the kernel refused. */
bool mw_harden_close(void *start, size_t bytes);
/* Restores access to memory that is about to be used again.  False: the kernel refused. */
bool mw_harden_open(void *start, size_t bytes);
/* Called before a large block is freed.  True: access must be restored before the block is used
 * again. */
bool mw_harden_large_freed(mw_page_t *page);
/* Freed large blocks that wait before they are used again, under the chunk
 * lock.  mw_harden_large_wait() adds the page of one; mw_harden_large_waited() takes one out that
 * waited long enough (`all`: any), NULL: none is left.  Ends the program when a block was written
 * to meanwhile. */
void mw_harden_large_wait(mw_page_t *page);
mw_page_t *mw_harden_large_waited(bool all);
/* Protects the guard pages of a chunk whose slices were mapped again. */
void mw_harden_guard_chunk(void *chunk);

#else

/* Slice 0 is the chunk's metadata. */
#define MW_HARDEN_USABLE_SLICES (~(uint64_t)1)

static inline unsigned mw_harden_first_slice(const mw_chunk_t *chunk) {
	(void)chunk;
	return 0;
}

static inline void *mw_harden_map_chunk(void) {
	return mw_os_map_aligned(MW_CHUNK_BYTES, MW_CHUNK_BYTES);
}

static inline bool mw_harden_close(void *start, size_t bytes) {
	(void)start, (void)bytes;
	return false;
}

static inline bool mw_harden_open(void *start, size_t bytes) {
	(void)start, (void)bytes;
	return true;
}

static inline bool mw_harden_large_freed(mw_page_t *page) {
	(void)page;
	return false;
}

static inline void mw_harden_large_wait(mw_page_t *page) {
	(void)page;
}

static inline mw_page_t *mw_harden_large_waited(bool all) {
	(void)all;
	return NULL;
}

static inline void mw_harden_guard_chunk(void *chunk) {
	(void)chunk;
}

#endif

#endif
