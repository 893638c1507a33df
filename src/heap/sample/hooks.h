/* SPDX-License-Identifier: MIT
 * hooks.h -- all the heap knows of whoever samples it.
 * Layer: heap.  The heap keeps the countdowns, because they are folded into its refill, and asks
 * these hooks to draw, to record and to forget.  They are called on slow paths only, by the thread
 * that allocates or frees, with no lock of the heap held except MW_RANK_SAMPLED's order allowing
 * MW_RANK_CONTROL before it.  A hook must not allocate from the heap, and must keep errno.
 *
 * Derivation of the countdowns: doc/internals/sampling.md.
 *
 * Door of heap/sample.  Reading order: hooks.h, sampling (countdowns), sampled and sampled_mark.h
 * (pages whose slots hold sampled blocks), slot_cache (slots that a thread keeps). */
#ifndef MW_HEAP_HOOKS_H
#define MW_HEAP_HOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/layout/record.h"

/* The hooks' own state of one thread. */
typedef struct mw_hook_thread {
	/* By which of its rates of this epoch the thread draws, 0 .. 15; and that the sample which
	 * was just taken has changed that: all countdowns are then drawn anew. */
	uint32_t rate;
	bool rate_changed;
	uint64_t words[12]; /* opaque to the heap: random numbers, epoch */
} mw_hook_thread_t;

/* Names the rate of a draw: the lower bits of its epoch, and the thread's rate. */
#define MW_DRAW_RATE_SHIFT 28
static inline uint32_t mw_draw_number(uint32_t epoch, uint32_t rate) {
	return (epoch & (((uint32_t)1 << MW_DRAW_RATE_SHIFT) - 1)) | rate << MW_DRAW_RATE_SHIFT;
}

#define MW_DRAW_EVERY ((uint64_t)0)

typedef struct mw_sample_request {
	void *block;
	size_t requested_bytes; /* as the program asked; may be 0 */
	size_t usable_bytes;
	size_t trial_bytes; /* size the draw was made with: p = 1 - exp(-trial/T) */
	/* mw_draw_number() of that draw: a list cut under an older rate ends in a sample of that
	 * rate, whose weight must be the old one.  Its T is found by this number. */
	uint32_t draw_number;
	bool certain; /* not drawn: as large as mw_heap_certain_bytes, so that it counts once */
} mw_sample_request_t;

/* A limit on the heap's bytes was passed (heap/memory/limit.h). */
typedef enum mw_pressure { MW_PRESSURE_SOFT, MW_PRESSURE_HARD, MW_PRESSURE_COUNT } mw_pressure_t;

typedef struct mw_heap_hooks {
	/* A thread's heap is being made; `thread` is zeroed. */
	void (*thread_start)(mw_hook_thread_t *thread);
	/* Objects of `size_bytes` until and including the next to be sampled (>= 1);
	 * UINT64_MAX: sampling is off; MW_DRAW_EVERY: each one is, until the epoch changes. */
	uint64_t (*draw_objects)(mw_hook_thread_t *thread, size_t size_bytes);
	/* Bytes until the next mark, for objects above the small limit; UINT64_MAX: off. */
	uint64_t (*draw_bytes)(mw_hook_thread_t *thread);
	/* The countdown chose this block.  Returns the record to keep with it (0: none). */
	mw_record_id_t (*sampled)(mw_hook_thread_t *thread, const mw_sample_request_t *request);
	/* A block with a record is being freed.  `thread` is NULL in a thread without a heap.
	 * `temporary`: by the thread that allocated it, which has not allocated since. */
	void (*sample_freed)(mw_hook_thread_t *thread, mw_record_id_t record, bool temporary);
	/* Called at a refill that finds *poll_word changed since this thread's last poll. The hook
	 * reads requests of tools. */
	void (*poll)(mw_hook_thread_t *thread);
	/* The heap took more address space into use; `in_use_bytes` is the new total of its pages
	 * and large blocks.  Called after the lock is released, at most once per 64 KiB of growth.
	 */
	void (*grew)(mw_hook_thread_t *thread, size_t in_use_bytes);
	/* `wanted_bytes` would have been in use; the soft limit let them pass, the hard one did
	 * not.  May be NULL. */
	void (*pressed)(mw_pressure_t pressure, size_t wanted_bytes, size_t limit_bytes);
	/* Says on stderr where the sampled block with this record was allocated, if that is known.
	 * The program is about to end: by any thread, with locks of the heap held.  May be NULL. */
	void (*show_sample)(mw_record_id_t record);
	/* A turn of the background thread (option background_thread), if there is one.  Returns the
	 * monotonic time of the next turn that the hooks need; UINT64_MAX: none. */
	uint64_t (*background)(void);
} mw_heap_hooks_t;

/* Sampling epoch: bumped (release) by whoever changes the rate.  A thread that sees a new value at
 * its next refill drops the countdowns drawn under the old rate and draws anew.  A list that is
 * already cut keeps its end: its object was chosen under the old rate, and dropping it when the pop
 * comes to it would lose one sample a class at each change (doc/internals/sampling.md). */
extern _Atomic uint32_t mw_heap_epoch;
/* The word polled at each refill (relaxed).  Points at a private word that never changes until the
 * hooks' owner publishes another (release); the value is compared only, never trusted. */
extern _Atomic(_Atomic uint32_t *) mw_heap_poll_word;

/* Requests of so many bytes are always sampled, if they are above the small limit; UINT64_MAX (the
 * start): none is.  Set by the hooks' owner, read with each such request (relaxed). */
extern _Atomic uint64_t mw_heap_certain_bytes;
/* Below it nothing is looked at: blocks in pages are served by the fast path. */
#define MW_HEAP_CERTAIN_MIN_BYTES 65537u

/* Asks for a background thread, if the option lets there be one: it starts at a later slow path. */
void mw_heap_want_background(void);
/* Gives the background thread a turn now.  False: there is none. */
bool mw_heap_wake_background(void);

/* Threads that have a heap, and those of them that have not yet noticed the present epoch. */
MW_COLD void mw_heap_count_threads(uint32_t *all, uint32_t *behind);

/* Installs the hooks; NULL restores "no sampling".  `hooks` stays the caller's and must outlive the
 * process.  Call before threads exist; the countdowns drawn before are dropped (epoch). */
void mw_heap_set_hooks(const mw_heap_hooks_t *hooks);

#endif
