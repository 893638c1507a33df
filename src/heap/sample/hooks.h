/* SPDX-License-Identifier: MIT
 * hooks.h -- the table of functions by which the heap calls the profiler. Besides it,
 * misuse/guarded.h and misuse/misuse.h are given functions that take and name stacks of reports.
 * Layer: heap.  The heap keeps the countdowns, because they are folded into its refill, and calls
 * these hooks to draw, to record, and to remove a record.  Hooks are called on slow paths only, by
 * the thread that allocates or frees.  The heap holds no lock meanwhile, except where the order of
 * MW_RANK_SAMPLED allows MW_RANK_CONTROL before it.  A hook must not allocate from the heap, and
 * must keep errno.
 *
 * Derivation of the countdowns: doc/internals/sampling.md.
 *
 * Door of heap/sample.  Reading order: hooks.h, sampling (countdowns), sampled and sampled_mark.h
 * (pages whose slots hold sampled blocks), slot_cache (slots that a thread keeps).  Uses
 * heap/local, heap/arena and the folders below them. */
#ifndef MW_HEAP_HOOKS_H
#define MW_HEAP_HOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/record.h"
#include "heap/memory/limit.h"

/* Packs the lower bits of the generation and the thread's rate into a number, to look up the T of a
 * draw later. */
#define MW_DRAW_RATE_SHIFT 28
static inline uint32_t mw_draw_generation(uint32_t generation, uint32_t rate) {
	return (generation & (((uint32_t)1 << MW_DRAW_RATE_SHIFT) - 1)) |
	       rate << MW_DRAW_RATE_SHIFT;
}

#define MW_DRAW_EVERY ((uint64_t)0)

typedef struct mw_sample_request {
	void *block;
	size_t requested_bytes; /* as the program asked; may be 0 */
	size_t usable_bytes;
	size_t trial_bytes; /* size that the draw was made with: p = 1 - exp(-trial/T) */
	/* mw_draw_generation() of the draw.  A list that was cut under an older rate ends in a
	 * sample of that rate, whose weight must be the old one: the number finds its T. */
	uint32_t draw_generation;
	bool certain; /* not drawn: at least mw_heap_certain_bytes, so that it counts once */
} mw_sample_request_t;

typedef struct mw_heap_hooks {
	/* A thread's heap is being made; `thread` is zeroed. */
	void (*thread_start)(mw_hook_thread_t *thread);
	/* Draws the objects of `size_bytes` until and including the next sample (>=
	 * 1).  UINT64_MAX: sampling is off.  MW_DRAW_EVERY: each object is a sample until the
	 * generation changes. */
	uint64_t (*draw_objects)(mw_hook_thread_t *thread, size_t size_bytes);
	/* Draws the bytes until the next sample, for objects above the small limit; UINT64_MAX:
	 * sampling is off. */
	uint64_t (*draw_bytes)(mw_hook_thread_t *thread);
	/* Called when the countdown chose this block.  Returns the record to keep with it (0:
	 * none). */
	mw_record_id_t (*sampled)(mw_hook_thread_t *thread, const mw_sample_request_t *request);
	/* Called when a block with a record is being freed.  `thread` is NULL in a thread without a
	 * heap.  `temporary`: the thread that frees allocated the block and has not allocated
	 * since. */
	void (*sample_freed)(mw_hook_thread_t *thread, mw_record_id_t record, bool temporary);
	/* Called at a refill that finds *poll_word changed since this thread's last poll. The hook
	 * reads requests of tools. */
	void (*poll)(mw_hook_thread_t *thread);
	/* The heap took more memory into use; `in_use_bytes` is the new total of its pages and
	 * large blocks.  Called after the lock is released, at most once per 64 KiB of growth. */
	void (*grew)(mw_hook_thread_t *thread, size_t in_use_bytes);
	/* A limit of heap/memory/limit.h was passed: `wanted_bytes` would have been in use.  The
	 * soft limit let them pass, the hard one did not.  May be NULL. */
	mw_limit_reported_t *pressed;
	/* Prints on stderr where the sampled block with this record was allocated, if that is
	 * known.  The program is about to end: any thread may call, with locks of the heap
	 * held.  May be NULL. */
	void (*show_sample)(mw_record_id_t record);
	/* A turn of the background thread (option background_thread).  Returns the monotonic time
	 * of the next turn that the hooks need; UINT64_MAX: none. */
	uint64_t (*background)(void);
} mw_heap_hooks_t;

/* Generation of the rate: raised (release) by whoever changes the rate.  A thread that sees a new
 * value at its next refill drops the countdowns drawn under the old rate and draws anew.  A list
 * that is already cut keeps its end: its object was chosen under the old rate, and to drop it when
 * a pop comes to it would lose one sample of the class at each change (doc/internals/sampling.md).
 */
extern _Atomic uint32_t mw_heap_rate_generation;
/* The word polled at each refill (relaxed).  Points at a private word that never changes until the
 * owner of the hooks publishes another (release).  Its value is only compared. */
extern _Atomic(_Atomic uint32_t *) mw_heap_poll_word;

/* Least bytes of a request that is always sampled, if it is above the small limit; UINT64_MAX (at
 * first): none is.  The owner of the hooks sets it; each such request reads it (relaxed). */
extern _Atomic uint64_t mw_heap_certain_bytes;
/* Least value of mw_heap_certain_bytes: smaller blocks lie in pages, which the fast paths serve. */
#define MW_HEAP_CERTAIN_MIN_BYTES 65537u

/* Calls the hook `pressed` for each limit that was passed since the last call.  No lock is held. */
void mw_heap_report_limits(void);

/* Requests a background thread, if the option allows one: a later slow path starts it. */
void mw_heap_want_background(void);
/* Wakes the background thread now.  False: there is none. */
bool mw_heap_wake_background(void);

/* Threads that have a heap, and those of them that have not yet noticed the present generation.
 * heap/thread defines it. */
MW_HOOK MW_COLD void mw_heap_count_threads(uint32_t *all, uint32_t *behind);

/* Installs the hooks; NULL: no sampling.  `hooks` stays the caller's and must outlive the process.
 * Called before threads exist; countdowns drawn before are dropped (generation). */
void mw_heap_set_hooks(const mw_heap_hooks_t *hooks);

#endif
