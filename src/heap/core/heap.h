/* SPDX-License-Identifier: MIT
 * heap.h -- the allocator's interface to the layers above, and the state of one thread.
 * Layer: heap.  Every function may be called by any thread at any time, not from signal handlers.
 * Sizes are bytes.  Functions that return NULL are out of memory; errno is set by the callers in
 * src/api.  Misuse that is seen ends the program with a message (heap/misuse/misuse.h).
 *
 * Door of heap/core: blocks of size classes, from a thread's own pages.  Reading order: size_class
 * (sizes to classes), page.h (chunks, slices, pages and who owns them), heap.h, fast.h (the fast
 * paths), alloc and free (what the fast paths leave over), heap_page (the life of a page), head
 * (limits of the thread cache's bins), queue.h, slices.h, lookup (any pointer to its page), thread
 * (heaps of threads and fork).  The heap's folders call each other; nothing outside of src/heap is
 * called but src/base and src/os. */
#ifndef MW_HEAP_HEAP_H
#define MW_HEAP_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/page.h"
#include "heap/layout/queue.h"
#include "heap/layout/size_class.h"
#include "heap/local/batch.h"
#include "heap/local/harden_lists.h"
#include "heap/sample/hooks.h"

/* The thread's last sample, and all that an allocation after it would change. */
typedef struct mw_last_sample {
	mw_record_id_t record; /* 0: none */
	uint32_t beyond_small;
	bool none_listed; /* heap->none_listed; what follows says nothing then */
	uint32_t head_changes;
	void *heads[MW_TINY_CLASSES];
	uint64_t until_sample[MW_STACK_CLASSES];
} mw_last_sample_t;

/* Heap of an ended thread that the next thread reuses: heap/thread/cached_heap.h. */
typedef struct mw_cached_heap {
	bool waits;
	unsigned node;
	size_t bytes; /* that its pages touched */
	uint64_t since_ns;
	uint64_t tiny_heads_bytes;
	void *heads[MW_CLASS_COUNT];
	uint32_t lengths[MW_CLASS_COUNT]; /* mw_head_length(); of tiny classes 0 */
} mw_cached_heap_t;

/* What the slow paths counted since the heap was made, by whichever threads had it. */
typedef struct mw_heap_counts {
	uint64_t given[MW_CLASS_COUNT]; /* blocks put into list heads by refills */
	uint64_t fills[MW_CLASS_COUNT]; /* these refills */
	/* Above tiny, where pops are counted down: the blocks are these less until_sample. */
	uint64_t objects[MW_STACK_CLASSES];
	uint64_t sampled_bytes, sampled_freed_bytes; /* of the small classes */
	uint64_t large, large_freed;                 /* blocks above the small limit */
	uint64_t large_bytes, large_freed_bytes;     /* of these, and of blocks in arenas */
	/* Of all these blocks, and what the thread freed: see mw_heap_thread_counter(). */
	uint64_t given_bytes, freed_bytes;
	/* Blocks in use, in bytes, of pages that left the heap, less those of pages that came,
	 * modulo 2^64. */
	uint64_t left_bytes;
} mw_heap_counts_t;

/* What a thread owns.  Lives in metadata memory, is never unmapped, and is handed to a later thread
 * when its thread ends. */
struct mw_heap {
	/* The value of its pages' owner word: the thread pointer; MW_OWNER_DIVERT: frees are
	 * counted (mw_heap_thread_counter). */
	uintptr_t owner;
	mw_page_queue_t queues[MW_CLASS_COUNT];
	mw_remote_cache_t remote; /* heap/remote/remote.h */

