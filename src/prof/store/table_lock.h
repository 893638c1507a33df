/* SPDX-License-Identifier: MIT
 * table_lock.h -- the lock of the profile's tables, and how to quiesce them (stop all writers).
 * Layer: prof/store. A sample and the free of a sample each hold the lock for some 50 ns, so
 * counters of the tables need no locked additions (doc/adr/0017-profile-table-lock.md). Ticks and
 * heap walks take longer and write other entries: they run without the lock, between
 * mw_tables_enter() and mw_tables_leave(). A reset, a fork and the publication of the state file
 * quiesce the tables: they wait until no thread is between these two calls, and hold the lock.
 *
 * A thread that saw one owner hold the lock for a second takes it over: a signal handler that
 * leaves malloc by longjmp never releases the lock, and a debugger may stop the owner. A thread
 * that quiesces the tables may hold the lock for ten seconds: a fork of a large process takes long.
 * Only the current owner can release the lock, so a former owner that continues later releases
 * nothing. Until then it may still write single words of counters and records, whose memory never
 * moves and is never unmapped (store.h). Counters that it sets back lose what was counted
 * meanwhile. */
#ifndef MW_PROF_STORE_TABLE_LOCK_H
#define MW_PROF_STORE_TABLE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/platform/single.h"

typedef struct mw_table_lock {
	/* Address of the owner's mw_table_lock_self; 0: the lock is free. On a cache line of its
	 * own, apart from fields that seldom change. */
	_Alignas(MW_CACHE_LINE_BYTES) _Atomic uintptr_t owner;
	/* How often the lock was taken: a waiting thread learns from it that the lock had other
	 * owners. Written by the owner. */
	_Atomic uint32_t taken;
	_Atomic int32_t inside;  /* threads between mw_tables_enter() and mw_tables_leave() */
	_Atomic uint32_t closed; /* threads that quiesce the tables */
} mw_table_lock_t;

/* Its address identifies the thread. */
extern MW_TLS char mw_table_lock_self;

#ifdef MW_TESTING
/* How long a thread waits for the lock before it takes the lock over, and how often that
 * happened. */
extern uint64_t mw_table_lock_wait_max_ns;
extern _Atomic uint64_t mw_table_lock_takeovers;
#endif

MW_COLD bool mw_tables_lock_slowly(mw_table_lock_t *lock);

static inline bool mw_tables_try_lock(mw_table_lock_t *lock) {
	uintptr_t nobody = 0;
	/* Pairs with the release in mw_tables_unlock(). */
	if (!atomic_compare_exchange_strong_explicit(&lock->owner, &nobody,
						     (uintptr_t)&mw_table_lock_self,
						     memory_order_acquire, memory_order_relaxed))
		return false;
	uint32_t taken = atomic_load_explicit(&lock->taken, memory_order_relaxed);
	atomic_store_explicit(&lock->taken, taken + 1, memory_order_relaxed);
	return true;
}

/* Takes the lock. The result is passed to mw_tables_unlock(). Returns false if the lock is not
 * needed, or if this thread holds it already in code that a signal handler interrupted. */
static inline bool mw_tables_lock(mw_table_lock_t *lock) {
	if (mw_os_is_single_threaded())
		return false;
	return MW_LIKELY(mw_tables_try_lock(lock)) || mw_tables_lock_slowly(lock);
}

static inline void mw_tables_unlock(mw_table_lock_t *lock, bool locked) {
	uintptr_t self = (uintptr_t)&mw_table_lock_self;
	/* Keeps a lock that another thread has taken over from this one. */
	if (locked)
		atomic_compare_exchange_strong_explicit(&lock->owner, &self, 0,
							memory_order_release, memory_order_relaxed);
}

MW_COLD void mw_tables_wait_open(mw_table_lock_t *lock);

static inline void mw_tables_enter(mw_table_lock_t *lock) {
	/* Sequentially consistent, as in mw_tables_quiesce(): if one thread enters while another
	 * quiesces, at least one of them sees the other. */
	atomic_fetch_add_explicit(&lock->inside, 1, memory_order_seq_cst);
	if (MW_UNLIKELY(atomic_load_explicit(&lock->closed, memory_order_seq_cst) != 0))
		mw_tables_wait_open(lock);
}

/* For signal handlers, which must not wait. Returns false, and nothing is to be left, while a
 * thread quiesces the tables. */
static inline bool mw_tables_try_enter(mw_table_lock_t *lock) {
	/* Sequentially consistent for the reason that mw_tables_enter() gives. */
	atomic_fetch_add_explicit(&lock->inside, 1, memory_order_seq_cst);
	if (atomic_load_explicit(&lock->closed, memory_order_seq_cst) == 0)
		return true;
	atomic_fetch_sub_explicit(&lock->inside, 1, memory_order_seq_cst);
	return false;
}

static inline void mw_tables_leave(mw_table_lock_t *lock) {
	/* Pairs with the loads in mw_tables_quiesce(): the quiescing thread sees all that was
	 * written inside. */
	atomic_fetch_sub_explicit(&lock->inside, 1, memory_order_release);
}

/* Returns when no thread is inside, or after 200 ms, and the caller holds the lock. Must not be
 * called between mw_tables_enter() and mw_tables_leave(). The result is passed to
 * mw_tables_resume(). */
MW_COLD bool mw_tables_quiesce(mw_table_lock_t *lock);
MW_COLD void mw_tables_resume(mw_table_lock_t *lock, bool locked);
/* Called in the child of a fork: no thread holds the lock, and none is inside. */
MW_COLD void mw_tables_reset_lock(mw_table_lock_t *lock);

#endif
