/* SPDX-License-Identifier: MIT
 * harden_space.h -- the hardened library's chunks: where they lie, their guard pages and those of
 * large blocks, and freed large blocks that wait.
 * Layer: heap.  In the plain library nothing is guarded and nothing waits. */
#ifndef MW_HEAP_HARDEN_SPACE_H
#define MW_HEAP_HARDEN_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "os/memory/map.h"

#ifdef MW_HARDENED

/* Slice 0 is the chunk's metadata; the last one, but for its first page, a guard here. */
#define MW_HARDEN_USABLE_SLICES (~(uint64_t)1 & ~((uint64_t)1 << (MW_CHUNK_SLICES - 1)))

/* The slice from which on a chunk is used first: the low bits of addresses are no constants. */
static inline unsigned mw_harden_first_slice(const mw_chunk_t *chunk) {
	return (unsigned)(mw_harden_mix(chunk) >> 32) % MW_CHUNK_SLICES;
}
/* MW_CHUNK_BYTES, aligned to them, somewhere, its guards in place; NULL: no memory. */
void *mw_harden_map_chunk(void);
/* The pages behind a large block, up to the end of its last slice, fault when they are touched. */
void mw_harden_guard_tail(const void *block);
/* They can be used, so that the block may grow.  False: the kernel refused. */
bool mw_harden_unguard_tail(const void *block);
/* Blocks from this size on are without access while they are free, and have guard pages behind
 * them.  The two or three system calls that takes are 25 times a pair of malloc() and free() of
 * half a MiB, in a program that does nothing else. */
#define MW_HARDEN_CLOSED_BYTES ((size_t)1 << 20)
/* A large or huge block's memory becomes free: from now on a stale pointer to it faults.  False:
 * the kernel refused, and it does not. */
bool mw_harden_close(void *start, size_t bytes);
/* The memory is about to be used again.  False: the kernel refused. */
bool mw_harden_open(void *start, size_t bytes);
/* A large block is about to be freed.  True: it has to be opened before it is used again. */
bool mw_harden_large_freed(mw_page_t *page);
/* Large blocks that wait to be used again, under the chunk lock: the page of one that was freed is
 * added, and those that waited long enough (`all`: every one) are taken out, one a call; NULL: none
 * is left.  Ends the program when one was written to meanwhile. */
void mw_harden_large_wait(mw_page_t *page);
mw_page_t *mw_harden_large_waited(bool all);
/* Puts the guards into a chunk whose slices were mapped again. */
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
