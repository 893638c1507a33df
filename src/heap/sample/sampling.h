/* SPDX-License-Identifier: MIT
 * sampling.h -- the heap's side of sampling: countdowns and calls of the hooks.
 * Layer: heap.  Owner thread only, slow paths only. */
#ifndef MW_HEAP_SAMPLING_H
#define MW_HEAP_SAMPLING_H

#include <stdbool.h>

#include "base/check.h"
#include "heap/layout/page.h"
#include "heap/layout/record.h"
#include "heap/local/heap.h"
#include "heap/sample/hooks.h"

/* Called when mw_sampling_is_polled(): applies a changed rate and calls the hook `poll`. */
MW_NOINLINE void mw_sampling_poll_slow(mw_heap_t *heap);
/* Returns whether a tool has sent a request or the rate has changed since the last poll. */
static inline bool mw_sampling_is_polled(const mw_heap_t *heap) {
	/* The loads pair with mw_heap_set_hooks(), and with the thread that raises the generation.
	 */
	_Atomic uint32_t *word = atomic_load_explicit(&mw_heap_poll_word, memory_order_acquire);
	uint32_t generation = atomic_load_explicit(&mw_heap_rate_generation, memory_order_acquire);
	return atomic_load_explicit(word, memory_order_relaxed) != heap->poll_seen ||
	       generation != atomic_load_explicit(&heap->rate_generation, memory_order_relaxed);
}
static inline void mw_sampling_poll(mw_heap_t *heap) {
	if (MW_UNLIKELY(mw_sampling_is_polled(heap)))
		mw_sampling_poll_slow(heap);
}
/* Decides whether the next object of a small class is a sample, and makes its block if so.  NULL:
 * it is none, or there is no memory for a sample.  Called at each refill, when the tcache list of a
 * tiny class is empty; above tiny also for each object that the fast path did not make, which it
 * counts.
 */
void *mw_sampling_alloc(mw_heap_t *heap, unsigned size_class, size_t requested_bytes);
/* mw_sampling_allow() for a countdown that is not drawn yet, or ends within the list. */
MW_NOINLINE uint32_t mw_sampling_split(mw_heap_t *heap, unsigned size_class, uint32_t count);
/* Tiny classes: splits a refill.  Returns how many of `count` objects may be handed out before the
 * next sample, and sets the class's cut bit if the list must end there. */
static inline uint32_t mw_sampling_allow(mw_heap_t *heap, unsigned size_class, uint32_t count) {
	uint64_t until_sample = heap->until_sample_tiny[size_class];
	if (MW_UNLIKELY(until_sample <= count))
		return mw_sampling_split(heap, size_class, count);
	heap->until_sample_tiny[size_class] = until_sample - count;
	return count;
}
/* Tiny classes: called when a list was dropped with `count` objects not allocated. */
void mw_sampling_dropped(mw_heap_t *heap, unsigned size_class, uint32_t count);
/* Counts an object above the small limit down by its bytes; returns the record of the block (0: not
 * sampled). */
mw_record_id_t mw_sampling_count_bytes(mw_heap_t *heap, void *block, size_t requested_bytes,
				       size_t usable_bytes);
/* Lists of an arena's blocks (heap/core/arena_blocks.h).  Objects of the class until and including
 * the next sample; UINT64_MAX: never. */
uint64_t mw_sampling_draw_listed(mw_heap_t *heap, unsigned size_class);
/* Returns the rate and generation by which such a draw was made. */
uint32_t mw_sampling_draw_generation(const mw_heap_t *heap);
/* Called when the countdown ended at this block.  Returns the block's record. */
mw_record_id_t mw_sampling_take_listed(mw_heap_t *heap, void *block, size_t requested_bytes,
				       size_t usable_bytes);
/* Called when the block with this record is being freed. */
void mw_sampling_freed(mw_record_id_t record);
/* Called when more pages or large blocks are in use. */
void mw_sampling_grew(mw_heap_t *heap, size_t in_use_bytes);
void mw_sampling_thread_start(mw_heap_t *heap);
/* Prints on stderr what the profiler knows of the record, before the program ends; 0: prints
 * nothing. */
void mw_sampling_show(mw_record_id_t record);
/* The hooks' turn in the background thread; returns the time of the next turn that they need. */
uint64_t mw_sampling_background(void);

#endif
