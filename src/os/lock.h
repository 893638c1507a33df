/* SPDX-License-Identifier: MIT
 * lock.h -- a futex lock of four bytes, zero-initialised, with a rank.
 * Layer: os.  Not for signal or unwind paths.  Fork: the holder's module takes it in its prepare
 * handler (mw_lock_fork_acquire) and releases it in parent and child.  In debug builds a thread
 * that takes locks out of rank order (base/lock_rank.h) ends the program. */
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

/* Thread pointer of the thread that forks, from the end of its prepare handler, when it holds every
 * lock, to the beginning of its parent or child handler; 0: none.  Handlers of others that run in
 * between may allocate: to them, and only to them, all locks are open. */
extern _Atomic uintptr_t mw_lock_forking;
void mw_lock_fork_begin(void);
void mw_lock_fork_end(void);
static inline bool mw_lock_is_forking(void) {
	/* Relaxed: only the own value counts. */
	uintptr_t forking = atomic_load_explicit(&mw_lock_forking, memory_order_relaxed);
	return __builtin_expect(forking != 0, 0) &&
	       forking == (uintptr_t)__builtin_thread_pointer();
}

static inline bool mw_lock_try(mw_lock_t *lock) {
	uint32_t expected = 0;
	/* Pairs with the release in mw_lock_release(). */
	return atomic_compare_exchange_strong_explicit(&lock->state, &expected, 1,
						       memory_order_acquire, memory_order_relaxed);
}

static inline void mw_lock_acquire(mw_lock_t *lock, mw_lock_rank_t rank) {
	mw_lock_rank_push(rank);
	if (!mw_lock_is_forking() && !mw_lock_try(lock))
		mw_lock_acquire_slow(lock);
}

static inline void mw_lock_release(mw_lock_t *lock, mw_lock_rank_t rank) {
	mw_lock_rank_pop(rank);
	if (mw_lock_is_forking())
		return;
	/* Pairs with the acquire in mw_lock_try() and mw_lock_acquire_slow(). */
	if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2)
		mw_lock_wake(lock);
}

/* For fork handlers, which take all locks of a rank at once: no rank check. */
static inline void mw_lock_fork_acquire(mw_lock_t *lock) {
	if (!mw_lock_try(lock))
		mw_lock_acquire_slow(lock);
}

/* Its counterpart; in the child there is nobody to wake. */
static inline void mw_lock_fork_release(mw_lock_t *lock, bool in_child) {
	/* Pairs with the acquire in mw_lock_try() and mw_lock_acquire_slow(). */
	if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2 && !in_child)
		mw_lock_wake(lock);
}

#endif
