/* SPDX-License-Identifier: MIT
 * heap.h -- the state of one thread: its heap, and what the fast paths touch.
 * Layer: heap.  A heap belongs to the thread that has it: other threads read only the fields that
 * say so.
 *
 * Door of heap/local: what a thread owns.  Reading order: heap.h, batch.h (blocks that the thread
 * freed and that belong to pages of other threads), tcache (limits of the thread's tcache lists),
 * heap_page (lists of one page), inherited (lists that an ended thread left), holes (kernel pages
 * without a live block), counts (bytes that the thread allocated and freed), harden_lists (order of
 * lists in the hardened library). Uses heap/layout, heap/misuse and heap/memory. */
#ifndef MW_HEAP_HEAP_H
#define MW_HEAP_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/record.h"
#include "heap/layout/size_class.h"
#include "heap/local/batch.h"
#include "heap/local/harden_lists.h"
#include "heap/memory/decay.h"

/* The thread's last sample, and a copy of every word that a later allocation changes. */
typedef struct mw_last_sample {
	mw_record_id_t record; /* 0: none */
	uint32_t beyond_small;
	bool none_listed; /* copy of heap->none_listed; if true, the fields below are not set */
	uint32_t tcache_changes;
	void *tcache_tiny[MW_TINY_CLASSES];
	uint64_t until_sample[MW_ABOVE_TINY_CLASSES];
} mw_last_sample_t;

/* A heap whose thread ended and that the next thread reuses: heap/thread/cached_heap.h. */
typedef struct mw_cached_heap {
	bool waits;    /* the heap is in the list of cached heaps */
	unsigned node; /* NUMA node on which its thread ended */
	size_t bytes;  /* bytes that blocks of its pages ever lay in */
	uint64_t since_ns;
	mw_list_t
		tcache[MW_ABOVE_TINY_CLASSES]; /* the thread's; empty while the heap has a thread */
} mw_cached_heap_t;

/* One for each tiny class: what the heap's former thread left of its tcache list
 * (heap/local/inherited.h). */
typedef struct mw_inherited {
	void *first; /* NULL: nothing is left */
	/* Set unless first is NULL.  end: last block of the present tcache list.  until_sample: the
	 * class's mw_heap.until_sample_tiny, which is 0 meanwhile. */
	void *end;
	uint64_t until_sample;
} mw_inherited_t;

/* Counts of the slow paths since the heap was made, for all threads that had the heap. */
typedef struct mw_heap_counts {
	uint64_t given[MW_CLASS_COUNT];     /* blocks that refills put into tcache lists */
	uint64_t fills[MW_CLASS_COUNT];     /* refills */
	uint64_t flushes[MW_CLASS_COUNT];   /* tcache lists emptied into pages */
	uint64_t pages[MW_CLASS_COUNT];     /* pages made */
	uint64_t reclaimed[MW_CLASS_COUNT]; /* pages taken over that another heap had last */
	/* Classes above tiny: objects that the countdowns started with.  The blocks made are
	 * objects[c] less mw_thread.until_sample[c]. */
	uint64_t objects[MW_ABOVE_TINY_CLASSES];
	uint64_t sampled_bytes, sampled_freed_bytes; /* sampled blocks of small classes */
	uint64_t large, large_freed;                 /* blocks above the small limit */
	uint64_t large_bytes, large_freed_bytes;     /* the same, and blocks in arenas */
	/* Bytes of all blocks that the thread was given, and of all that it freed: see
	 * mw_heap_thread_counter(). */
	uint64_t given_bytes, freed_bytes;
	/* Bytes in use of pages that left the heap, less those of pages that came to it, modulo
	 * 2^64. */
	uint64_t departed_bytes;
	uint64_t inherited_bytes; /* blocks that came from `inherited` back into a list or page */
} mw_heap_counts_t;

/* When memory between live blocks goes back to the kernel: heap/local/holes.h. */
typedef struct mw_holes {
	int32_t samples;      /* sampled blocks that the thread made, less those it freed */
	uint32_t frees_to_go; /* frees of sampled blocks until the heap's pages are polled */
	mw_decay_t decay;     /* of free memory in pages with few used blocks */
	/* The last poll found so much free memory in such pages that has not gone yet, and wants so
	 * much of it to go; splits: also where that splits a huge page. */
	size_t sparse_bytes, wanted_bytes;
	bool splits;
	size_t gone_bytes;   /* went without a request, in the present window of the delay... */
	size_t missed_bytes; /* ...and filled again */
} mw_holes_t;

/* What a thread owns.  A heap lies in metadata memory and is never unmapped: when its thread ends,
 * a later thread gets it. */
struct mw_heap {
	/* The value of its pages' owner word: the thread pointer.  MW_OWNER_DIVERT: all frees of
	 * the thread are counted (mw_heap_thread_counter()). */
	uintptr_t owner;
	mw_page_queue_t queues[MW_CLASS_COUNT];
	mw_remote_cache_t remote; /* heap/remote/remote.h */

