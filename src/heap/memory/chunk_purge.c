/* SPDX-License-Identifier: MIT
 * chunk_purge.c -- free slices go back to the kernel: dirty ones after a delay or when there are
 * more than the program seems to need, for good or first to muzzy ones, whose memory the kernel
 * takes when it wants to. */
#include <stdatomic.h>

#include "heap/layout/page.h"
#include "heap/layout/slices.h"
#include "heap/memory/background.h"
#include "heap/memory/chunk.h"
#include "heap/memory/chunk_state.h"
#include "heap/memory/decay.h"
#include "heap/memory/limit.h"
#include "os/memory/huge_pages.h"
#include "os/memory/map.h"
#include "os/time/clock.h"

/* Under the lock.  True: slices are due earlier than any were before. */
static MW_NOINLINE bool set_next_purge(void) {
	uint64_t next_ns = UINT64_MAX;
	if (mw_chunks.purge_first)
		next_ns = mw_chunks.purge_first->purge_due_ns;
	if (mw_chunks.muzzy_first && mw_chunks.muzzy_first->muzzy_due_ns < next_ns)
		next_ns = mw_chunks.muzzy_first->muzzy_due_ns;
	return next_ns <
	       atomic_exchange_explicit(&mw_chunks.next_purge_ns, next_ns, memory_order_relaxed);
}

bool mw_chunks_purge_later(mw_chunk_t *chunk) {
	if (chunk->purge_listed || chunk->never_purged)
		return false;
	chunk->purge_listed = true;
	chunk->purge_next = NULL;
	chunk->purge_due_ns = mw_os_monotonic_coarse_ns() + mw_chunks.decay.delay_ns;
	if (mw_chunks.purge_first)
		mw_chunks.purge_last->purge_next = chunk;
	else
		mw_chunks.purge_first = chunk;
	mw_chunks.purge_last = chunk;
	return set_next_purge();
}

static uint64_t half_mask(unsigned half) {
	return mw_slices_mask(half * MW_HUGE_PAGE_SLICES, MW_HUGE_PAGE_SLICES);
}

unsigned mw_chunks_split_halves(mw_chunk_t *chunk, uint64_t slices) {
	unsigned split = 0;
	for (unsigned half = 0; half < 2; half++) {
		uint64_t mask = half_mask(half);
		if ((slices & mask) != 0 && (slices & mask) != mask)
			split |= 1u << half;
	}
	split &= chunk->huge_halves;
	/* Relaxed: see mw_page_is_in_huge_page(). */
	__atomic_store_n(&chunk->huge_halves, (uint8_t)(chunk->huge_halves & ~split),
			 __ATOMIC_RELAXED);
	return split;
}

MW_COLD void mw_chunks_keep_split(mw_chunk_t *chunk, unsigned split) {
	for (unsigned half = 0; half < 2; half++)
		if (split >> half & 1)
			mw_os_huge_pages_avoid((char *)chunk + half * MW_OS_HUGE_PAGE_BYTES,
					       MW_OS_HUGE_PAGE_BYTES);
}

/* Purges runs of slices that count as taken meanwhile.  Returns the slices that the kernel took. */
static uint64_t purge_runs(mw_chunk_t *chunk, uint64_t slices, bool lazily, size_t *calls) {
	uint64_t purged = 0;
	while (slices) {
		unsigned count, first = mw_slices_first_run(slices, &count);
		uint64_t run = mw_slices_mask(first, count);
		char *base = (char *)chunk + (size_t)first * MW_SLICE_BYTES;
		size_t bytes = (size_t)count * MW_SLICE_BYTES;
		if (lazily ? mw_os_purge_lazily(base, bytes) : mw_os_purge(base, bytes))
			purged |= run;
		slices &= ~run;
		++*calls;
	}
	return purged;
}

/* Under the lock, which it releases meanwhile: the kernel may take long, and other threads go on
 * allocating.  The slices count as taken for that time. */
static MW_COLD uint64_t purge_slices(mw_chunk_t *chunk, uint64_t slices, bool lazily,
				     size_t *calls) {
	mw_chunks_unlist(chunk);
	chunk->free_mask &= ~slices;
	mw_chunks_list(chunk);
	unsigned split = chunk->huge_halves ? mw_chunks_split_halves(chunk, slices) : 0;
	mw_chunks.purging++;
	mw_chunks_release();
	size_t own_calls = 0;
	if (split)
		mw_chunks_keep_split(chunk, split);
	uint64_t purged = purge_runs(chunk, slices, lazily, &own_calls);
	mw_chunks_acquire();
	mw_chunks.purging--;
	*calls += own_calls;
	mw_chunks_unlist(chunk);
	chunk->free_mask |= slices;
	mw_chunks_list(chunk);
	return purged;
}

