/* SPDX-License-Identifier: MIT
 * lock.c -- the slow path of the futex lock (Drepper, "Futexes Are Tricky", 2011, mutex 2) and the
 * rank check of debug builds. */
#include "os/lock/lock.h"

#include <errno.h>
#include <stddef.h>

#include "base/check.h"
#include "os/lock/futex.h"
#include "os/time/clock.h"

int64_t mw_lock_spins_max = MW_LOCK_SPINS;

_Atomic uintptr_t mw_lock_forking;
MW_TLS uint32_t mw_lock_held_ranks;

void mw_lock_before_wait(mw_lock_rank_t rank, uint32_t held_ranks) {
	if (held_ranks >> rank)
		mw_fatal("malloc or free was called in the midst of malloc or free of the same "
			 "thread, and would wait for itself forever: by a signal handler "
			 "(signal-safety(7) lists what handlers may call), or by a function of "
			 "libc that a library replaces");
}

static bool spin(mw_lock_t *lock) {
	for (int64_t i = 0; i != mw_lock_spins_max; i++) {
		if (atomic_load_explicit(&lock->state, memory_order_relaxed) == 0 &&
		    mw_lock_try(lock))
			return true;
		mw_os_relax();
	}
	return false;
}

/* Takes the lock, or marks that a thread sleeps on it. */
static bool get_or_mark(mw_lock_t *lock) {
	/* Pairs with the release in mw_lock_let_go(). */
	return atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) == 0;
}

static void sleep_for(mw_lock_t *lock) {
	uint64_t start_ns = mw_os_monotonic_ns();
	while (!get_or_mark(lock))
		mw_os_wait_while(&lock->state, 2, UINT64_MAX);
	uint64_t wait_ns = mw_os_monotonic_ns() - start_ns;
	mw_lock_bump(&lock->stats.sleeps, 1);
	mw_lock_bump(&lock->stats.wait_ns, wait_ns);
	if (wait_ns > lock->stats.most_wait_ns)
		__atomic_store_n(&lock->stats.most_wait_ns, wait_ns, __ATOMIC_RELAXED);
}

void mw_lock_acquire_slow(mw_lock_t *lock, mw_lock_rank_t rank, uint32_t held_ranks) {
	mw_lock_before_wait(rank, held_ranks);
	int saved_errno = errno;
	uint64_t waiting = atomic_fetch_add_explicit(&lock->waiting, 1, memory_order_relaxed) + 1u;
	if (spin(lock))
		mw_lock_bump(&lock->stats.spins, 1);
	else
		sleep_for(lock);
	atomic_fetch_sub_explicit(&lock->waiting, 1, memory_order_relaxed);
	/* This thread holds the lock, and so may write its statistics. */
	if (waiting > lock->stats.most_waiting)
		__atomic_store_n(&lock->stats.most_waiting, waiting, __ATOMIC_RELAXED);
	errno = saved_errno;
}

static void take_more(uint64_t *most, const uint64_t *other) {
	uint64_t value = __atomic_load_n(other, __ATOMIC_RELAXED);
	if (value > *most)
		*most = value;
}

void mw_lock_add_stats(const mw_lock_t *lock, mw_lock_stats_t *sum) {
	const mw_lock_stats_t *stats = &lock->stats;
	sum->takes += __atomic_load_n(&stats->takes, __ATOMIC_RELAXED);
	sum->sleeps += __atomic_load_n(&stats->sleeps, __ATOMIC_RELAXED);
	sum->spins += __atomic_load_n(&stats->spins, __ATOMIC_RELAXED);
	sum->owner_switches += __atomic_load_n(&stats->owner_switches, __ATOMIC_RELAXED);
	sum->wait_ns += __atomic_load_n(&stats->wait_ns, __ATOMIC_RELAXED);
	take_more(&sum->most_wait_ns, &stats->most_wait_ns);
	take_more(&sum->most_waiting, &stats->most_waiting);
}

static MW_COLD void clear_stats(mw_lock_t *lock) {
	uint64_t *figures = (uint64_t *)(void *)&lock->stats;
	for (size_t i = 0; i < MW_LOCK_FIGURES; i++)
		__atomic_store_n(&figures[i], 0, __ATOMIC_RELAXED);
}

void mw_lock_reset_stats(mw_lock_t *lock, mw_lock_rank_t rank) {
	mw_lock_acquire(lock, rank);
	clear_stats(lock);
	mw_lock_release(lock, rank);
}

void mw_lock_reset_entered(mw_lock_t *lock) {
	if (!mw_lock_enter(lock))
		return;
	clear_stats(lock);
	mw_lock_leave(lock);
}

void mw_lock_wake(mw_lock_t *lock) {
	mw_os_wake(&lock->state);
}

void mw_lock_fork_begin(void) {
	atomic_store_explicit(&mw_lock_forking, (uintptr_t)__builtin_thread_pointer(),
			      memory_order_relaxed);
}

void mw_lock_fork_end(void) {
	atomic_store_explicit(&mw_lock_forking, 0, memory_order_relaxed);
}

#ifdef MW_DEBUG
void mw_lock_rank_check(mw_lock_rank_t rank) {
	if (mw_lock_held_ranks >> rank)
		mw_fatal("lock of rank %d taken while holding ranks %#x", (int)rank,
			 mw_lock_held_ranks);
}
#endif
