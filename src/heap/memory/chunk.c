/* SPDX-License-Identifier: MIT
 * chunk.c -- runs of slices are taken and given back.  Chunks with free slices are in lists by the
 * number of these: the search finds the fullest chunk that fits, so that empty ones can be given
 * back. */
#include "heap/memory/chunk.h"

#include <stdatomic.h>

#include "base/check.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/slices.h"
#include "heap/memory/background.h"
#include "heap/memory/chunk_state.h"
#include "heap/memory/decay.h"
#include "heap/memory/harden_space.h"
#include "heap/memory/limit.h"
#include "os/file/proc.h"
#include "os/lock/lock.h"
#include "os/memory/huge_pages.h"
#include "os/memory/numa.h"

mw_chunks_t mw_chunks = {.decay = {.delay_ns = MW_DECAY_DEFAULT_NS, .early = true},
			 .next_purge_ns = UINT64_MAX};

/* A heap of fewer chunks gets no huge pages, as their unused ends would be a large part of it (why
 * 16 MiB: doc/adr/0038-huge-pages.md). */
#define HUGE_PAGES_FROM_CHUNK 4u
/* One chunk of so many gets none later either: it tells whether the program still touches what it
 * allocates. */
#define SMALL_PAGES_EACH 32u

static mw_os_huge_pages_use_t next_use(void) {
	size_t chunks = mw_chunks.chunk_count;
	if (MW_HARDEN_ON && chunks > 0)
		return MW_OS_HUGE_PAGES_UNKNOWN; /* slices without access divide the chunk */
	return chunks < HUGE_PAGES_FROM_CHUNK || chunks % SMALL_PAGES_EACH == 0 ||
			       mw_chunks_are_little_touched()
		       ? MW_OS_HUGE_PAGES_LITTLE
		       : MW_OS_HUGE_PAGES_ALL;
}

static mw_chunk_t *map_chunk(unsigned node) {
	/* Tested here: the function's code lies where a small process has no memory resident. */
	mw_chunk_t *chunk = MW_UNLIKELY(mw_chunks.unmapped_first != NULL) ? mw_chunk_remap() : NULL;
	bool pool = false, fresh = !chunk;
	if (fresh) {
		chunk = mw_harden_map_chunk();
		if (!chunk || (uintptr_t)chunk >> MW_ADDRESS_BITS)
			return NULL;
		/* Huge pages of the pool cannot hold guard pages. */
		bool lost = false;
		pool = !MW_HARDEN_ON && mw_os_huge_pages_from_pool(chunk, MW_CHUNK_BYTES, &lost);
		if (lost)
			return NULL;
	}
	/* Before the first store: no huge page comes where a small one is. */
	bool huge = pool || mw_os_huge_pages_advise(chunk, MW_CHUNK_BYTES, next_use());
	mw_os_numa_prefer(chunk, MW_CHUNK_BYTES, node);
	if (fresh) {
		chunk->all_next = mw_chunks.all;
		mw_chunks.all = chunk;
	}
	/* A chunk that is mapped again kept its slice 0, of small pages. */
	unsigned halves = !huge ? 0 : fresh ? 3 : 2;
	__atomic_store_n(&chunk->huge_halves, (uint8_t)halves, __ATOMIC_RELAXED);
	if (halves == 0)
		mw_chunks.newest_without_huge_pages = chunk;
	chunk->never_purged = pool;
	chunk->node = (uint8_t)node;
	chunk->free_mask = MW_HARDEN_USABLE_SLICES;
	chunk->decommitted_mask = MW_HARDEN_ON ? MW_HARDEN_USABLE_SLICES : 0;
	if (mw_chunks.chunk_count++ > 0)
		mw_background_heap_grew();
	__atomic_store_n(&mw_address_map[(uintptr_t)chunk >> MW_CHUNK_SHIFT], MW_MAP_CHUNK,
			 __ATOMIC_RELAXED);
	mw_chunks_list(chunk);
	return chunk;
}

/* Most chunks searched for slices that still have their memory: beyond these a fresh page costs
 * less than the search. */
#define DIRTY_CHUNKS_MAX 32

/* A request for slices in a row. */
typedef struct run {
	unsigned count, align_slices;
	unsigned node; /* NUMA node of their memory; MW_OS_NUMA_ANY: any */
	/* Bytes before a large block, and the block's own bytes; 0 for other runs. */
	size_t lead_bytes, block_bytes;
	unsigned more; /* most free slices behind the run that are reserved with it */
} run_t;

/* Returns the first slice of the lowest run that fits; in the hardened library the search begins at
 * a secret slice. */