/* Why slices are purged. */
typedef enum reason {
	EARLY, /* there are more than the program seems to need */
	AGED,  /* their time has come */
	ALL,   /* the program or the user wants all memory back */
} reason_t;

/* A huge page that is purged in part becomes small ones, and the program's blocks in the rest need
 * more page faults and translations from then on.  Early it loses its free slices when they are
 * half of it, at the end of the delay when they are a quarter; fewer stay, and are the first that
 * are taken again. */
#define EARLY_SLICES_MIN (MW_HUGE_PAGE_SLICES / 2)
#define AGED_SLICES_MIN (MW_HUGE_PAGE_SLICES / 4)
/* Most chunks passed over, early, for one with slices to purge. */
#define PASSED_MAX 32

/* Under the lock: the chunk's slices that are to be purged now. */
static uint64_t slices_to_purge(const mw_chunk_t *chunk, reason_t reason) {
	unsigned least = reason == EARLY ? EARLY_SLICES_MIN : reason == AGED ? AGED_SLICES_MIN : 1;
	uint64_t slices = chunk->dirty_mask;
	for (unsigned half = 0; half < 2; half++) {
		uint64_t mask = half_mask(half), free = chunk->free_mask & mask;
		if (!(chunk->huge_halves >> half & 1) || !(chunk->dirty_mask & mask))
			continue;
		/* In a huge page also slices that were never taken have memory. */
		if ((unsigned)__builtin_popcountll(free) >= least)
			slices |= free;
		else
			slices &= ~mask;
	}
	return slices;
}

/* Under the lock: a chunk with slices to purge for this reason, and those slices; NULL: none.  The
 * chunk leaves the purge list, unless slices stay dirty in it that are not due.  Aged chunks whose
 * slices stay in huge pages leave it, too, until another of their slices falls free.  Sets the time
 * of the next purge. */
static mw_chunk_t *pick(reason_t reason, uint64_t now_ns, uint64_t *slices) {
	mw_chunk_t *chunk = mw_chunks.purge_first, *before = NULL;
	for (unsigned passed = 0; chunk && chunk->purge_due_ns <= now_ns; passed++) {
		mw_chunk_t *next = chunk->purge_next;
		*slices = slices_to_purge(chunk, reason);
		bool stays = reason == EARLY && (chunk->dirty_mask & ~*slices) != 0;
		if (stays) {
			before = chunk;
		} else {
			if (before)
				before->purge_next = next;
			else
				mw_chunks.purge_first = next;
			if (!next)
				mw_chunks.purge_last = before;
			chunk->purge_listed = false;
		}
		if (*slices || (reason == EARLY && passed == PASSED_MAX))
			break;
		chunk = next;
	}
	set_next_purge();
	return chunk && chunk->purge_due_ns <= now_ns && *slices ? chunk : NULL;
}

/* ---- muzzy slices, under the lock ---- */

static MW_COLD void make_muzzy(mw_chunk_t *chunk, uint64_t slices) {
	chunk->muzzy_mask |= slices;
	mw_chunks_count_muzzy(__builtin_popcountll(slices));
	if (chunk->muzzy_listed || !slices)
		return;
	chunk->muzzy_listed = true;
	chunk->muzzy_next = NULL;
	chunk->muzzy_due_ns = mw_os_monotonic_coarse_ns() + mw_chunks.muzzy_delay_ns;
	if (mw_chunks.muzzy_first)
		mw_chunks.muzzy_last->muzzy_next = chunk;
	else
		mw_chunks.muzzy_first = chunk;
	mw_chunks.muzzy_last = chunk;
	set_next_purge();
}

/* Under the lock, which it releases meanwhile. */
static MW_COLD size_t purge_muzzy(uint64_t now_ns) {
	size_t total = 0;
	for (size_t turns = mw_chunks.chunk_count; turns > 0; turns--) {
		mw_chunk_t *chunk = mw_chunks.muzzy_first;
		if (!chunk || chunk->muzzy_due_ns > now_ns)
			break;
		mw_chunks.muzzy_first = chunk->muzzy_next;
		chunk->muzzy_listed = false;
		set_next_purge();
		uint64_t muzzy = chunk->muzzy_mask;
		chunk->muzzy_mask = 0;
		uint64_t purged = purge_slices(chunk, muzzy, false, &mw_chunks.muzzy_purge_calls);
		size_t slices = (size_t)__builtin_popcountll(purged);
		/* Slices that the kernel refused stay muzzy. */
		chunk->muzzy_mask |= muzzy & ~purged;
		mw_chunks_count_muzzy(-(ptrdiff_t)slices);
		mw_chunks.muzzy_purges += slices > 0; /* or they are all in use again */
		mw_chunks.muzzy_purged_slices += slices;
		total += slices * MW_SLICE_BYTES;
	}
	return total;
}

