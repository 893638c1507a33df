/* SPDX-License-Identifier: MIT
 * decay.h -- how much freed memory is kept for reuse, and how long.
 * Layer: heap.  No lock of its own: the holder of the lock of the kept memory calls.
 *
 * Freed memory is kept for a delay.  A program that frees much and then sleeps makes no later call
 * that could purge it, so memory beyond `keep_bytes` is purged at once ("early").  When the program
 * needs early purged memory again within the delay, keep_bytes grows by twice as much: a program
 * whose need goes up and down pays with one round of page faults, and keeps its memory from then
 * on. keep_bytes also grows to twice what was kept and taken again: swings that become wider cost
 * no page faults.  keep_bytes shrinks by memory that was kept for the whole delay and not needed.
 */
#ifndef MW_HEAP_DECAY_H
#define MW_HEAP_DECAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Standard delay, a second: a program that frees and allocates by turns keeps its memory. */
#define MW_DECAY_DEFAULT_NS ((uint64_t)1000 * 1000 * 1000)
/* Stands for "never": no clock reaches it, and adding now to it does not overflow. */
#define MW_DECAY_NEVER_NS (UINT64_MAX / 2)
/* Least bytes that are worth a system call before their time. */
#define MW_DECAY_KEEP_MIN_BYTES ((size_t)1 << 20)
/* Share of the slices in use that is kept, too: a server's need goes up and down by as much.  When
 * five eighths or more of the slices in use fall free, nine tenths of those are purged early. */
#define MW_DECAY_KEEP_SHARE 16u

/* Youth: a program that ends within this time after its first free of a page has little to give
 * back, and little time to take it again.  Less than MW_DECAY_YOUTH_BYTES does not go early then.
 */
#define MW_DECAY_YOUTH_NS ((uint64_t)1000 * 1000 * 1000)
#define MW_DECAY_YOUTH_BYTES ((size_t)64 << 20)

typedef struct mw_decay {
	uint64_t delay_ns;
	bool early;            /* memory may go before its time */
	size_t keep_min_bytes; /* 0: MW_DECAY_KEEP_MIN_BYTES */
	size_t keep_bytes;     /* bytes to keep, if more than the minimum */
	uint64_t youth_end_ns; /* 0: no memory fell free yet */
	size_t high_bytes;     /* most bytes kept at once since some went */
	size_t gone_bytes;     /* bytes that went early and may be missed... */
	uint64_t gone_due_ns;  /* ...until then */
} mw_decay_t;

/* Returns how many of `kept_bytes` are to go now: 0, or as many as leave half of the bytes to keep,
 * so that not every free calls the kernel.  At least `share_bytes`, a share of the memory in use,
 * are kept. */
size_t mw_decay_excess_bytes(mw_decay_t *decay, size_t kept_bytes, size_t share_bytes);
/* `bytes` went early. */
void mw_decay_went_early(mw_decay_t *decay, size_t bytes, uint64_t now_ns);
/* `bytes` stayed that were to go early: they are worth more where they are.  They and a quarter
 * more are kept, so that not every free asks for them. */
void mw_decay_stayed(mw_decay_t *decay, size_t bytes);
/* `bytes` went because their time had come. */
void mw_decay_went_late(mw_decay_t *decay, size_t bytes);
/* Called when some kept memory was taken again; `remaining_bytes` are left.  Does nothing where the
 * program set the minimum to keep. */
static inline void mw_decay_reused(mw_decay_t *decay, size_t remaining_bytes) {
	if (decay->high_bytes <= remaining_bytes || decay->keep_min_bytes != 0)
		return;
	size_t swing_bytes = 2 * (decay->high_bytes - remaining_bytes);
	if (decay->keep_bytes < swing_bytes)
		decay->keep_bytes = swing_bytes;
}
/* Called when `bytes` of fresh memory had to be taken. */
void mw_decay_missed_slow(mw_decay_t *decay, size_t bytes);
static inline void mw_decay_missed(mw_decay_t *decay, size_t bytes) {
	if (decay->gone_bytes != 0)
		mw_decay_missed_slow(decay, bytes);
}

#endif