static unsigned find_slices(const mw_chunk_t *chunk, uint64_t slices, const run_t *run) {
	if (MW_HARDEN_ON) {
		uint64_t above = ~(uint64_t)0 << mw_harden_first_slice(chunk);
		unsigned first = mw_slices_find(slices & above, run->count, run->align_slices);
		if (first != 64)
			return first;
	}
	return mw_slices_find(slices, run->count, run->align_slices);
}

/* Returns the fullest chunk of the node whose free or dirty slices hold the run. */
static mw_chunk_t *find_in(bool dirty, const run_t *run, unsigned *first) {
	unsigned looked_at = 0;
	for (uint64_t left = mw_chunks.non_empty & ~mw_slices_mask(0, run->count); left;
	     left &= left - 1) {
		mw_chunk_t *chunk = mw_chunks.by_free[__builtin_ctzll(left)];
		for (; chunk; chunk = chunk->next) {
			if (run->node != chunk->node && run->node != MW_OS_NUMA_ANY &&
			    chunk->node != MW_OS_NUMA_ANY)
				continue;
			*first = find_slices(chunk,
					     dirty ? chunk->dirty_mask | chunk->muzzy_mask
						   : chunk->free_mask,
					     run);
			if (*first != 64)
				return chunk;
			if (dirty && ++looked_at == DIRTY_CHUNKS_MAX)
				return NULL;
		}
	}
	return NULL;
}

/* Resident memory comes first, on whichever node it is. */
static mw_chunk_t *find_chunk(const run_t *run, unsigned *first) {
	bool kept = mw_chunks.purge_first || mw_chunks.muzzy_first;
	mw_chunk_t *chunk = kept ? find_in(true, run, first) : NULL;
	return chunk ? chunk : find_in(false, run, first);
}

static void take_run(mw_chunk_t *chunk, unsigned first, unsigned count) {
	uint64_t run = mw_slices_mask(first, count);
	/* Nearly always all slices of the run are dirty or none is; counting bits takes a call. */
	uint64_t mask = chunk->dirty_mask & run;
	int dirty = mask == run ? (int)count : mask == 0 ? 0 : __builtin_popcountll(mask);
	if (dirty)
		mw_chunks_count_dirty(-dirty);
	int muzzy = 0;
	if (MW_UNLIKELY(chunk->muzzy_mask != 0)) {
		muzzy = __builtin_popcountll(chunk->muzzy_mask & run);
		mw_chunks_count_muzzy(-muzzy);
		chunk->muzzy_mask &= ~run;
	}
	if (dirty)
		mw_decay_reused(&mw_chunks.decay, mw_chunk_dirty_bytes());
	mw_decay_missed(&mw_chunks.decay, (count - (unsigned)(dirty + muzzy)) * MW_SLICE_BYTES);
	mw_chunks_unlist(chunk);
	chunk->free_mask &= ~run;
	chunk->dirty_mask &= ~run;
	mw_chunks_list(chunk);
	atomic_fetch_add_explicit(&mw_chunks.slices_in_use, count, memory_order_relaxed);
}

/* Returns how many of the slices from `first` on, at most `most`, are free and have no memory. */
static unsigned count_clean(const mw_chunk_t *chunk, unsigned first, unsigned most) {
	uint64_t clean = chunk->free_mask & ~(chunk->dirty_mask | chunk->muzzy_mask);
	unsigned count = 0;
	while (count < most && first + count < MW_CHUNK_SLICES && clean >> (first + count) & 1)
		count++;
	return count;
}

/* wanted->more becomes the number of slices that were reserved. */
static mw_page_t *take_page(run_t *wanted) {
	run_t run = *wanted;
	unsigned count = run.count;
	bool guarded;
	mw_chunks_acquire();
	unsigned first = 0;
	mw_chunk_t *chunk = find_chunk(&run, &first);
	if (!chunk && !map_chunk(run.node)) {
		/* Freed huge blocks that are kept for reuse may hold the missing address space. */
		mw_chunks_release();
		mw_huge_purge(true);
		mw_chunks_acquire();
		if (!map_chunk(run.node))
			run.node = MW_OS_NUMA_ANY; /* memory of another node is better than none */
	}
	if (!chunk)
		chunk = find_chunk(&run, &first);
	if (!chunk ||
	    !mw_harden_open_run(chunk, first, count, run.lead_bytes, run.block_bytes, &guarded)) {
		mw_chunks_release();
		return NULL;
	}
	bool zeroed = ((chunk->dirty_mask | chunk->muzzy_mask) & mw_slices_mask(first, count)) == 0;
	/* Where memory of free slices is used again, the next page may use more of it. */
	wanted->more = zeroed ? count_clean(chunk, first + count, run.more) : 0;
	take_run(chunk, first, count + wanted->more);
	mw_chunks.page_takes += 1 + wanted->more;
	mw_page_t *page = mw_slices_init_page(chunk, first, count, zeroed);
	if (MW_HARDEN_ON && run.block_bytes > 0)
		page->is_guarded = guarded;
	page->start += run.lead_bytes;
	mw_chunks_release();
	return page;
}