	/* Sampling, see hooks.h.  Tiny: left[c] is the objects of class c until and including the
	 * next sample, counted from the end of the list last handed out; 0: not drawn yet.  cut bit
	 * c: that list ends just before the sample. */
	uint64_t left[MW_TINY_CLASSES];
	uint32_t cut;
	/* Above tiny: bit c says that mw_thread.until_sample was drawn, and later[] of it; the
	 * sample is so many objects after the end of that. */
	uint64_t drawn;
	uint64_t later[MW_STACK_CLASSES];
	uint32_t draw_number[MW_CLASS_COUNT]; /* of the draw that led to the next sample */
	_Atomic uint32_t epoch;               /* written by the owner alone */
	uint32_t poll_seen;
	uint32_t retained; /* pages marked so */
	/* Pages that the heap has, full ones that it had last, and most it ever had of both.
	 * Relaxed: other threads subtract the pages they take. */
	_Atomic uint32_t pages;
	uint32_t pages_most;
	/* Number of pages when the heap last released retained pages, and number of searches for a
	 * page since then (heap_page.c). */
	uint32_t released_at_pages, finds;
	/* Lists of freed blocks: see head.h. */
	uint8_t head_limit[MW_CLASS_COUNT]; /* blocks that free() makes a head long */
	bool heads_off;                     /* as if head_max_bytes were 0 */
	size_t head_max_bytes;              /* of larger classes free() makes no list */
	uint64_t overflowed;     /* bit c: it wanted to make it longer since the refill */
	size_t head_grown_bytes; /* by which the limits were raised */
	bool in_use;             /* a thread has the heap, or it is cached; under the heaps lock */
	uint32_t head_changes;   /* so far, but for pops and what free() pushes above tiny */
	uint32_t beyond_small;   /* allocations above the small limit so far */
	uint32_t ones;           /* draws in a row that said "the next one" */
	bool none_listed;        /* every small block is to be a sample (sampling.c) */
	bool every;              /* the last draw said that, for the present epoch */
	uint64_t bytes_left;     /* for objects above the small limit; 0: not drawn yet */
	uint64_t start_allocated_bytes, start_freed_bytes; /* when the present thread got it */
	bool counter_wanted;                               /* see mw_heap_thread_counter() */
	bool peak_wanted;                                  /* see mw_heap_thread_peak() */
	uint64_t peak_bytes;
	bool rate_taken;         /* mw_heap_take_rate() was called for the present thread */
	size_t unshown_bytes;    /* freed, and perhaps handed out again, since it was brought up to
				    date */
	struct mw_arena *arena;  /* the thread is bound to it: heap/arena/arena.h; NULL: to none */
	mw_heap_counts_t counts; /* written by the owner; others read it a little late */
	mw_hook_thread_t hook_thread;
	mw_last_sample_t last_sample;
	struct mw_slot_caches
		*slot_caches; /* of places for samples: slot_cache.h; NULL: none yet */
	mw_harden_thread_t harden;

	mw_heap_t *next_all, *next_free; /* under the heaps lock */
	mw_cached_heap_t cached;
};

/* What the fast path touches: lists of free blocks of each class. */
typedef struct mw_thread {
	void *heads[MW_TINY_CLASSES]; /* drained only */
	/* Above tiny.  `left` is one more than the blocks that free() may push: the limit (head.h)
	 * less the blocks there, negative after a refill with more.  0 in a thread without a heap.
	 */
	mw_list_t stacks[MW_STACK_CLASSES];
	/* Objects of a class above tiny until and including the next sample, or the next look for
	 * orders (sampling.c).  0 in a new thread; when a pop makes it 0 the slow path is taken,
	 * which knows what it is. */
	uint64_t until_sample[MW_STACK_CLASSES];
	mw_heap_t *heap;           /* NULL: this thread has not allocated, or has ended */
	mw_heap_t *quick_heap;     /* the same for free(); NULL also where they are counted */
	mw_remote_cache_t *remote; /* of quick_heap; mw_remote_no_cache where that is NULL */
	union {
		struct {
			bool ended; /* mw_heap_thread_end() was called: nobody may call it again */
			bool watched; /* the layer above looks at each slow allocation */
		};
		uint16_t special; /* either: one test for both */
	};
	uint16_t heapless_frees; /* of others' blocks, of a thread without a heap: free.c */
	const char *function;    /* that frees, for messages; NULL: free() */
} mw_thread_t;
extern MW_TLS mw_thread_t mw_thread;
/* The state of a thread that has not allocated. */
#define MW_THREAD_INITIAL                                                                          \
	{ .remote = &mw_remote_no_cache }
