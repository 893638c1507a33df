/* SPDX-License-Identifier: MIT
 * program_hooks.h -- functions of the program that are called for samples and dumps, or that
 * walk stacks.
 * Layer: prof/sample. Each hook is set and read by itself, at any time. Hooks run inside malloc
 * and free, without the tables' lock, in the thread that allocates or frees. What a hook
 * allocates is not sampled. */
#ifndef MW_PROF_SAMPLE_PROGRAM_HOOKS_H
#define MW_PROF_SAMPLE_PROGRAM_HOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "heap/sample/hooks.h"
#include "prof/unwind/unwind.h"

/* Writes at most `max` return addresses, leaf first. */
typedef void mw_backtrace_t(void **pcs, unsigned *depth, unsigned max);
typedef void mw_on_sampled_t(const void *block, size_t requested_bytes, void **pcs, unsigned depth,
			     size_t usable_bytes);
/* Called after the heap has the block back. */
typedef void mw_on_freed_t(const void *block, size_t usable_bytes);
/* Called after a dump was written into this file. */
typedef void mw_on_dumped_t(const char *path);
/* Called for each sample and for each free of a sampled block, for statistics. */
typedef void mw_on_counted_t(size_t requested_bytes, size_t usable_bytes, bool freed);

/* For libraries of lib/mallow/compat/: each sample, and each free of one. */
typedef void mw_on_watched_t(const void *block, size_t requested_bytes, bool freed);

/* Called when the heap has taken memory into use, at most once per 64 KiB. */
typedef void mw_on_grew_t(size_t in_use_bytes);

typedef enum mw_program_hook {
	MW_PROGRAM_HOOK_BACKTRACE,
	MW_PROGRAM_HOOK_SAMPLED,
	MW_PROGRAM_HOOK_FREED,
	MW_PROGRAM_HOOK_DUMPED,
	MW_PROGRAM_HOOK_COUNTED,
	MW_PROGRAM_HOOK_WATCHED,
	MW_PROGRAM_HOOK_GREW,
	MW_PROGRAM_HOOKS
} mw_program_hook_t;

/* Addresses of functions of the types above; 0: none. Loaded with acquire and stored with release,
 * so that a hook sees all data that the program wrote before it set the hook. */
extern _Atomic uintptr_t mw_program_hooks[MW_PROGRAM_HOOKS];

static inline uintptr_t mw_program_hook(mw_program_hook_t which) {
	return atomic_load_explicit(&mw_program_hooks[which], memory_order_acquire);
}

/* Returns the function that was set before. */
uintptr_t mw_program_hook_set(mw_program_hook_t which, uintptr_t function);

/* true: a hook about samples was set at some time. Never reset, so that threads which set and
 * remove hooks at the same time need no lock. */
extern _Atomic bool mw_program_hooks_were_set;

/* Returns whether no hook about samples was ever set. */
static inline bool mw_program_hooks_are_off(void) {
	/* Relaxed: the hook itself is loaded with acquire. A thread that reads an old value calls
	 * the hook from its next sample on. */
	return MW_LIKELY(!atomic_load_explicit(&mw_program_hooks_were_set, memory_order_relaxed));
}

/* Writes the calling thread's stack, from the program's backtrace hook or, without one, from
 * mw_unwind_capture_caller(). */
mw_unwind_result_t mw_program_hook_capture(uint64_t *frames, unsigned max_depth);
/* Each of the following functions calls its hooks, if they are set. */
void mw_program_hook_sampled(const mw_sample_request_t *request, const uint64_t *frames,
			     unsigned depth);
void mw_program_hook_freed(uint64_t address, size_t requested_bytes, size_t usable_bytes);
void mw_program_hook_dumped(const char *path);

#endif
