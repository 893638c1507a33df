/* SPDX-License-Identifier: MIT
 * lock.h -- a futex lock with a rank and with statistics of waiting. All zeros is an unlocked
 * lock.
 * Layer: os/lock, the door of this folder. The folder holds the lock of all modules and waiting on
 * words of memory; it may use src/base, os/platform and os/time. Reading order: futex (sleeps and
 * wakes), lock, stdio_lock (a lock of libc that fork takes).
 *
 * Not for signal or unwind paths. Fork: each module takes its locks in its prepare
 * handler (mw_lock_fork_acquire) and releases them in parent and child. A debug build ends the
 * program if a thread takes locks out of rank order (os/lock/lock_rank.h). Every build ends the
 * program if a thread would wait for itself, as when a signal handler allocates during an
 * allocation. */
#ifndef MW_OS_LOCK_H
#define MW_OS_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/lock/lock_rank.h"
#include "os/platform/single.h"

/* How often a thread tries to take a held lock before it sleeps; -1: it never sleeps. Set before
 * threads exist. A holder keeps a lock for some hundred instructions: spinning for that time is
 * shorter than two system calls. */
#define MW_LOCK_SPINS 100
extern int64_t mw_lock_spins_max;

/* Counts since the start or the last reset. */
typedef struct mw_lock_stats {
	uint64_t takes;
	uint64_t sleeps;         /* acquisitions that slept */
	uint64_t spins;          /* acquisitions that spun but did not sleep */
	uint64_t owner_switches; /* acquisitions by another thread than the previous one */
	uint64_t wait_ns, most_wait_ns;
	uint64_t most_waiting; /* largest number of threads that waited at once */
} mw_lock_stats_t;
#define MW_LOCK_FIGURES (sizeof(mw_lock_stats_t) / sizeof(uint64_t))

typedef struct mw_lock {
	_Atomic uint32_t state;   /* 0: unlocked; 1: locked; 2: locked, and a thread may sleep */
	_Atomic uint32_t waiting; /* number of threads that sleep or spin */
	/* Written by the holder; other threads may read them at any time. */
	uintptr_t owner; /* thread pointer of the last holder */
	mw_lock_stats_t stats;
} mw_lock_t;

/* Bit r: this thread holds a lock of rank r, or is about to take it. */
extern MW_TLS uint32_t mw_lock_held_ranks;

/* Called before a thread that holds locks of `held_ranks` waits for a lock of `rank`. Ends the
 * program if the thread holds a lock of that rank or a higher one: since ranks rise, the thread
 * would wait for itself, because a signal handler interrupted it. */
void mw_lock_before_wait(mw_lock_rank_t rank, uint32_t held_ranks);
/* Waits for a lock that was not free. `held_ranks`: ranks of the locks that the thread holds. */
void mw_lock_acquire_slow(mw_lock_t *lock, mw_lock_rank_t rank, uint32_t held_ranks);
void mw_lock_wake(mw_lock_t *lock);
#ifdef MW_DEBUG
void mw_lock_rank_check(mw_lock_rank_t rank);
#else
static inline void mw_lock_rank_check(mw_lock_rank_t rank) {
	(void)rank;
}
#endif

/* The bit is set before the lock is taken and cleared after it is released, so that a signal
 * handler in between finds it. The fences bind only the compiler: only handlers of the same thread
 * read the bit. */
static inline uint32_t mw_lock_rank_push(mw_lock_rank_t rank) {
	mw_lock_rank_check(rank);
	uint32_t held_ranks = mw_lock_held_ranks;
	mw_lock_held_ranks = held_ranks | 1u << rank;
	atomic_signal_fence(memory_order_seq_cst);
	return held_ranks;
}

static inline void mw_lock_rank_pop(mw_lock_rank_t rank) {
	atomic_signal_fence(memory_order_seq_cst);
	mw_lock_held_ranks &= ~(1u << rank);
}

/* Thread pointer of the thread that forks; 0: none. Set at the end of mallow's prepare handler,
 * when the thread holds every lock, and cleared at the beginning of its parent or child handler.
 * Fork handlers of libraries that run in between may allocate: the forking thread skips all locks
 * then. */
extern _Atomic uintptr_t mw_lock_forking;
void mw_lock_fork_begin(void);
void mw_lock_fork_end(void);
static inline bool mw_lock_is_forking(void) {
	/* Relaxed: a thread compares the value only with its own thread pointer. */
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

static inline void mw_lock_bump(uint64_t *figure, uint64_t by) {
	/* Relaxed load and store: one thread writes at a time, and a reader sees one whole word. */
	__atomic_store_n(figure, *figure + by, __ATOMIC_RELAXED);
}

/* Counts an acquisition. Called by the new holder. */
static inline void mw_lock_count(mw_lock_t *lock) {
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	mw_lock_bump(&lock->stats.takes, 1);
	if (lock->owner != self) {
		lock->owner = self;
		mw_lock_bump(&lock->stats.owner_switches, 1);
	}
}

static inline void mw_lock_let_go(mw_lock_t *lock) {
	/* Pairs with the acquire in mw_lock_try() and lock.c's. */
	if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2)
		mw_lock_wake(lock);
}

