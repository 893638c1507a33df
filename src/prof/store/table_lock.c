/* SPDX-License-Identifier: MIT
 * table_lock.c -- waits for the tables' lock, and takes it over after a time limit. */
#include "prof/store/table_lock.h"

#include "os/file/proc.h"
#include "os/lock/futex.h"
#include "os/lock/lock.h"
#include "os/time/clock.h"

/* Longest wait for threads that are inside, or until the tables are open again. */
#define WAIT_MAX_NS UINT64_C(200000000)
/* Longest wait before the lock is taken over from an owner that keeps it. A sample takes
 * microseconds, or milliseconds if its pages must be fetched; its thread may wait for a processor
 * that hundreds of threads share. */
#define OWNER_MAX_NS (5 * WAIT_MAX_NS)
/* While the tables are quiesced the wait for the owner is longer by this factor. */
#define QUIESCED_FACTOR 10u
#ifdef MW_TESTING
uint64_t mw_table_lock_wait_max_ns = OWNER_MAX_NS;
_Atomic uint64_t mw_table_lock_takeovers;
#define LOCK_WAIT_MAX_NS mw_table_lock_wait_max_ns
#else
#define LOCK_WAIT_MAX_NS OWNER_MAX_NS
#endif
/* Longest time between two reads of the clock that counts as waiting: a longer time means that the
 * whole process was stopped. */
#define PASSED_MAX_NS (WAIT_MAX_NS / 8)
/* Tries before the thread yields the processor: about as long as a sample takes. */
#define TRIES 100

MW_TLS char mw_table_lock_self;

static bool try_for_a_while(mw_table_lock_t *lock) {
	for (int i = 0; i < TRIES; i++) {
		if (atomic_load_explicit(&lock->owner, memory_order_relaxed) == 0 &&
		    mw_tables_try_lock(lock))
			return true;
		mw_os_relax();
	}
	return false;
}

static bool is_own(mw_table_lock_t *lock) {
	return atomic_load_explicit(&lock->owner, memory_order_relaxed) ==
	       (uintptr_t)&mw_table_lock_self;
}

/* Time that a thread has waited for the owner that has the lock now. */
typedef struct wait {
	uint64_t waited_ns, looked_ns;
	uint32_t taken; /* the lock's, when the wait for this owner began */
} wait_t;

static void count_wait(wait_t *wait, mw_table_lock_t *lock) {
	uint64_t now_ns = mw_os_monotonic_ns(), passed_ns = now_ns - wait->looked_ns;
	uint32_t taken = atomic_load_explicit(&lock->taken, memory_order_relaxed);
	wait->waited_ns += passed_ns < PASSED_MAX_NS ? passed_ns : PASSED_MAX_NS;
	if (taken != wait->taken)
		wait->waited_ns = 0;
	wait->taken = taken;
	wait->looked_ns = now_ns;
}

/* `quiescing`: this thread is one of those that quiesce the tables. */
static bool has_waited_long(const wait_t *wait, mw_table_lock_t *lock, bool quiescing) {
	bool quiesced = atomic_load_explicit(&lock->closed, memory_order_relaxed) > quiescing;
	return wait->waited_ns >= LOCK_WAIT_MAX_NS * (quiesced ? QUIESCED_FACTOR : 1);
}

/* Returns false if the owner has changed meanwhile. */
static bool take_over(mw_table_lock_t *lock) {
	uintptr_t owner = atomic_load_explicit(&lock->owner, memory_order_relaxed);
	/* Acquire, as for any lock. A stopped owner may not have written all of its data. */
	if (owner == 0 || !atomic_compare_exchange_strong_explicit(
				  &lock->owner, &owner, (uintptr_t)&mw_table_lock_self,
				  memory_order_acquire, memory_order_relaxed))
		return false;
	/* Others that waited for the former owner wait for this one anew. */
	atomic_fetch_add_explicit(&lock->taken, 1, memory_order_relaxed);
#ifdef MW_TESTING
	atomic_fetch_add_explicit(&mw_table_lock_takeovers, 1, memory_order_relaxed);
#endif
	return true;
}

static bool lock_slowly(mw_table_lock_t *lock, bool quiescing) {
	/* A signal handler interrupted a sample of its own thread, or this thread forks, has
	 * quiesced the tables, and runs another library's fork handler. */
	if (is_own(lock) || mw_lock_is_forking())
		return false;
	wait_t wait = {.looked_ns = mw_os_monotonic_ns(),
		       .taken = atomic_load_explicit(&lock->taken, memory_order_relaxed)};
	for (unsigned looks = 0; !try_for_a_while(lock); looks++) {
		if (has_waited_long(&wait, lock, quiescing) && take_over(lock))
			break;
		mw_os_back_off(looks);
		count_wait(&wait, lock);
	}
	return true;
}

bool mw_tables_lock_slowly(mw_table_lock_t *lock) {
	return lock_slowly(lock, false);
}

void mw_tables_wait_open(mw_table_lock_t *lock) {
	/* This thread forks, has quiesced the tables, and runs another library's fork handler. */
	if (mw_lock_is_forking())
		return;
	/* A thread that keeps the tables quiesced for long holds the control lock. */
	mw_lock_before_wait(MW_RANK_CONTROL, mw_lock_held_ranks);
	uint64_t deadline = mw_os_monotonic_ns() + WAIT_MAX_NS;
	for (;;) {
		atomic_fetch_sub_explicit(&lock->inside, 1, memory_order_seq_cst);
		/* Pairs with the release in mw_tables_resume(). */
		for (unsigned looks = 0;
		     atomic_load_explicit(&lock->closed, memory_order_acquire) != 0 &&
		     mw_os_monotonic_ns() < deadline;
		     looks++)
			mw_os_back_off(looks);
		atomic_fetch_add_explicit(&lock->inside, 1, memory_order_seq_cst);
		if (atomic_load_explicit(&lock->closed, memory_order_seq_cst) == 0 ||
		    mw_os_monotonic_ns() >= deadline)
			return;
	}
}

static void wait_until_empty(mw_table_lock_t *lock) {
	uint64_t deadline = 0;
	int32_t inside;
	unsigned looks = 0;
	while ((inside = atomic_load_explicit(&lock->inside, memory_order_seq_cst)) > 0) {
		uint64_t now = mw_os_monotonic_ns();
		if (deadline == 0)
			deadline = now + WAIT_MAX_NS;
		if (now >= deadline) {
			/* These threads do not leave any more. If one does, the count falls below
			 * zero, which counts as empty. */
			atomic_fetch_sub_explicit(&lock->inside, inside, memory_order_seq_cst);
			return;
		}
		mw_os_back_off(looks++);
	}
}

bool mw_tables_quiesce(mw_table_lock_t *lock) {
	atomic_fetch_add_explicit(&lock->closed, 1, memory_order_seq_cst);
	wait_until_empty(lock);
	if (mw_os_is_single_threaded())
		return false;
	return mw_tables_try_lock(lock) || lock_slowly(lock, true);
}

void mw_tables_resume(mw_table_lock_t *lock, bool locked) {
	mw_tables_unlock(lock, locked);
	/* Pairs with the loads in mw_tables_enter() and mw_tables_wait_open(). */
	atomic_fetch_sub_explicit(&lock->closed, 1, memory_order_release);
}

void mw_tables_reset_lock(mw_table_lock_t *lock) {
	atomic_store_explicit(&lock->inside, 0, memory_order_relaxed);
	atomic_store_explicit(&lock->closed, 0, memory_order_relaxed);
	atomic_store_explicit(&lock->owner, 0, memory_order_relaxed);
}
