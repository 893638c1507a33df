/* SPDX-License-Identifier: MIT
 * interval.c -- adds up what threads were given, and prints at each full interval. */
#include "api/interval.h"

#include <errno.h>
#include <stdatomic.h>

#include "api/jemalloc.h"
#include "heap/heap.h"

bool mw_api_has_interval;

static struct {
	uint64_t bytes;
	const char *letters;
	_Atomic uint64_t given_bytes; /* of all threads, since the last print */
} interval;

static MW_TLS struct {
	uint64_t seen_bytes; /* of this thread, added to the sum of all */
	bool printing;
} thread;

void mw_api_stats_every(uint64_t bytes, const char *letters) {
	interval.bytes = bytes ? bytes : 1;
	interval.letters = letters;
	mw_api_has_interval = mw_thread.watched = true;
}

/* A share of it that one print is for; false: there is none. */
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

void mw_api_look_at_interval(void) {
	uint64_t given_bytes = mw_heap_thread_given_bytes();
	/* The heap may have been another thread's. */
	uint64_t more = given_bytes > thread.seen_bytes ? given_bytes - thread.seen_bytes : 0;
	if (thread.printing || !take_interval(more)) {
		thread.seen_bytes = given_bytes;
		return;
	}
	int saved_errno = errno;
	thread.seen_bytes = given_bytes;
	thread.printing = true;
	malloc_stats_print(NULL, NULL, interval.letters);
	thread.printing = false;
	errno = saved_errno;
}
