/* SPDX-License-Identifier: MIT
 * account.c -- decides which allocation is a sample, and tells the profiler of it and of its free.
 * The countdown in bytes is drawn as the heap's for large blocks: a block of n bytes is sampled
 * with probability 1 - exp(-n/T). */
#include "attach/blob.h"

#include <stdatomic.h>

#include "attach/heap_hooks.h"
#include "attach/live_filter.h"
#include "attach/thread_records.h"
#include "prof/sample/sampler.h"
#include "prof/unwind/unwind.h"

/* Most bytes that a thread allocates between two looks at requests of tools, at a new T, and at the
 * time to detach. A look takes some 50 ns. */
#define LOOK_BYTES ((int64_t)1 << 20)

static void set_countdown(mw_attach_thread_t *thread, int64_t bytes) {
	int64_t now_bytes = bytes < LOOK_BYTES ? bytes : LOOK_BYTES;
	thread->until_look_bytes = now_bytes;
	thread->rest_bytes = bytes - now_bytes;
}

static void draw(mw_attach_thread_t *thread) {
	const mw_sampler_t *sampler = mw_sampler_of(&thread->hooks);
	uint64_t bytes = mw_attach_hooks->draw_bytes(&thread->hooks);
	/* A countdown of 0 bytes ends at each allocation, also at one of 0 bytes. */
	if (sampler->mean_bytes == 1)
		bytes = 0;
	thread->draw_generation = sampler->draw_generation;
	set_countdown(thread, bytes < MW_ATTACH_NEVER ? (int64_t)bytes : MW_ATTACH_NEVER);
}

static bool is_drawn(mw_attach_thread_t *thread) {
	const mw_sampler_t *sampler = mw_sampler_of(&thread->hooks);
	/* Relaxed: a thread that sees the change late draws late. */
	return sampler->rate_generation ==
		       atomic_load_explicit(&mw_heap_rate_generation, memory_order_relaxed) &&
	       !mw_sampler_is_copy(sampler);
}

/* A record whose block's free was not seen. */
static void forget(mw_attach_thread_t *thread, uint32_t record) {
	if (record)
		mw_attach_hooks->sample_freed(&thread->hooks, record, false);
}

static void take(mw_attach_thread_t *thread, void *block, size_t bytes, const uintptr_t *frame) {
	size_t (*usable_size)(void *) = (size_t(*)(void *))mw_attach_work.malloc_usable_size;
	size_t usable_bytes = usable_size ? usable_size(block) : bytes;
	mw_sample_request_t request = {
		.block = block,
		.requested_bytes = bytes,
		.usable_bytes = usable_bytes > bytes ? usable_bytes : bytes,
		.trial_bytes = bytes,
		.draw_generation = thread->draw_generation,
	};
	mw_unwind_entry = frame;
	uint32_t record = mw_attach_hooks->sampled(&thread->hooks, &request), replaced = 0;
	mw_unwind_entry = NULL;
	if (record && !mw_attach_live_add((uintptr_t)block, record, &replaced))
		forget(thread, record);
	forget(thread, replaced);
}

/* Follows the control words of the state file. */
static MW_COLD void follow_requests(mw_attach_thread_t *thread) {
	uint32_t before = atomic_load_explicit(&mw_heap_rate_generation, memory_order_relaxed);
	int64_t until_look_bytes = thread->until_look_bytes;
	mw_attach_hooks->poll(&thread->hooks);
	if (before != atomic_load_explicit(&mw_heap_rate_generation, memory_order_relaxed))
		mw_attach_wake_threads();
	thread->until_look_bytes = until_look_bytes;
}

static void look(mw_attach_thread_t *thread) {
	if (thread->is_after_dlopen) {
		thread->is_after_dlopen = false;
		if (!mw_attach_look_for_modules())
			thread->is_after_dlopen = true;
	}
	mw_attach_check_time();
	uint32_t word = mw_attach_poll_word();
	if (word != thread->poll_seen) {
		thread->poll_seen = word;
		follow_requests(thread);
	}
}

static MW_NOINLINE void account(mw_attach_thread_t *thread, void *block, size_t bytes,
				const uintptr_t *frame) {
	if (mw_attach_state() != MW_ATTACH_ON) {
		set_countdown(thread, LOOK_BYTES);
		return;
	}
	look(thread);
	int64_t left_bytes = thread->until_look_bytes + thread->rest_bytes;
	if (!is_drawn(thread)) {
		draw(thread);
		left_bytes = thread->until_look_bytes + thread->rest_bytes - (int64_t)bytes;
		/* A block of more than 2^62 bytes does not exist. */
		if (!block)
			left_bytes += (int64_t)bytes;
	}
	if (left_bytes > 0) {
		set_countdown(thread, left_bytes);
		return;
	}
	if (block)
		take(thread, block, bytes, frame);
	draw(thread);
}

void mw_attach_account(void *block, size_t bytes, const uintptr_t *frame) {
	mw_attach_thread_t *thread = mw_attach_thread_while_on();
	if (!thread)
		return;
	if (!mw_attach_is_parent()) {
		thread->until_look_bytes = MW_ATTACH_NEVER;
		return;
	}
	if (!mw_attach_begin(thread))
		return;
	if (__builtin_setjmp(thread->jump) == 0)
		account(thread, block, bytes, frame);
	/* Read again: __builtin_setjmp() may lose the register. */
	mw_attach_thread_t *again = mw_attach_thread();
	if (again)
		mw_attach_end(again);
}

uint32_t mw_attach_sample_at(const void *block) {
	return mw_attach_is_parent() ? mw_attach_live_find((uintptr_t)block) : 0;
}

void mw_attach_freed(const void *block, uint32_t record) {
	mw_attach_thread_t *thread = mw_attach_thread_while_on();
	if (!thread || !mw_attach_begin(thread))
		return;
	if (__builtin_setjmp(thread->jump) == 0 && mw_attach_live_remove((uintptr_t)block, record))
		mw_attach_hooks->sample_freed(&thread->hooks, record, false);
	mw_attach_thread_t *again = mw_attach_thread();
	if (again)
		mw_attach_end(again);
}