/* For a lock that is taken very often: in a process with one thread it is taken by a plain store.
 * The number of threads cannot change while the lock is held, because only the holder could start a
 * thread. A signal handler that interrupts the holder still finds the lock taken. */
static inline bool mw_lock_try_often(mw_lock_t *lock) {
	if (!mw_os_is_single_threaded())
		return mw_lock_try(lock);
	if (atomic_load_explicit(&lock->state, memory_order_relaxed) != 0)
		return false;
	atomic_store_explicit(&lock->state, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static inline void mw_lock_let_go_often(mw_lock_t *lock) {
	if (!mw_os_is_single_threaded()) {
		mw_lock_let_go(lock);
		return;
	}
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&lock->state, 0, memory_order_relaxed);
}

MW_ALWAYS_INLINE void mw_lock_acquire_by(bool (*try)(mw_lock_t *), mw_lock_t *lock,
					 mw_lock_rank_t rank) {
	uint32_t held_ranks = mw_lock_rank_push(rank);
	if (mw_lock_is_forking())
		return;
	if (!try(lock))
		mw_lock_acquire_slow(lock, rank, held_ranks);
	mw_lock_count(lock);
}

MW_ALWAYS_INLINE void mw_lock_release_by(void (*let_go)(mw_lock_t *), mw_lock_t *lock,
					 mw_lock_rank_t rank) {
	if (!mw_lock_is_forking())
		let_go(lock);
	mw_lock_rank_pop(rank);
}

static inline void mw_lock_acquire(mw_lock_t *lock, mw_lock_rank_t rank) {
	mw_lock_acquire_by(mw_lock_try, lock, rank);
}

static inline void mw_lock_release(mw_lock_t *lock, mw_lock_rank_t rank) {
	mw_lock_release_by(mw_lock_let_go, lock, rank);
}

/* Like mw_lock_acquire(), for a lock that is taken very often. */
static inline void mw_lock_acquire_often(mw_lock_t *lock, mw_lock_rank_t rank) {
	mw_lock_acquire_by(mw_lock_try_often, lock, rank);
}

static inline void mw_lock_release_often(mw_lock_t *lock, mw_lock_rank_t rank) {
	mw_lock_release_by(mw_lock_let_go_often, lock, rank);
}

/* Tries to take a lock without rank, on which no thread sleeps: a caller that gets false tries
 * again later or gives up. `sleeps` counts these failures. mw_lock_leave() frees the lock in a
 * forked child. */
static inline bool mw_lock_enter(mw_lock_t *lock) {
	if (!mw_lock_try(lock)) {
		__atomic_fetch_add(&lock->stats.sleeps, 1, __ATOMIC_RELAXED);
		return false;
	}
	mw_lock_count(lock);
	return true;
}

static inline void mw_lock_leave(mw_lock_t *lock) {
	/* Pairs with the acquire in mw_lock_try(). */
	atomic_store_explicit(&lock->state, 0, memory_order_release);
}

/* For fork handlers, which take all locks of a rank at once: no rank is checked. */
static inline void mw_lock_fork_acquire(mw_lock_t *lock) {
	if (!mw_lock_try(lock))
		mw_lock_acquire_slow(lock, MW_RANK_CONTROL, 0);
}

/* Releases what mw_lock_fork_acquire() took. The child has no other threads, so nothing is woken
 * there. */
static inline void mw_lock_fork_release(mw_lock_t *lock, bool in_child) {
	if (in_child)
		atomic_store_explicit(&lock->waiting, 0, memory_order_relaxed);
	/* Pairs with the acquire in mw_lock_try() and mw_lock_acquire_slow(). */
	if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2 && !in_child)
		mw_lock_wake(lock);
}

/* Adds the lock's statistics to *sum; of most_wait_ns and most_waiting it keeps the larger value.
 * Does not take the lock: each value was current at some time. */
void mw_lock_add_stats(const mw_lock_t *lock, mw_lock_stats_t *sum);
MW_COLD void mw_lock_reset_stats(mw_lock_t *lock, mw_lock_rank_t rank);

/* Sets the statistics of a lock for mw_lock_enter() to zero, unless a thread holds the lock. */
MW_COLD void mw_lock_reset_entered(mw_lock_t *lock);

#endif
