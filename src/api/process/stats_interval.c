/* SPDX-License-Identifier: MIT
 * stats_interval.c -- adds up the bytes that threads allocated, and prints statistics at each full
 * interval. */
#include "api/process/stats_interval.h"

#include <errno.h>
#include <stdatomic.h>

#include "api/process/compat_hooks.h"
#include "heap/local/counts.h"
#include "heap/local/heap.h"

bool mw_api_has_interval;

static struct {
	uint64_t bytes;
	const char *letters;
	_Atomic uint64_t given_bytes; /* bytes that all threads allocated since the last print */
} interval;

static MW_TLS struct {
	uint64_t seen_bytes; /* bytes of this thread that given_bytes includes */
	bool printing;
} thread;

void mw_api_stats_every(uint64_t bytes, const char *letters) {
	interval.bytes = bytes ? bytes : 1;
	interval.letters = letters;
	mw_api_has_interval = mw_thread.watched = true;
}

/* Adds the bytes to the sum. If the sum has reached the interval, reduces it modulo the interval
 * and returns true; else returns false. */
static bool take_interval(uint64_t given_bytes) {
	uint64_t sum = given_bytes + atomic_fetch_add_explicit(&interval.given_bytes, given_bytes,
							       memory_order_relaxed);
	while (sum >= interval.bytes)
		if (atomic_compare_exchange_weak_explicit(
			    &interval.given_bytes, &sum, sum % interval.bytes, memory_order_relaxed,
			    memory_order_relaxed))
			return true;
	return false;
}

void mw_api_check_interval(void) {
	uint64_t given_bytes = mw_heap_thread_given_bytes();
	/* If the heap is a cached one, its counter includes bytes of an earlier thread. */
	uint64_t more = given_bytes > thread.seen_bytes ? given_bytes - thread.seen_bytes : 0;
	if (thread.printing || !take_interval(more)) {
		thread.seen_bytes = given_bytes;
		return;
	}
	int saved_errno = errno;
	thread.seen_bytes = given_bytes;
	thread.printing = true;
	mw_compat_print_stats(interval.letters);
	thread.printing = false;
	errno = saved_errno;
}
