/* SPDX-License-Identifier: MIT
 * futex_lock.h -- a lock and a counter that threads wait for, by futex(2).
 * Layer: compat/gperftools. pthread_mutex_trylock(3) and sem_post(3) are in libpthread with glibc
 * before 2.34, which the process may lack; without it libc's pthread_mutex_lock() takes nothing.
 *
 * Trying a lock and raising a counter are async-signal-safe. errno kept. */
#ifndef MW_COMPAT_GPERFTOOLS_FUTEX_LOCK_H
#define MW_COMPAT_GPERFTOOLS_FUTEX_LOCK_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "os/platform/system_call.h"

/* 0: free; 1: taken; 2: taken, and another thread may sleep. Zero-initialised. */
typedef struct mw_gp_lock {
	_Atomic uint32_t state;
} mw_gp_lock_t;

/* Returns false if the time came; `until`: by CLOCK_REALTIME, NULL: waits without limit. May return
 * early. */
static inline bool mw_gp_sleep_while(_Atomic uint32_t *word, uint32_t value,
				     const struct timespec *until) {
	int saved_errno = errno;
	bool is_over =
		mw_system_call(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME,
			       value, until, NULL, FUTEX_BITSET_MATCH_ANY) == -1 &&
		errno == ETIMEDOUT;
	errno = saved_errno;
	return !is_over;
}

static inline void mw_gp_wake(_Atomic uint32_t *word, int threads) {
	int saved_errno = errno;
	mw_system_call(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
	errno = saved_errno;
}

static inline bool mw_gp_lock_try(mw_gp_lock_t *lock) {
	uint32_t state = 0;
	/* Pairs with the release in mw_gp_unlock(). */
	return atomic_compare_exchange_strong_explicit(&lock->state, &state, 1,
						       memory_order_acquire, memory_order_relaxed);
}

static inline void mw_gp_lock(mw_gp_lock_t *lock) {
	if (mw_gp_lock_try(lock))
		return;
	/* Pairs with the release in mw_gp_unlock(). */
	while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0)
		mw_gp_sleep_while(&lock->state, 2, NULL);
}

static inline void mw_gp_unlock(mw_gp_lock_t *lock) {
	/* Pairs with the acquire of the next holder. */
	if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2)
		mw_gp_wake(&lock->state, 1);
}

/* A function that is called once in the life of a process. Zero-initialised. */
typedef struct mw_gp_once {
	mw_gp_lock_t lock;
	_Atomic bool is_done;
} mw_gp_once_t;

/* Returns when the call has returned, whoever made it. */
static inline void mw_gp_call_once(mw_gp_once_t *once, void (*function)(void)) {
	/* Pairs with the release below. */
	if (atomic_load_explicit(&once->is_done, memory_order_acquire))
		return;
	mw_gp_lock(&once->lock);
	if (!atomic_load_explicit(&once->is_done, memory_order_relaxed))
		function();
	atomic_store_explicit(&once->is_done, true, memory_order_release);
	mw_gp_unlock(&once->lock);
}

/* A counter. Zero-initialised. */
typedef struct mw_gp_counter {
	_Atomic uint32_t value;
} mw_gp_counter_t;

static inline void mw_gp_counter_raise(mw_gp_counter_t *counter) {
	atomic_fetch_add(&counter->value, 1);
	mw_gp_wake(&counter->value, 1);
}

/* Waits until the counter is above 0, and lowers it by 1; not if the time comes before. */
static inline void mw_gp_counter_lower(mw_gp_counter_t *counter, const struct timespec *until) {
	for (;;) {
		uint32_t value = atomic_load(&counter->value);
		while (value > 0)
			if (atomic_compare_exchange_weak(&counter->value, &value, value - 1))
				return;
		if (!mw_gp_sleep_while(&counter->value, 0, until))
			return;
	}
}

#endif