	/* Sampling of tiny classes (heap/sample/hooks.h).  until_sample_tiny[c]: objects of class c
	 * until and including the next sample, counted from the end of the list last handed out; 0:
	 * not drawn yet.  Bit c of `cut`: that list ends just before the sample. */
	uint64_t until_sample_tiny[MW_TINY_CLASSES];
	uint32_t cut;
	/* Sampling above tiny.  Bit c of `drawn`: mw_thread.until_sample and later[] hold a draw.
	 * later[]: objects from the end of until_sample to the sample. */
	uint64_t drawn;
	uint64_t later[MW_ABOVE_TINY_CLASSES];
	mw_inherited_t inherited[MW_TINY_CLASSES];
	uint32_t draw_generation[MW_CLASS_COUNT]; /* of the draw that led to the next sample */
	_Atomic uint32_t rate_generation;         /* written by the owner alone; others read it */
	uint32_t poll_seen;                       /* value of the polled word at the last poll */
	uint32_t retained;                        /* pages with is_retained set */
	/* Pages of the heap and full pages that the heap had last.  Relaxed: a thread that takes
	 * such a page subtracts it. */
	_Atomic uint32_t pages;
	uint32_t pages_most; /* most that `pages` ever was */
	/* Slices for the heap's next pages (heap/remote/ownership.h): the first, and their number.
	 */
	uint32_t reserved_slices;
	mw_page_t *reserved;
	/* Value of `pages` when the heap last released pages without a block, and searches for a
	 * page since then (heap/core/refill.c). */
	uint32_t released_at_pages, finds;
	/* Limits of the tcache lists: heap/local/tcache.h. */
	uint8_t tcache_limit[MW_CLASS_COUNT]; /* most blocks that free() collects in a list */
	bool tcache_off;                      /* as if tcache_max_bytes were 0 */
	size_t tcache_max_bytes;              /* free() collects no blocks of larger classes */
	uint64_t overflowed; /* bit c: free() found the list of class c full since its refill */
	size_t tcache_grown_bytes; /* sum of all raises of the limits */
	bool in_use;             /* a thread has the heap, or it is cached; under the heaps lock */
	uint32_t tcache_changes; /* changes of lists other than pops, and pushes above tiny */
	uint32_t beyond_small;   /* allocations above the small limit */
	uint32_t ones;           /* draws of one object in a row */
	bool none_listed;        /* every small block is to be a sample (heap/sample/sampling.c) */
	bool every;              /* the last draw of this generation said so */
	uint64_t bytes_until_sample; /* countdown above the small limit, in bytes; 0: not drawn yet
				      */
	/* Totals of the heap when its present thread got it. */
	uint64_t start_allocated_bytes, start_freed_bytes;
	bool counter_wanted; /* the program asked for mw_heap_thread_counter() */
	bool peak_wanted;    /* the program asked for mw_heap_thread_peak() */
	uint64_t peak_bytes;
	bool rate_taken;         /* mw_heap_take_rate() was called for the present thread */
	size_t unshown_bytes;    /* freed since the counters were last brought up to date */
	struct mw_arena *arena;  /* that the thread is bound to (heap/thread/binding.h), or NULL */
	mw_heap_counts_t counts; /* written by the owner; others read old values */
	mw_hook_thread_t hook_thread;
	mw_last_sample_t last_sample;
	mw_holes_t holes;
	struct mw_slot_caches *slot_caches; /* heap/sample/slot_cache.h; NULL: none yet */
	mw_harden_thread_t harden;

	mw_heap_t *next_all, *next_free; /* under the heaps lock */
	mw_cached_heap_t cached;
};

/* Most bytes of copies that a thread saves up: one page's blocks. */
#define MW_COPY_SAVED_MAX_BYTES MW_SMALL_MAX_BYTES

/* What the fast paths touch: lists of free blocks of each class. */
typedef struct mw_thread {
	void *tcache_tiny[MW_TINY_CLASSES]; /* tcache lists of tiny classes: only popped */
	/* Tcache lists above tiny.  tcache[i].room: blocks that free() may still push, and
	 * one; negative after a refill with more.  0 in a thread without a heap. */
	mw_list_t tcache[MW_ABOVE_TINY_CLASSES];
	/* Objects of a class above tiny until and including the next sample or the next poll
	 * (heap/sample/sampling.c).  0 in a new thread.  The pop that makes it 0 takes the slow
	 * path, which tells the two apart. */
	uint64_t until_sample[MW_ABOVE_TINY_CLASSES];
	mw_heap_t *heap;           /* NULL: the thread has not allocated, or has ended */
	mw_heap_t *quick_heap;     /* heap for free(); NULL where frees are counted */
	mw_remote_cache_t *remote; /* of quick_heap; mw_remote_no_cache where that is NULL */
	union {
		struct {
			bool ended;   /* mw_heap_thread_end() was called, and is not called again */
			bool watched; /* src/api is called at each slow allocation */
		};
		uint16_t special; /* both in one word: one test */
	};
	uint16_t heapless_frees; /* remote frees of a thread without a heap (heap/core/free.c) */
	/* Bytes of copies by realloc() that are paid for (heap/core/resize.h): as many as the
	 * thread's pages took of fresh memory, at most MW_COPY_SAVED_MAX_BYTES. */
	uint32_t copy_bytes;
	const char *function; /* the function that frees, for messages; NULL: free() */
} mw_thread_t;
extern MW_TLS mw_thread_t mw_thread;
/* The state of a thread that has not allocated. */
#define MW_THREAD_INITIAL                                                                          \
	{ .remote = &mw_remote_no_cache }
/* Sets quick_heap and the remote-free cache that goes with it. */
static inline void mw_thread_set_quick_heap(mw_heap_t *heap) {
	mw_thread.quick_heap = heap;
	mw_thread.remote = heap ? &heap->remote : &mw_remote_no_cache;
}

/* The tcache list of a class above tiny. */
MW_ALWAYS_INLINE mw_list_t *mw_tcache_of(unsigned size_class) {
	return &mw_thread.tcache[size_class - MW_TINY_CLASSES];
}

#endif
