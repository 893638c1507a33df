/* SPDX-License-Identifier: MIT
 * limit.c -- limits on the heap's bytes. */
#include "heap/memory/limit.h"

#include "heap/memory/chunk.h"
#include "os/file/proc.h"

/* Least kept bytes that are worth the system calls at each page above the soft limit. */
#define PURGE_MIN_BYTES ((size_t)1 << 20)
/* Most waits for requests of other threads, which are between begin and end for a system call at
 * most. */
#define WAIT_TURNS 64u

_Atomic size_t mw_limit_watch_bytes = SIZE_MAX;
_Atomic unsigned mw_limit_unreported; /* bit per mw_pressure_t */

/* All relaxed: the numbers order no other memory accesses, and a limit may take effect a moment
 * late. */
static struct {
	_Atomic size_t soft_bytes, hard_bytes;
	_Atomic size_t begun_bytes; /* of requests between begin and end */
	_Atomic size_t soft_passes, hard_refusals;
	_Atomic size_t reported_bytes[MW_PRESSURE_COUNT]; /* of the event that the hook has not
							     received yet */
	_Atomic bool soft_passed, hard_passed; /* the hook was called, and the heap was not a tenth
						  below the limit since then */
} limit = {.soft_bytes = SIZE_MAX, .hard_bytes = SIZE_MAX};

static size_t load(_Atomic size_t *word) {
	return atomic_load_explicit(word, memory_order_relaxed);
}

void mw_limit_set(size_t soft_bytes, size_t hard_bytes) {
	atomic_store_explicit(&limit.soft_bytes, soft_bytes, memory_order_relaxed);
	atomic_store_explicit(&limit.hard_bytes, hard_bytes, memory_order_relaxed);
	atomic_store_explicit(&mw_limit_watch_bytes,
			      soft_bytes < hard_bytes ? soft_bytes : hard_bytes,
			      memory_order_relaxed);
	atomic_store_explicit(&limit.soft_passed, false, memory_order_relaxed);
	atomic_store_explicit(&limit.hard_passed, false, memory_order_relaxed);
}

static void passed(mw_pressure_t pressure, _Atomic bool *is_passed, size_t bytes) {
	if (atomic_exchange_explicit(is_passed, true, memory_order_relaxed))
		return;
	atomic_store_explicit(&limit.reported_bytes[pressure], bytes, memory_order_relaxed);
	/* Release: pairs with the exchange in mw_limit_report_slow(). */
	atomic_fetch_or_explicit(&mw_limit_unreported, 1u << pressure, memory_order_release);
}

static void rearm(_Atomic bool *is_passed, size_t bytes, size_t limit_bytes) {
	if (bytes < limit_bytes - limit_bytes / 10)
		atomic_store_explicit(is_passed, false, memory_order_relaxed);
}

static size_t kept_bytes(void) {
	return mw_chunk_dirty_bytes() + mw_huge_cached_bytes();
}

static void purge(void) {
	mw_huge_purge(true);
	mw_chunk_purge(true);
}

static void look_at_soft(size_t bytes) {
	size_t soft = load(&limit.soft_bytes);
	size_t wanted = mw_heap_in_use_bytes() + bytes;
	rearm(&limit.soft_passed, wanted, soft);
	if (wanted + kept_bytes() > soft && kept_bytes() >= PURGE_MIN_BYTES)
		purge();
	if (wanted <= soft)
		return;
	if (!atomic_load_explicit(&limit.soft_passed, memory_order_relaxed))
		atomic_fetch_add_explicit(&limit.soft_passes, 1, memory_order_relaxed);
	passed(MW_PRESSURE_SOFT, &limit.soft_passed, wanted);
}

bool mw_limit_begin_slow(size_t bytes) {
	size_t hard = load(&limit.hard_bytes);
	if (bytes <= PTRDIFF_MAX)
		look_at_soft(bytes);
	/* Counted before the comparison: of two simultaneous requests only one gets the last bytes.
	 */
	atomic_fetch_add_explicit(&limit.begun_bytes, bytes, memory_order_relaxed);
	size_t wanted = 0;
	for (unsigned turn = 0; turn < WAIT_TURNS; turn++) {
		size_t begun = load(&limit.begun_bytes), in_use = mw_heap_in_use_bytes();
		wanted = in_use + bytes;
		if (bytes <= hard && in_use <= hard - bytes && in_use + begun <= hard) {
			rearm(&limit.hard_passed, wanted, hard);
			if (wanted + kept_bytes() > hard)
				purge();
			return true;
		}
		if (begun <= bytes)
			break;
		mw_os_back_off(turn); /* requests of other threads may count twice, or be refused */
	}
	mw_limit_end_slow(bytes);
	atomic_fetch_add_explicit(&limit.hard_refusals, 1, memory_order_relaxed);
	passed(MW_PRESSURE_HARD, &limit.hard_passed, wanted);
	return false;
}

void mw_limit_end_slow(size_t bytes) {
	atomic_fetch_sub_explicit(&limit.begun_bytes, bytes, memory_order_relaxed);
}

void mw_limit_fork_child(void) {
	atomic_store_explicit(&limit.begun_bytes, 0, memory_order_relaxed);
}

void mw_limit_stats(mw_limit_stats_t *stats) {
	size_t soft = load(&limit.soft_bytes), hard = load(&limit.hard_bytes);
	*stats = (mw_limit_stats_t){
		.soft_bytes = soft == SIZE_MAX ? 0 : soft,
		.hard_bytes = hard == SIZE_MAX ? 0 : hard,
		.soft_passes = load(&limit.soft_passes),
		.hard_refusals = load(&limit.hard_refusals),
	};
}

void mw_limit_report_slow(mw_limit_reported_t *report) {
	/* Acquire: pairs with passed(). */
	unsigned unreported =
		atomic_exchange_explicit(&mw_limit_unreported, 0, memory_order_acquire);
	if (unreported & 1u << MW_PRESSURE_SOFT)
		report(MW_PRESSURE_SOFT, load(&limit.reported_bytes[MW_PRESSURE_SOFT]),
		       load(&limit.soft_bytes));
	if (unreported & 1u << MW_PRESSURE_HARD)
		report(MW_PRESSURE_HARD, load(&limit.reported_bytes[MW_PRESSURE_HARD]),
		       load(&limit.hard_bytes));
}
