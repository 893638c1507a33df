/* SPDX-License-Identifier: MIT
 * lock.h -- a futex lock, zero-initialised, with a rank, and what was seen of waiting for it.
 * Layer: os.  Not for signal or unwind paths.  Fork: the holder's module takes it in its prepare
 * handler (mw_lock_fork_acquire) and releases it in parent and child.  In debug builds a thread
 * that takes locks out of rank order (base/lock_rank.h) ends the program; in all builds one that
 * would wait for itself does: a signal handler allocates in the middle of an allocation. */
#ifndef MW_OS_LOCK_H
#define MW_OS_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/lock_rank.h"
#include "os/single.h"

/* Between two looks at a word that another processor is about to change. */
static inline void mw_os_relax(void) {
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Looks at a lock that is taken before its next holder sleeps; -1: it never does.  Set before
 * threads exist.  Holders keep a lock for some hundred instructions: spinning as long beats two
 * system calls. */
#define MW_LOCK_SPIN_TURNS 100
extern int64_t mw_lock_spin_turns;

/* Since the start or the last reset. */
typedef struct mw_lock_stats {
	uint64_t takes;
	uint64_t sleeps;         /* takes that had to sleep for it */
	uint64_t spins;          /* takes that had to wait, but not to sleep */
	uint64_t owner_switches; /* takes by another thread than the one before */
	uint64_t wait_ns, most_wait_ns;
	uint64_t most_waiting; /* threads at once */
} mw_lock_stats_t;
#define MW_LOCK_FIGURES (sizeof(mw_lock_stats_t) / sizeof(uint64_t))

typedef struct mw_lock {
	_Atomic uint32_t state;   /* 0 free, 1 held, 2 held and somebody sleeps */
	_Atomic uint32_t waiting; /* threads that do: sleeping or spinning */
	/* The holder's: others read them while they change. */
	uintptr_t owner; /* the last one's thread pointer */
	mw_lock_stats_t stats;
} mw_lock_t;

/* Bit r: this thread holds a lock of rank r, or is about to. */
extern MW_TLS uint32_t mw_lock_held_ranks;

/* Ends the program when a thread that holds `held_ranks` is about to wait for a holder of this rank
 * or a higher one.  Ranks rise, so that is itself: a signal handler interrupted it. */
void mw_lock_before_wait(mw_lock_rank_t rank, uint32_t held_ranks);
/* The thread did not get the lock at once.  `held_ranks`: those from before. */
void mw_lock_acquire_slow(mw_lock_t *lock, mw_lock_rank_t rank, uint32_t held_ranks);
void mw_lock_wake(mw_lock_t *lock);
#ifdef MW_DEBUG
void mw_lock_rank_check(mw_lock_rank_t rank);
#else
static inline void mw_lock_rank_check(mw_lock_rank_t rank) {
	(void)rank;
}
#endif

/* Before the lock is taken and after it was released, so that a signal in between finds the bit.
 * The fences are for the compiler: only handlers of the same thread look. */
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

static inline void mw_lock_bump(uint64_t *figure, uint64_t by) {
	/* Relaxed, and in two steps: one thread writes at a time, for readers it is one word. */
	__atomic_store_n(figure, *figure + by, __ATOMIC_RELAXED);
}

/* By the new holder. */
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

/* A lock that is taken very often is taken by plain stores in a process with one thread.  That
 * cannot change while it is held, as only its holder could start another thread.  A handler that
 * interrupts the holder finds it taken all the same. */
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

/* The same for a lock that is taken very often. */
static inline void mw_lock_acquire_often(mw_lock_t *lock, mw_lock_rank_t rank) {
	mw_lock_acquire_by(mw_lock_try_often, lock, rank);
}

static inline void mw_lock_release_often(mw_lock_t *lock, mw_lock_rank_t rank) {
	mw_lock_release_by(mw_lock_let_go_often, lock, rank);
}

/* A lock of no rank for which nobody sleeps: who finds it taken comes again, or not at all.  Its
 * `sleeps` are such finds.  In a forked child it is free again by mw_lock_leave(). */
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

/* For fork handlers, which take all locks of a rank at once: no rank check. */
static inline void mw_lock_fork_acquire(mw_lock_t *lock) {
	if (!mw_lock_try(lock))
		mw_lock_acquire_slow(lock, MW_RANK_CONTROL, 0);
}

/* Its counterpart; in the child there is nobody to wake, and nobody waits. */
static inline void mw_lock_fork_release(mw_lock_t *lock, bool in_child) {
	if (in_child)
		atomic_store_explicit(&lock->waiting, 0, memory_order_relaxed);
	/* Pairs with the acquire in mw_lock_try() and mw_lock_acquire_slow(). */
	if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2 && !in_child)
		mw_lock_wake(lock);
}

/* Adds what the lock has counted to *sum, the most of either where that is a most.  Without the
 * lock: each figure is one that was true. */
void mw_lock_add_stats(const mw_lock_t *lock, mw_lock_stats_t *sum);
MW_COLD void mw_lock_reset_stats(mw_lock_t *lock, mw_lock_rank_t rank);

/* The same of a lock that is entered; one that is taken just now keeps its figures. */
MW_COLD void mw_lock_reset_entered(mw_lock_t *lock);

/* Sleeps while *word is `value`, at most for `timeout_ns` (UINT64_MAX: without an end); may return
 * early.  True: the time was up.  errno is kept. */
bool mw_os_wait_while(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);
/* Likewise while *shared, which other processes may change and wake (a word of a mapped file), is
 * `shared_value`, too.  A kernel without futex_waitv(2), before Linux 5.16, looks at it four times
 * a second. */
MW_COLD void mw_os_wait_while_both(_Atomic uint32_t *word, uint32_t value, _Atomic uint32_t *shared,
				   uint32_t shared_value, uint64_t timeout_ns);
/* Wakes one that sleeps on it. */
void mw_os_wake(_Atomic uint32_t *word);

#endif
