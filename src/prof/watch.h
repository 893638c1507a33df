/* SPDX-License-Identifier: MIT
 * watch.h -- functions of the program that are told of samples, and may walk stacks instead of us.
 * Layer: prof.  Set and read at any time, each by itself.  They run inside malloc and free, outside
 * of the gate, in the thread that allocates or frees; what they allocate is not sampled. */
#ifndef MW_PROF_WATCH_H
#define MW_PROF_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/hooks.h"
#include "prof/unwind.h"

/* Writes at most `max` return addresses, leaf first. */
typedef void mw_backtrace_t(void **pcs, unsigned *depth, unsigned max);
typedef void mw_on_sampled_t(const void *block, size_t requested_bytes, void **pcs, unsigned depth,
			     size_t usable_bytes);
/* After the block went back to the heap. */
typedef void mw_on_freed_t(const void *block, size_t usable_bytes);
/* A dump was written into this file. */
typedef void mw_on_dumped_t(const char *path);
/* For statistics: each sample, and each free of one. */
typedef void mw_on_counted_t(size_t requested_bytes, size_t usable_bytes, bool freed);

typedef enum mw_watcher {
	MW_WATCH_BACKTRACE,
	MW_WATCH_SAMPLED,
	MW_WATCH_FREED,
	MW_WATCH_DUMPED,
	MW_WATCH_COUNTED,
	MW_WATCHERS
} mw_watcher_t;

/* Addresses of functions of those types; 0: none.  Acquire and release: what a function reads was
 * written before it was set. */
extern _Atomic uintptr_t mw_watchers[MW_WATCHERS];

static inline uintptr_t mw_watcher(mw_watcher_t which) {
	return atomic_load_explicit(&mw_watchers[which], memory_order_acquire);
}

static inline uintptr_t mw_watcher_set(mw_watcher_t which, uintptr_t function) {
	return atomic_exchange_explicit(&mw_watchers[which], function, memory_order_acq_rel);
}

/* Does nobody want to know of samples, and their frees? */
static inline bool mw_watch_is_off(void) {
	return !(mw_watcher(MW_WATCH_BACKTRACE) | mw_watcher(MW_WATCH_SAMPLED) |
		 mw_watcher(MW_WATCH_FREED) | mw_watcher(MW_WATCH_COUNTED));
}

/* The stack of the calling thread, as the program has it or as mw_unwind_capture(). */
mw_unwind_result_t mw_watch_capture(uint64_t *frames, unsigned max_depth);
void mw_watch_sampled(const mw_sample_request_t *request, const uint64_t *frames, unsigned depth);
void mw_watch_freed(uint64_t address, size_t requested_bytes, size_t usable_bytes);
void mw_watch_dumped(const char *path);

#endif