/* Sets quick_heap and what goes with it. */
static inline void mw_thread_set_quick_heap(mw_heap_t *heap) {
	mw_thread.quick_heap = heap;
	mw_thread.remote = heap ? &heap->remote : &mw_remote_no_cache;
}

/* The list head of a class above tiny. */
MW_ALWAYS_INLINE mw_list_t *mw_stack_of(unsigned size_class) {
	return &mw_thread.stacks[size_class - MW_TINY_CLASSES];
}
/* The same of any class: where its first block is named. */
void **mw_head_of(unsigned size_class);

/* Any size; 0 counts as 1.  The block is aligned to 16. */
void *mw_heap_alloc(size_t bytes);
void *mw_heap_alloc_zeroed(size_t bytes);
/* After mw_fast_alloc() gave nothing: what most refills are: a tiny class whose next list is at
 * hand. NULL: not so.  No sample is taken. */
void *mw_heap_alloc_at_once(size_t bytes);
/* The same after mw_fast_alloc() gave nothing: it may have counted the object. */
void *mw_heap_alloc_slow(size_t bytes);
/* The same of a class that `bytes`, which the program asked for, are not too many for. */
MW_NOINLINE void *mw_heap_alloc_class_slow(size_t bytes, unsigned size_class);
void *mw_heap_alloc_zeroed_slow(size_t bytes);
/* `align` is a power of two.  Also after mw_fast_alloc_aligned() gave nothing. */
void *mw_heap_alloc_aligned(size_t align, size_t bytes);
/* The same in an arena that the program made (heap/arena/arena.h); NULL: not in one, even if the
 * thread is bound to it.  *zeroed is set when it is known to be. */
void *mw_heap_alloc_in(mw_arena_t *arena, size_t align, size_t bytes, bool *zeroed);
/* The number of the arena that holds the block; 0: none does. */
unsigned mw_heap_arena_of(const void *block);
/* The usable bytes of what these make. */
size_t mw_heap_bytes_for(size_t align, size_t bytes);
/* What the fast path of free() passes on: NULL, other owners, double frees, large blocks. */
void mw_heap_free_slow(void *block);
/* The same for functions that say more than free(): their name, for messages, and what the program
 * takes the block's size and alignment for (MW_NO_CLAIM: it does not say). */
void mw_heap_free_claimed(void *block, size_t bytes, size_t align, const char *function);
/* The fast path has pushed the block onto an own list, which has no pushes left: its page is empty,
 * or its class's list head longer than it may be. */
void mw_heap_free_last(void *block, mw_list_t *list);
/* The second of these: the block goes elsewhere. */
void mw_heap_free_over(void *block, mw_list_t *stack);
/* The page's last block came back to its owner. */
void mw_heap_page_emptied(mw_page_t *page);
/* Without a copy: in place, or by mremap(2).  NULL: that cannot be.  *usable_bytes: of the block as
 * it was. */
void *mw_heap_resize_in_place(void *block, size_t bytes, size_t *usable_bytes);
/* For want of memory a block was once left larger than its new size lets expect. */
extern bool mw_heap_blocks_stayed; /* relaxed: a hint */
/* In place if it can; the contents move otherwise.  block != NULL, bytes > 0. */
void *mw_heap_resize(void *block, size_t bytes);
/* Ends the program when `block` is not a live block as far as that can be seen. */
size_t mw_heap_usable_bytes(const void *block);
/* The calling thread takes a changed rate over now, not at the ends of the lists it has. */
void mw_heap_take_rate(void);
/* Gives back what is free: this thread's empty pages, free slices, kept mappings.  Bytes. */
MW_COLD size_t mw_heap_trim(void);
/* Takes apart heaps that were cached for long.  Called where mw_cached_heap_is_due(). */
MW_COLD void mw_heap_maintain(void);