void mw_chunk_set_muzzy_decay(uint64_t delay_ns) {
	mw_chunks_acquire();
	mw_chunks.muzzy_delay_ns = delay_ns;
	mw_chunks_release();
}

/* Returns how many of a chunk's two stretches of 2 MiB have one of the slices. */
static unsigned count_halves(uint64_t slices) {
	return (slices & half_mask(0) ? 1u : 0) + (slices & half_mask(1) ? 1u : 0);
}

/* Under the lock, which it releases meanwhile: purges chunks until `wanted_bytes` went, for good or
 * to muzzy slices.  Returns the bytes that the kernel took. */
static MW_COLD size_t purge_for(reason_t reason, uint64_t now_ns, size_t wanted_bytes) {
	size_t total = 0;
	uint64_t wanted = 0;
	/* Bounded by the present number of chunks: those that the kernel refuses are not tried
	 * again. */
	for (size_t turns = mw_chunks.chunk_count; turns > 0 && total < wanted_bytes; turns--) {
		mw_chunk_t *chunk = pick(reason, now_ns, &wanted);
		if (!chunk)
			break;
		uint64_t dirty = chunk->dirty_mask & wanted;
		chunk->dirty_mask &= ~dirty;
		mw_chunks_count_dirty(-__builtin_popcountll(dirty));
		bool lazily = reason != ALL && mw_chunks.muzzy_delay_ns != 0;
		uint64_t purged = purge_slices(chunk, wanted, lazily, &mw_chunks.purge_calls);
		mw_chunks.purges += purged != 0; /* or they are all in use again */
		mw_chunks.huge_pages_purged += count_halves(purged);
		chunk->dirty_mask |= dirty & ~purged;
		mw_chunks_count_dirty(__builtin_popcountll(dirty & ~purged));
		if (MW_UNLIKELY(lazily))
			make_muzzy(chunk, purged);
		size_t slices = (size_t)__builtin_popcountll(purged & dirty);
		mw_chunks.purged_slices += slices;
		total += slices * MW_SLICE_BYTES;
	}
	return total;
}

void mw_chunks_purge_if_due(void) {
	if (mw_background_is_running())
		return;
	/* Relaxed: a purge a moment later does as well. */
	uint64_t due = atomic_load_explicit(&mw_chunks.next_purge_ns, memory_order_relaxed);
	if (due != UINT64_MAX && mw_os_monotonic_coarse_ns() >= due)
		mw_chunk_purge(false);
}

MW_COLD size_t mw_chunk_purge(bool all) {
	uint64_t now_ns = all ? UINT64_MAX : mw_os_monotonic_coarse_ns();
	mw_chunks_acquire();
	if (all) {
		mw_chunks_free_waiting();
		/* Some are in no list: see pick(). */
		for (mw_chunk_t *chunk = mw_chunks.all; chunk; chunk = chunk->all_next)
			if (chunk->dirty_mask)
				mw_chunks_purge_later(chunk);
	}
	size_t total = purge_for(all ? ALL : AGED, now_ns, SIZE_MAX);
	if (!all)
		mw_decay_went_late(&mw_chunks.decay, total);
	if (MW_UNLIKELY(mw_chunks.muzzy_first != NULL))
		total += purge_muzzy(now_ns);
	mw_chunks_release();
	return total;
}

void mw_chunks_purge_early(void) {
	size_t in_use_bytes = mw_chunk_in_use_bytes() + mw_huge_live_bytes();
	size_t excess_bytes = mw_decay_excess_bytes(&mw_chunks.decay, mw_chunk_dirty_bytes(),
						    in_use_bytes / MW_DECAY_KEEP_SHARE);
	if (excess_bytes == 0)
		return;
	size_t total = purge_for(EARLY, UINT64_MAX, excess_bytes);
	mw_decay_went_early(&mw_chunks.decay, total, mw_os_monotonic_coarse_ns());
	if (total < excess_bytes)
		mw_decay_stayed(&mw_chunks.decay, mw_chunk_dirty_bytes());
}

void mw_chunk_set_decay(uint64_t delay_ns, bool early) {
	mw_chunks_acquire();
	/* Relaxed: other functions read both without the lock. */
	__atomic_store_n(&mw_chunks.decay.delay_ns, delay_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&mw_chunks.decay.early, early, __ATOMIC_RELAXED);
	mw_chunks_release();
}

uint64_t mw_chunk_decay_ns(void) {
	return __atomic_load_n(&mw_chunks.decay.delay_ns, __ATOMIC_RELAXED);
}

void mw_chunk_set_keep_min_bytes(size_t bytes) {
	mw_chunks_acquire();
	mw_chunks.decay.keep_min_bytes = bytes;
	mw_chunks_release();
}

uint64_t mw_chunk_next_purge_ns(void) {
	return atomic_load_explicit(&mw_chunks.next_purge_ns, memory_order_relaxed);
}
