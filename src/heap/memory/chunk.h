/* SPDX-License-Identifier: MIT
 * chunk.h -- hands out runs of slices, and gives free ones back to the kernel after a delay.
 * Layer: heap.  One lock (MW_RANK_CHUNKS), taken once for a page, not for a block.  The metadata of
 * a chunk stays mapped for the life of the process: whoever holds a stale pointer reads valid
 * metadata.  Its slices may be unmapped while all are free: heap/memory/chunk_space.h.
 *
 * Door of heap/memory: memory below the pages.  Reading order: chunk and chunk_state.h, chunk_space
 * (address space of free chunks), decay (when free memory is purged), holes (purged kernel pages
 * inside used pages), meta (metadata), limit (the program's limits of memory), background (the
 * thread that purges). */
#ifndef MW_HEAP_CHUNK_H
#define MW_HEAP_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/page.h"
#include "heap/layout/size_class.h"
#include "os/lock/lock.h"

/* `count` slices in a row (1 .. 63), aligned to `align_slices` (a power of two).  The page of the
 * first is returned with `slice_count`, `zeroed` and the interior marks set, the rest cleared,
 * owner MW_OWNER_DIVERT.  NULL: no memory. */
mw_page_t *mw_chunk_take(unsigned count, unsigned align_slices);
/* The page gets `extra` slices behind its last one, if they are free.  The owner of the block
 * calls. */
bool mw_chunk_extend(mw_page_t *page, unsigned extra);
/* The page's slices become free; `kind` says what the first remembers (NONE or FREED). */
void mw_chunk_give(mw_page_t *page, mw_page_kind_t kind);
/* The large blocks that wait in the hardened library become free.  False: there is none. */
bool mw_chunk_free_waiting(void);
/* Purges what is due; `all`: what is free, due or not.  Returns the bytes given to the kernel. */
size_t mw_chunk_purge(bool all);
/* How long free slices keep their memory (0: purge at once), and whether much of it may go before
 * its time: see heap/memory/decay.h. */
void mw_chunk_set_decay(uint64_t delay_ns, bool early);
uint64_t mw_chunk_decay_ns(void); /* no lock */
/* How long they are muzzy after that: the kernel may take the memory when it needs some, and gets
 * it for good when the time is up.  0, as at first: they are purged at once. */
MW_COLD void mw_chunk_set_muzzy_decay(uint64_t delay_ns);
/* Less than this is not purged before its time; 0: the standard. */
void mw_chunk_set_keep_min_bytes(size_t bytes);
/* When something is due to be purged, by the coarse monotonic clock; UINT64_MAX: nothing is. */
uint64_t mw_chunk_next_purge_ns(void);

/* Sums over pages, seen without stopping anybody: exact in a quiet process.  Blocks in the list
 * heads of threads count as live. */
typedef struct mw_chunk_totals {
	size_t live_bytes;
	size_t free_blocks[MW_CLASS_COUNT]; /* of pages that hold live ones, too */
	size_t free_slices;
} mw_chunk_totals_t;
MW_COLD void mw_chunk_totals(mw_chunk_totals_t *totals);
size_t mw_chunk_live_bytes(void);

/* The newest chunk; all_next leads to the older ones, none of which ever goes away. */
mw_chunk_t *mw_chunk_newest(void);

typedef struct mw_chunk_stats {
	size_t chunks, in_use_bytes, dirty_bytes, purged_bytes, page_takes;
	size_t purges, purge_calls; /* of a chunk's slices, and system calls for them */
	size_t huge_pages_refused;  /* chunks that the kernel was asked to make of huge pages */
	size_t muzzy_bytes;
	size_t muzzy_purges, muzzy_purge_calls, muzzy_purged_bytes; /* likewise, of muzzy ones */
	size_t huge_pages_purged; /* stretches of 2 MiB that lost memory by them */
} mw_chunk_stats_t;
MW_COLD void mw_chunk_stats(mw_chunk_stats_t *stats);
/* Bytes in slices that are taken; no lock. */
size_t mw_chunk_in_use_bytes(void);
/* Bytes in free slices that were not purged; no lock. */
size_t mw_chunk_dirty_bytes(void);

/* Ends the program when masks, lists and kinds of free slices disagree. */
MW_COLD void mw_chunk_check(void);

/* For its statistics, here and in the other modules. */
mw_lock_t *mw_chunk_lock(void);
void mw_chunk_fork_prepare(void);
void mw_chunk_fork_release(bool in_child);

#endif
