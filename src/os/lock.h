/* SPDX-License-Identifier: MIT
 * lock.h -- a futex lock of four bytes, zero-initialised, with a rank.
 * Layer: os.  Not for signal or unwind paths.  Fork: the holder's module takes it in its prepare
 * handler and calls mw_lock_reset() in the child.  In debug builds a thread that takes locks out of
 * rank order (base/lock_rank.h) ends the program. */
#ifndef MW_OS_LOCK_H
#define MW_OS_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock_rank.h"

typedef struct mw_lock {
	_Atomic uint32_t state; /* 0 free, 1 held, 2 held and somebody sleeps */
} mw_lock_t;

void mw_lock_acquire_slow(mw_lock_t *lock);
void mw_lock_wake(mw_lock_t *lock);
#ifdef MW_DEBUG
void mw_lock_rank_push(mw_lock_rank_t rank);
void mw_lock_rank_pop(mw_lock_rank_t rank);
#else
static inline void mw_lock_rank_push(mw_lock_rank_t rank) {
	(void)rank;
}
static inline void mw_lock_rank_pop(mw_lock_rank_t rank) {
	(void)rank;
}
#endif

static inline bool mw_lock_try(mw_lock_t *lock) {
	uint32_t expected = 0;
	/* Pairs with the release in mw_lock_release(). */
	return atomic_compare_exchange_strong_explicit(&lock->state, &expected, 1, memory_order_acquire,
						       memory_order_relaxed);
}

static inline void mw_lock_acquire(mw_lock_t *lock, mw_lock_rank_t rank) {
	mw_lock_rank_push(rank);
	if (!mw_lock_try(lock))
		mw_lock_acquire_slow(lock);
}

static inline void mw_lock_release(mw_lock_t *lock, mw_lock_rank_t rank) {
	mw_lock_rank_pop(rank);
	/* Pairs with the acquire in mw_lock_try() and mw_lock_acquire_slow(). */
	if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2)
		mw_lock_wake(lock);
}

/* In the child of a fork, whose only thread holds it: free, without waking anybody. */
static inline void mw_lock_reset(mw_lock_t *lock, mw_lock_rank_t rank) {
	mw_lock_rank_pop(rank);
	atomic_store_explicit(&lock->state, 0, memory_order_relaxed);
}

#endif