/* Pages and large blocks handed to threads, huge ones included.  No lock. */
size_t mw_heap_in_use_bytes(void);

/* Bytes that the calling thread allocated and freed since its heap was made, exact but for what was
 * freed across threads: a block counts as freed for the thread that made it, once its page has it
 * back.  Walks the thread's pages.  No allocation is counted: what was handed out is known by what
 * is left of it. */
void mw_heap_thread_bytes(uint64_t *allocated_bytes, uint64_t *freed_bytes);
/* Both are 0 now; the calling thread has so much in its tiny list heads. */
void mw_heap_counts_begin(mw_heap_t *heap, uint64_t tiny_heads_bytes);
/* Takes a walk; ends the program when a list has no end. */
uint64_t mw_heap_tiny_heads_bytes(void);
/* What the thread's lists and large blocks were given of it, which takes no walk; 0: no heap. */
MW_COLD uint64_t mw_heap_thread_given_bytes(void);
/* Counters that follow these two from now on.  The first at each refill, block above the small
 * limit, and 64 KiB freed, ahead of it by what the list heads hold; the thread's next malloc moves
 * it.  The second with each free() of the thread, whoever made the block: all of its frees take the
 * slow path from now on.  NULL: no memory for a heap. */
MW_COLD const uint64_t *mw_heap_thread_counter(bool freed);
/* The most that the calling thread had in use, in bytes, since it asked with `begins`, or first:
 * then what it has now.  Looked at where the counters above are brought up to date, so up to a list
 * of each class may be missing.  Both counters are kept for the thread from then on. */
MW_COLD uint64_t mw_heap_thread_peak(bool begins);
MW_COLD void mw_heap_counts_show_slow(mw_heap_t *heap);
static inline void mw_heap_counts_show(mw_heap_t *heap) {
	if (MW_UNLIKELY(heap->counter_wanted))
		mw_heap_counts_show_slow(heap);
}
/* The thread, which asked for a counter, frees a small block. */
static inline void mw_heap_counts_freed(mw_heap_t *heap, size_t bytes) {
	heap->counts.freed_bytes += bytes;
	heap->unshown_bytes += bytes;
	/* What goes onto a list head and off again needs no refill. */
	if (heap->unshown_bytes >= MW_SLICE_BYTES) {
		heap->unshown_bytes = 0;
		mw_heap_counts_show(heap);
	}
}
/* A byte at the thread pointer of each thread that has a heap: the C library puts it at the top of
 * the thread's stack.  Not of the first thread, whose thread pointer is elsewhere. */
MW_COLD void mw_heap_visit_threads(void (*visit)(uintptr_t start, uintptr_t limit, unsigned kind));
/* Adds up what the heaps of all threads have counted: above tiny, other threads' `given` may be
 * some refills, or a step of the sampler, late. */
MW_COLD void mw_heap_sum_counts(mw_heap_counts_t *sum);
/* Of a class above tiny, where no push is counted: what was given to the calling thread's list is
 * what came off it, and what is there.  Others see it as it was when last computed. */
void mw_heap_counts_given(mw_heap_t *heap, unsigned size_class);

/* The thread's heap, made on first use; NULL: no memory. */
mw_heap_t *mw_heap_self(void);
/* Ends the calling thread's use of its heap: the heap is cached for the next thread, or its pages
 * are abandoned (heap/thread/cached_heap.h).  A thread that allocates afterwards gets a heap again,
 * which it ends itself after each allocation (mw_thread.ended). */
void mw_heap_thread_end(void);
/* Called once for each thread that gets a heap, so that somebody calls mw_heap_thread_end() later.
 * Set before threads exist. */
extern void (*mw_heap_on_thread)(mw_heap_t *heap);

/* fork(2): all locks are taken before and released after; in the child the other threads' pages
 * stay as they are (blocks freed into them are not reused: doc/ARCHITECTURE.md, "fork"). */
void mw_heap_fork_prepare(void);
void mw_heap_fork_parent(void);
void mw_heap_fork_child(void);

#endif
