/* SPDX-License-Identifier: MIT
 * decay.h -- how much freed memory is kept for reuse, and how long.
 * Layer: heap.  No lock of its own: the holder of the lock of what is kept calls.
 *
 * Memory that falls free is kept for a delay, but a program that frees much and then sleeps never
 * calls again to have it purged.  So what is more than `keep_bytes` goes at once ("early").  When
 * memory that went early is missed within the delay, keep_bytes grows by twice of it: a program
 * whose need goes up and down pays for that with one round of page faults and keeps its memory from
 * then on.  It grows to twice of what was kept and taken again, too: needs that swing wider and
 * wider pay for none.  What was kept for the whole delay and not needed makes keep_bytes shrink
 * again. */
#ifndef MW_HEAP_DECAY_H
#define MW_HEAP_DECAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Standard delay, a second: a program that frees and allocates in turns keeps its memory. */
#define MW_DECAY_DEFAULT_NS ((uint64_t)1000 * 1000 * 1000)
/* Stands for "never": no clock reaches it, and adding now to it does not overflow. */
#define MW_DECAY_NEVER_NS (UINT64_MAX / 2)
/* Less than this is not worth a system call before its time. */
#define MW_DECAY_KEEP_MIN_BYTES ((size_t)1 << 20)
/* Nor is less than this share of what is in use, of slices: a server's need goes up and down by as
 * much.  When at least five eighths of what stays in use fall free, nine tenths of that go. */
#define MW_DECAY_KEEP_SHARE 16u

/* A program that lives shorter than this (the time from its first free of a page) has little to
 * give back and as little time to take it again: less than so much does not go early. */
#define MW_DECAY_YOUTH_NS ((uint64_t)1000 * 1000 * 1000)
#define MW_DECAY_YOUTH_BYTES ((size_t)64 << 20)

typedef struct mw_decay {
	uint64_t delay_ns;
	bool early;            /* may memory go before its time? */
	size_t keep_min_bytes; /* 0: MW_DECAY_KEEP_MIN_BYTES */
	size_t keep_bytes;     /* at most the minimum: the minimum */
	uint64_t youth_end_ns; /* 0: nothing fell free yet */
	size_t high_bytes;     /* most that was kept since some of it went */
	size_t gone_bytes;     /* went early and may be missed... */
	uint64_t gone_due_ns;  /* ...until then */
} mw_decay_t;

/* Bytes of `kept_bytes` that should go now: 0, or what brings them to half of what is kept, so that
 * not every free calls the kernel.  At least `share_bytes`, which follow from what is in use, are
 * kept. */
size_t mw_decay_excess_bytes(mw_decay_t *decay, size_t kept_bytes, size_t share_bytes);
/* So many went early. */
void mw_decay_went_early(mw_decay_t *decay, size_t bytes, uint64_t now_ns);
/* So many went because their time had come. */
void mw_decay_went_late(mw_decay_t *decay, size_t bytes);
/* Of what was kept some was taken again, and so much is left.  Where the program said how much to
 * keep, that holds. */
static inline void mw_decay_reused(mw_decay_t *decay, size_t left_bytes) {
	if (decay->high_bytes <= left_bytes || decay->keep_min_bytes != 0)
		return;
	size_t swing_bytes = 2 * (decay->high_bytes - left_bytes);
	if (decay->keep_bytes < swing_bytes)
		decay->keep_bytes = swing_bytes;
}
/* Fresh memory had to be taken. */
void mw_decay_missed_slow(mw_decay_t *decay, size_t bytes);
static inline void mw_decay_missed(mw_decay_t *decay, size_t bytes) {
	if (decay->gone_bytes != 0)
		mw_decay_missed_slow(decay, bytes);
}

#endif
