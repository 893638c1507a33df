/* SPDX-License-Identifier: MIT
 * chunk_state.h -- the lists and counts of all chunks, and the lock they are under.
 * Layer: heap.  For chunk.c, chunk_purge.c and chunk_space.c only; others use
 * chunk.h. */
#ifndef MW_HEAP_CHUNK_STATE_H
#define MW_HEAP_CHUNK_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/page.h"
#include "heap/memory/decay.h"
#include "os/lock/lock.h"
#include "os/platform/arch.h"

typedef struct mw_chunks {
	/* Each take of a page writes the fields from here to `page_takes`.  They lie in two
	 * neighbouring cache lines, because threads on other processors take pages, too. */
	_Alignas(MW_CACHE_LINE_BYTES) uint64_t non_empty; /* bit n: by_free[n] is not empty */
	_Atomic size_t slices_in_use;
	mw_lock_t lock;
	size_t page_takes;
	/* A cache line that a take reads, and writes only where free slices hold memory. */
	_Alignas(MW_CACHE_LINE_BYTES) _Atomic size_t dirty_slices, muzzy_slices;
	/* Chunks with dirty slices, in the order in which they are due. */
	mw_chunk_t *purge_first;
	/* Chunks with muzzy slices, likewise. */
	mw_chunk_t *muzzy_first;
	mw_chunk_t *purge_last, *muzzy_last;
	_Atomic uint64_t next_purge_ns; /* earliest of both lists */
	/* [n]: chunks with n free slices; [0] is not used. */
	_Alignas(MW_CACHE_LINE_BYTES) mw_chunk_t *by_free[MW_CHUNK_SLICES];
	mw_chunk_t *all;
	/* Chunks of which only slice 0 is mapped, linked by `next`. */
	mw_chunk_t *unmapped_first, *unmapped_last;
	uint64_t muzzy_delay_ns;
	mw_decay_t decay;
	unsigned purging;   /* threads that are giving slices to the kernel */
	size_t chunk_count; /* wholly mapped ones */
	size_t unmapped_count, purged_slices;
	size_t purges, purge_calls; /* chunks purged, and system calls for them */
	size_t muzzy_purges, muzzy_purge_calls, muzzy_purged_slices;
	size_t huge_pages_purged; /* stretches of 2 MiB that lost some memory */
	const mw_chunk_t *newest_without_huge_pages;
	bool little_touched; /* see mw_chunks_are_little_touched() */
} mw_chunks_t;
extern __attribute__((visibility("hidden"))) mw_chunks_t mw_chunks;

static inline void mw_chunks_acquire(void) {
	mw_lock_acquire(&mw_chunks.lock, MW_RANK_CHUNKS);
}

static inline void mw_chunks_release(void) {
	mw_lock_release(&mw_chunks.lock, MW_RANK_CHUNKS);
}

/* Under the lock, as all functions below.  Puts the chunk into the list for the number of its free
 * slices. */
static inline void mw_chunks_list(mw_chunk_t *chunk) {
	unsigned n = (unsigned)__builtin_popcountll(chunk->free_mask);
	chunk->listed_under = (uint8_t)n;
	if (n == 0)
		return;
	chunk->prev = NULL;
	chunk->next = mw_chunks.by_free[n];
	if (chunk->next)
		chunk->next->prev = chunk;
	mw_chunks.by_free[n] = chunk;
	mw_chunks.non_empty |= (uint64_t)1 << n;
}

static inline void mw_chunks_unlist(mw_chunk_t *chunk) {
	unsigned n = chunk->listed_under;
	if (n == 0)
		return;
	if (chunk->next)
		chunk->next->prev = chunk->prev;
	if (chunk->prev)
		chunk->prev->next = chunk->next;
	else
		mw_chunks.by_free[n] = chunk->next;
	if (!mw_chunks.by_free[n])
		mw_chunks.non_empty &= ~((uint64_t)1 << n);
}

/* Maps the slices of an unmapped chunk again, if no other memory has come to lie there; NULL: none.
 * The chunk is in no list of free slices yet. */
MW_COLD mw_chunk_t *mw_chunk_remap(void);

/* Returns whether less than half of the memory in blocks was touched, as far as the kernel's table
 * tells of the newest chunk that has no huge pages (in a huge page, all of it is resident after the
 * first touch).  Where nothing can be read or that chunk is mostly free, the answer is that of the
 * call before; at first it is no.  Reads /proc/self/pagemap, which takes some 10 us.  errno kept.
 */
MW_COLD bool mw_chunks_are_little_touched(void);

/* Puts the chunk into the list of those to be purged.  True: it is due first. */
bool mw_chunks_purge_later(mw_chunk_t *chunk);
/* The huge pages that lose a part with these slices count as small pages from now on: returns a bit
 * for each. */
unsigned mw_chunks_split_halves(mw_chunk_t *chunk, uint64_t slices);
/* Without the lock: keeps the kernel from joining those again. */
MW_COLD void mw_chunks_keep_split(mw_chunk_t *chunk, unsigned split);
/* Purges the memory that the program does not seem to need, in the order in which it is due.
 * Releases the lock meanwhile. */
void mw_chunks_purge_early(void);
/* Frees the large blocks of the hardened library that wait.  True: there were some. */
bool mw_chunks_free_waiting(void);
/* Without the lock: purges if a purge is due and no background thread does. */
void mw_chunks_purge_if_due(void);

static inline void mw_chunks_count_dirty(ptrdiff_t slices) {
	atomic_fetch_add_explicit(&mw_chunks.dirty_slices, (size_t)slices, memory_order_relaxed);
}

static inline void mw_chunks_count_muzzy(ptrdiff_t slices) {
	atomic_fetch_add_explicit(&mw_chunks.muzzy_slices, (size_t)slices, memory_order_relaxed);
}

#endif
