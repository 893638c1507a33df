/* SPDX-License-Identifier: MIT
 * heap_hooks.c -- functions of the heap, of CPU samples and of leak checks that src/prof calls. The
 * program's allocator has no limits, no pages and no free memory that the profiler knows. */
#include "attach/heap_hooks.h"

#include "attach/thread_records.h"
#include "heap/memory/chunk.h"
#include "heap/memory/limit.h"
#include "prof/control/control.h"
#include "prof/sample/sampler.h"

static _Atomic uint32_t unchanging;

_Atomic uint32_t mw_heap_rate_generation;
_Atomic(_Atomic uint32_t *) mw_heap_poll_word = &unchanging;
_Atomic uint64_t mw_heap_certain_bytes = UINT64_MAX;

const mw_heap_hooks_t *mw_attach_hooks;

void mw_heap_set_hooks(const mw_heap_hooks_t *hooks) {
	mw_attach_hooks = hooks;
	atomic_fetch_add_explicit(&mw_heap_rate_generation, 1, memory_order_release);
}

void mw_heap_count_threads(uint32_t *all, uint32_t *behind) {
	uint32_t generation = atomic_load_explicit(&mw_heap_rate_generation, memory_order_relaxed);
	*all = *behind = 0;
	for (unsigned i = 0; i < MW_ATTACH_THREADS; i++) {
		mw_attach_thread_t *thread = &mw_attach_wiped.threads[i];
		if (atomic_load_explicit(&thread->owner, memory_order_relaxed) == 0)
			continue;
		++*all;
		*behind += mw_sampler_of(&thread->hooks)->rate_generation != generation;
	}
}

void mw_heap_want_background(void) {
}

bool mw_heap_wake_background(void) {
	return false;
}

void mw_limit_set(size_t soft_bytes, size_t hard_bytes) {
	(void)soft_bytes;
	(void)hard_bytes;
}

size_t mw_huge_purge(bool all) {
	(void)all;
	return 0;
}

size_t mw_chunk_purge(bool all) {
	(void)all;
	return 0;
}

void mw_control_cpu_follow(void) {
}
void mw_control_cpu_reset(void) {
}
void mw_control_cpu_forked(void) {
}
void mw_control_cpu_put_off(mw_answer_moment_t moment) {
	(void)moment;
}

void mw_control_leaks_order(uint32_t number, uint32_t options) {
	(void)number;
	(void)options;
}
void mw_control_leaks_on_signal(int signal_number, bool from_outside) {
	(void)signal_number;
	(void)from_outside;
}
uint64_t mw_control_leaks_work(void) {
	return UINT64_MAX;
}
void mw_control_leaks_forked(void) {
}

/* The command enters by the blob's own entry code. */
void mw_control_entry(void) {
}