static mw_page_t *take_within_limits(run_t *run) {
	MW_ASSERT(run->count >= 1 && run->count < MW_CHUNK_SLICES);
	mw_chunks_purge_if_due();
	size_t bytes = run->count * MW_SLICE_BYTES;
	bool counted;
	if (!mw_limit_begin(bytes, &counted))
		return NULL;
	mw_page_t *page = take_page(run);
	mw_limit_end(bytes, counted);
	return page;
}

mw_page_t *mw_chunk_take_large(unsigned count, unsigned align_slices, size_t lead_bytes,
			       size_t block_bytes) {
	return take_within_limits(&(run_t){.count = count,
					   .align_slices = align_slices,
					   .node = mw_os_numa_here(),
					   .lead_bytes = lead_bytes,
					   .block_bytes = block_bytes});
}

mw_page_t *mw_chunk_take(unsigned count, unsigned align_slices) {
	return mw_chunk_take_large(count, align_slices, 0, 0);
}

mw_page_t *mw_chunk_take_more(unsigned *more) {
	/* Reserved slices would count towards a limit. */
	run_t run = {.count = 1,
		     .align_slices = 1,
		     .node = mw_os_numa_here(),
		     .more = MW_HARDEN_ON || mw_limit_is_set() ? 0 : *more};
	mw_page_t *page = take_within_limits(&run);
	*more = page ? run.more : 0;
	return page;
}

MW_COLD void mw_chunk_give_reserved(const mw_page_t *first, unsigned count) {
	mw_chunk_t *chunk = mw_chunk_of(first);
	mw_chunks_acquire();
	mw_chunks_unlist(chunk);
	chunk->free_mask |= mw_slices_mask(mw_page_slice_index(first), count);
	mw_chunks_list(chunk);
	mw_chunks.page_takes -= count;
	atomic_fetch_sub_explicit(&mw_chunks.slices_in_use, count, memory_order_relaxed);
	mw_chunks_release();
}

MW_COLD bool mw_chunk_extend(mw_page_t *page, unsigned extra) {
	unsigned next = mw_page_slice_index(page) + page->slice_count;
	if (extra > MW_CHUNK_SLICES - next)
		return false;
	mw_chunk_t *chunk = mw_chunk_of(page);
	if (chunk->arena)
		return false;
	uint64_t run = mw_slices_mask(next, extra);
	size_t bytes = extra * MW_SLICE_BYTES;
	bool counted;
	if (!mw_limit_begin(bytes, &counted))
		return false;
	mw_chunks_acquire();
	bool guarded, free = (chunk->free_mask & run) == run &&
			     mw_harden_open_run(chunk, next, extra, 0, 0, &guarded);
	if (free) {
		take_run(chunk, next, extra);
		mw_slices_mark_interior(page, page->slice_count, page->slice_count + extra);
		page->slice_count = (uint8_t)(page->slice_count + extra);
	}
	mw_chunks_release();
	mw_limit_end(bytes, counted);
	return free;
}

/* Under the lock: the slices of a page that has ended can be taken again.  True: they are due
 * first. */
static bool put_back(const mw_page_t *page) {
	unsigned first = mw_page_slice_index(page), count = page->slice_count;
	mw_chunk_t *chunk = mw_chunk_of(page);
	mw_chunks_unlist(chunk);
	chunk->free_mask |= mw_slices_mask(first, count);
	chunk->dirty_mask |= mw_slices_mask(first, count);
	mw_chunks_list(chunk);
	mw_chunks_count_dirty((ptrdiff_t)count);
	return mw_chunks_purge_later(chunk);
}

bool mw_chunks_free_waiting(void) {
	bool any = false;
	for (mw_page_t *page; (page = mw_harden_large_waited(true)) != NULL; any = true)
		put_back(page);
	return any;
}

bool mw_chunk_free_waiting(void) {
	mw_chunks_acquire();
	bool any = mw_chunks_free_waiting();
	mw_chunks_release();
	return any;
}

/* Under the lock: put_back() for a large block of the hardened library, after other blocks. */
static bool put_back_later(mw_page_t *page) {
	if (page->is_guarded)
		mw_chunk_of(page)->decommitted_mask |=
			mw_slices_mask(mw_page_slice_index(page), page->slice_count);
	bool first_listed = false;
	mw_harden_large_wait(page);
	while ((page = mw_harden_large_waited(false)) != NULL)
		first_listed |= put_back(page);
	return first_listed;
}

