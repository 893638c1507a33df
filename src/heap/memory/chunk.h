/* SPDX-License-Identifier: MIT
 * chunk.h -- hands out runs of slices, and gives free slices back to the kernel after a delay.
 * Layer: heap.  One lock (MW_RANK_CHUNKS), taken once for a page, not for a block.  The metadata of
 * a chunk stays mapped for the life of the process: a thread with a stale pointer reads valid
 * metadata.
 *
 * Door of heap/memory: memory below the pages.  Reading order: chunk and chunk_state.h, chunk_purge
 * (free slices go back to the kernel), chunk_space (unmaps the slices of free chunks), decay (when
 * free memory is purged), limit (the program's limits of memory), meta (the allocator's own
 * structures), background (whether a thread purges), harden_space (guard pages of the hardened
 * library).  Uses heap/layout and heap/misuse. */
#ifndef MW_HEAP_CHUNK_H
#define MW_HEAP_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/page.h"
#include "os/lock/lock.h"

/* Takes `count` slices in a row (1 .. 63), aligned to `align_slices` (a power of two).  Returns the
 * page of the first slice with `slice_count`, `zeroed` and the interior marks set, the rest
 * cleared, owner MW_OWNER_DIVERT.  NULL: no memory. */
mw_page_t *mw_chunk_take(unsigned count, unsigned align_slices);
/* Takes slices for a large block of `bytes`, which starts behind the first `lead_bytes` of them:
 * page->start.  The hardened library makes only the block accessible (heap/memory/harden_space.h).
 */
mw_page_t *mw_chunk_take_large(unsigned count, unsigned align_slices, size_t lead_bytes,
			       size_t bytes);
/* Takes a slice, and reserves free slices behind it for the caller's next pages: at most *more, and
 * only slices without memory.  *more becomes their number.  mw_slices_init_page() makes a reserved
 * slice a page, without the lock. */
mw_page_t *mw_chunk_take_more(unsigned *more);
/* Returns reserved slices of which no page was made. */
void mw_chunk_give_reserved(const mw_page_t *first, unsigned count);
/* Adds `extra` slices behind the page's last one, if they are free; false: they are not.  Called by
 * the thread that has the block. */
bool mw_chunk_extend(mw_page_t *page, unsigned extra);
/* Frees the page's slices.  The first page remembers `kind` (NONE or FREED).  Not for chunks of
 * arenas: mw_arena_or_chunk_give(). */
void mw_chunk_give(mw_page_t *page, mw_page_kind_t kind);
/* Frees the large blocks that wait in the hardened library.  False: none waits. */
bool mw_chunk_free_waiting(void);
/* Purges free slices that are due; `all`: every free slice.  Returns the bytes given to the kernel.
 */
size_t mw_chunk_purge(bool all);
/* Sets how long free slices keep their memory (0: they are purged at once), and whether much of it
 * may be purged before its time (heap/memory/decay.h). */
void mw_chunk_set_decay(uint64_t delay_ns, bool early);
uint64_t mw_chunk_decay_ns(void); /* takes no lock */
bool mw_chunk_purges_early(void); /* takes no lock */
/* Called before a part of the page, whose heap is the calling thread's, is purged.  A huge page
 * that the page lies in counts as small pages from now on, and stays so. */
MW_COLD void mw_chunk_split_huge(const mw_page_t *page);
/* Sets how long slices are muzzy after that delay: the kernel may take their memory when it needs
 * some, and gets it at the end of this time.  0, as at first: they are purged at once. */
MW_COLD void mw_chunk_set_muzzy_decay(uint64_t delay_ns);
/* Sets the bytes that are not purged before their time; 0: the default. */
void mw_chunk_set_keep_min_bytes(size_t bytes);
/* Unmaps slices 1 to 63 of each chunk that is wholly free.  Returns the bytes.  Slice 0, the
 * metadata, stays mapped for the life of the process, so that an old pointer into such a chunk
 * still leads to valid metadata: free slices.  The address map goes on calling the 4 MiB a chunk
 * until a huge block begins there (doc/adr/0006). */
MW_COLD size_t mw_chunk_unmap_free(void);
/* Time at which slices are due to be purged, by the coarse monotonic clock; UINT64_MAX: none are.
 */
uint64_t mw_chunk_next_purge_ns(void);

/* Returns the newest chunk; all_next leads to the older ones.  No chunk ever goes away. */
mw_chunk_t *mw_chunk_newest(void);

typedef struct mw_chunk_stats {
	size_t chunks, in_use_bytes, dirty_bytes, purged_bytes, page_takes;
	size_t purges, purge_calls; /* chunks purged, and system calls for them */
	size_t huge_pages_refused;  /* chunks for which the kernel refused huge pages */
	size_t muzzy_bytes;
	size_t muzzy_purges, muzzy_purge_calls, muzzy_purged_bytes; /* the same for muzzy slices */
	size_t huge_pages_purged; /* stretches of 2 MiB that lost memory by a purge */
} mw_chunk_stats_t;
MW_COLD void mw_chunk_stats(mw_chunk_stats_t *stats);
/* Bytes in slices that are taken; takes no lock. */
size_t mw_chunk_in_use_bytes(void);
/* Whether free slices hold memory that a page can use again; takes no lock. */
bool mw_chunk_keeps_memory(void);
/* Bytes in free slices that were not purged; takes no lock. */
size_t mw_chunk_dirty_bytes(void);

/* Ends the program when masks, lists and kinds of free slices disagree. */
MW_COLD void mw_chunk_check(void);

/* The lock of the chunks, for its statistics. */
mw_lock_t *mw_chunk_lock(void);
void mw_chunk_fork_prepare(void);
void mw_chunk_fork_release(bool in_child);

#endif
