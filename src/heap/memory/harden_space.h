/* SPDX-License-Identifier: MIT
 * harden_space.h -- the hardened library's chunks: their places, their guard pages and those of
 * large blocks, and freed large blocks that wait.
 * Layer: heap.  The plain library guards no page and lets no block wait. */
#ifndef MW_HEAP_HARDEN_SPACE_H
#define MW_HEAP_HARDEN_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "heap/layout/harden_block.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
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
/* Slices are closed, without access, until they are taken for the first time.  A small page's
 * slices are opened as a whole and stay open.  Of a large block's slices only the block is open,
 * between pages that stay closed, and the block is closed when it is freed: one system call for
 * malloc() and one for free() if the slices were closed before.  Beyond the budget
 * (mw_harden_may_close()) a large block's slices are opened as a whole and stay open.
 *
 * Bytes before a large block in its first slice: the page before the block stays closed.  The page
 * before that one may be open, see mw_harden_open_run().  0: the block's alignment leaves no room.
 */
static inline size_t mw_harden_lead_bytes(size_t align) {
	size_t bytes = 2 * mw_os_page_bytes();
	return align <= mw_os_page_bytes() && bytes < MW_SLICE_BYTES ? bytes : 0;
}
/* Bytes behind a large block that stay closed, at least. */
#define MW_HARDEN_TAIL_BYTES mw_os_page_bytes()
/* Returns the usable bytes of a large block for a request of mw_harden_room() bytes.  It has no
 * seal: its page knows what was requested. */
static inline size_t mw_harden_large_bytes(size_t room) {
	size_t bytes = mw_harden_requested(room);
	if (bytes <= MW_SMALL_MAX_BYTES)
		bytes = MW_SMALL_MAX_BYTES + 1;
	return mw_os_whole_pages(bytes);
}
/* Large and huge blocks that are closed while they are free cost two system calls each, which take
 * time for each kernel page.  So the bytes that may be closed are limited: what is too much is not
 * closed, as in the plain library.  All bytes 0: nothing was closed yet.  The holder of the lock of
 * the memory concerned calls. */
typedef struct mw_harden_budget {
	uint64_t spent_bytes; /* closed, less what time has given back; at `at_ns` */
	uint64_t at_ns;
} mw_harden_budget_t;
/* Returns whether a block of so many bytes may be closed when it is freed, and counts it if so.
 * Always true if blocks are filled as a whole. */
bool mw_harden_may_close(mw_harden_budget_t *budget, size_t bytes, uint64_t now_ns);
/* Under the chunk lock: makes a run of slices that is being taken accessible, or of a large block
 * (bytes > 0) `bytes` of them behind the first `lead_bytes`.  *guarded: whether the rest is closed;
 * no, if the budget is spent or the kernel refused.  False: the kernel refused. */
bool mw_harden_open_run(mw_chunk_t *chunk, unsigned first, unsigned count, size_t lead_bytes,
			size_t bytes, bool *guarded);
/* Opens what lies behind a guarded block in its slices, so that the block may grow.  False: the
 * kernel refused. */
bool mw_harden_unguard_tail(const mw_page_t *page);
/* Closes it again. */
void mw_harden_guard_tail(const mw_page_t *page);
/* Removes access to the memory of a large or huge block that becomes free, so that a stale pointer
 * faults.  False: the kernel refused. */
bool mw_harden_close(void *start, size_t bytes);
/* Restores access to memory that is about to be used again.  False: the kernel refused. */
bool mw_harden_open(void *start, size_t bytes);
/* Called before a large block is freed.  Closes a guarded block, and fills the front of another. */
void mw_harden_large_freed(mw_page_t *page);
/* Freed large blocks that wait before they are used again, under the chunk
 * lock.  mw_harden_large_wait() adds the page of one; mw_harden_large_waited() takes one out that
 * waited long enough (`all`: any), NULL: none is left.  Ends the program when a block was written
 * to meanwhile. */
void mw_harden_large_wait(mw_page_t *page);
mw_page_t *mw_harden_large_waited(bool all);
/* Closes all slices of a chunk that was mapped, or mapped again, but the metadata. */
void mw_harden_guard_chunk(void *chunk);

#else

/* Slice 0 is the chunk's metadata. */
#define MW_HARDEN_USABLE_SLICES (~(uint64_t)1)

typedef struct mw_harden_budget {
	char unused;
} mw_harden_budget_t;

static inline bool mw_harden_may_close(mw_harden_budget_t *budget, size_t bytes, uint64_t now_ns) {
	(void)budget, (void)bytes, (void)now_ns;
	return false;
}

static inline unsigned mw_harden_first_slice(const mw_chunk_t *chunk) {
	(void)chunk;
	return 0;
}

static inline size_t mw_harden_lead_bytes(size_t align) {
	(void)align;
	return 0;
}

#define MW_HARDEN_TAIL_BYTES ((size_t)0)

static inline size_t mw_harden_large_bytes(size_t room) {
	return mw_round_up(room, 4096);
}

static inline bool mw_harden_open_run(mw_chunk_t *chunk, unsigned first, unsigned count,
				      size_t lead_bytes, size_t bytes, bool *guarded) {
	(void)chunk, (void)first, (void)count, (void)lead_bytes, (void)bytes;
	*guarded = false;
	return true;
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

static inline bool mw_harden_unguard_tail(const mw_page_t *page) {
	(void)page;
	return true;
}

static inline void mw_harden_guard_tail(const mw_page_t *page) {
	(void)page;
}

static inline void mw_harden_large_freed(mw_page_t *page) {
	(void)page;
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