void mw_chunk_give(mw_page_t *page, mw_page_kind_t kind) {
	unsigned count = page->slice_count;
	bool wait = MW_HARDEN_ON && kind == MW_PAGE_FREED;
	/* A leak check must not read the block once its memory is closed. */
	if (wait)
		page->kind = (uint8_t)kind;
	MW_HOLD(page);
	if (wait)
		mw_harden_large_freed(page);
	mw_chunks_acquire();
	mw_slices_end_page(page, kind);
	atomic_fetch_sub_explicit(&mw_chunks.slices_in_use, count, memory_order_relaxed);
	bool first_listed = wait ? put_back_later(page) : put_back(page);
	if (!mw_background_is_running())
		mw_chunks_purge_early();
	mw_chunks_release();
	if (first_listed)
		mw_background_notify();
	mw_chunks_purge_if_due();
}

void mw_chunk_stats(mw_chunk_stats_t *stats) {
	mw_chunks_acquire();
	*stats = (mw_chunk_stats_t){
		.chunks = mw_chunks.chunk_count,
		.in_use_bytes = mw_chunk_in_use_bytes(),
		.dirty_bytes = mw_chunk_dirty_bytes(),
		.purged_bytes = mw_chunks.purged_slices * MW_SLICE_BYTES,
		.page_takes = mw_chunks.page_takes,
		.purges = mw_chunks.purges,
		.purge_calls = mw_chunks.purge_calls,
		.huge_pages_purged = mw_chunks.huge_pages_purged,
		.huge_pages_refused = mw_os_huge_pages_refused(),
		.muzzy_bytes = atomic_load_explicit(&mw_chunks.muzzy_slices, memory_order_relaxed) *
			       MW_SLICE_BYTES,
		.muzzy_purges = mw_chunks.muzzy_purges,
		.muzzy_purge_calls = mw_chunks.muzzy_purge_calls,
		.muzzy_purged_bytes = mw_chunks.muzzy_purged_slices * MW_SLICE_BYTES,
	};
	mw_chunks_release();
}

mw_lock_t *mw_chunk_lock(void) {
	return &mw_chunks.lock;
}

mw_chunk_t *mw_chunk_newest(void) {
	mw_chunks_acquire();
	mw_chunk_t *newest = mw_chunks.all;
	mw_chunks_release();
	return newest;
}

size_t mw_chunk_in_use_bytes(void) {
	return atomic_load_explicit(&mw_chunks.slices_in_use, memory_order_relaxed) *
	       MW_SLICE_BYTES;
}

bool mw_chunk_keeps_memory(void) {
	return atomic_load_explicit(&mw_chunks.dirty_slices, memory_order_relaxed) +
		       atomic_load_explicit(&mw_chunks.muzzy_slices, memory_order_relaxed) !=
	       0;
}

size_t mw_chunk_dirty_bytes(void) {
	return atomic_load_explicit(&mw_chunks.dirty_slices, memory_order_relaxed) * MW_SLICE_BYTES;
}

static void check_chunk(const mw_chunk_t *chunk, unsigned listed_as) {
	if ((unsigned)__builtin_popcountll(chunk->free_mask) != listed_as ||
	    (chunk->free_mask & ~MW_HARDEN_USABLE_SLICES) ||
	    (chunk->dirty_mask & ~chunk->free_mask) ||
	    (chunk->muzzy_mask & (~chunk->free_mask | chunk->dirty_mask)))
		mw_fatal("heap check: chunk %p has free slices %lx, dirty %lx, in the list of %u",
			 (const void *)chunk, chunk->free_mask, chunk->dirty_mask, listed_as);
	for (uint64_t left = chunk->free_mask; left; left &= left - 1) {
		const mw_page_t *page = mw_chunk_page(chunk, (unsigned)__builtin_ctzll(left));
		if (page->kind != MW_PAGE_NONE && page->kind != MW_PAGE_FREED)
			mw_fatal("heap check: slice %u of chunk %p is free, but its page is not",
				 mw_page_slice_index(page), (const void *)chunk);
	}
}

void mw_chunk_check(void) {
	mw_chunks_acquire();
	for (unsigned n = 1; n < MW_CHUNK_SLICES; n++)
		for (mw_chunk_t *chunk = mw_chunks.by_free[n]; chunk; chunk = chunk->next)
			check_chunk(chunk, n);
	mw_chunks_release();
}

void mw_chunk_fork_prepare(void) {
	mw_lock_fork_acquire(&mw_chunks.lock);
	/* A thread that is purging does not exist in the child, and would leave its slices taken
	 * there for good. */
	for (unsigned turn = 0; mw_chunks.purging > 0; turn++) {
		mw_lock_fork_release(&mw_chunks.lock, false);
		mw_os_back_off(turn);
		mw_lock_fork_acquire(&mw_chunks.lock);
	}
}

void mw_chunk_fork_release(bool in_child) {
	mw_lock_fork_release(&mw_chunks.lock, in_child);
}
