/* SPDX-License-Identifier: MIT
 * growth.c -- stacks that made the heap grow.
 *
 * The entries lie in memory of the library, of which only used pages are resident: the function
 * that records runs inside of malloc(), where nothing can be allocated. */
#include "compat/gperftools/profile/growth.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "compat/gperftools/futex_lock.h"
#include "compat/gperftools/gperftools.h"

#define ENTRIES 4096u
/* gperftools takes at least so much from the system. */
#define STEP_BYTES ((size_t)1 << 20)

static struct {
	mw_gp_lock_t lock;
	_Atomic size_t highest_bytes;
	size_t others;                  /* entries behind the first one */
	uint64_t calls;                 /* of record() */
	uint64_t last_call[ENTRIES];    /* value of `calls` when the entry grew last */
	mw_compat_stack_t all[ENTRIES]; /* the first one has no frames */
} growth;

static size_t find(const mw_compat_stack_t *stack) {
	for (size_t i = 1; i <= growth.others; i++)
		if (growth.all[i].depth == stack->depth &&
		    memcmp(growth.all[i].pcs, stack->pcs, stack->depth * sizeof *stack->pcs) == 0)
			return i;
	if (growth.others == ENTRIES - 1)
		return 0;
	growth.all[++growth.others] = *stack;
	return growth.others;
}

/* Inside of malloc(): the lock is tried, as mw_gp_growth_read() may hold it for a while.  A child
 * of fork() begins with the entries of its parent. */
static void record(size_t in_use_bytes) {
	size_t before = atomic_load_explicit(&growth.highest_bytes, memory_order_relaxed);
	do {
		if (in_use_bytes < before + STEP_BYTES)
			return;
	} while (!atomic_compare_exchange_weak_explicit(&growth.highest_bytes, &before,
							in_use_bytes, memory_order_relaxed,
							memory_order_relaxed));
	mw_compat_stack_t stack = {0};
	stack.depth = mw_gp_calls()->capture(stack.pcs, MW_COMPAT_DEPTH_MAX, true);
	if (!mw_gp_lock_try(&growth.lock))
		return;
	size_t i = find(&stack);
	growth.all[i].inuse_objects++;
	growth.all[i].inuse_bytes += (int64_t)(in_use_bytes - before);
	growth.last_call[i] = ++growth.calls;
	mw_gp_unlock(&growth.lock);
}

static void lock(void) {
	mw_gp_lock(&growth.lock);
}

static void unlock(void) {
	mw_gp_unlock(&growth.lock);
}

void mw_gp_growth_start(void) {
	pthread_atfork(lock, unlock, unlock);
	mw_gp_calls()->watch_growth(record);
}

/* Few entries, seldom read: the next one is searched each time. */
size_t mw_gp_growth_read(mw_compat_stack_t *entries, size_t max) {
	size_t count = 0;
	uint64_t last = UINT64_MAX;
	lock();
	while (count < max) {
		size_t next = ENTRIES;
		for (size_t i = 0; i <= growth.others; i++)
			if (growth.last_call[i] && growth.last_call[i] < last &&
			    (next == ENTRIES || growth.last_call[i] > growth.last_call[next]))
				next = i;
		if (next == ENTRIES)
			break;
		last = growth.last_call[next];
		entries[count++] = growth.all[next];
	}
	size_t all = growth.others + (growth.last_call[0] != 0);
	unlock();
	return max ? count : all;
}
