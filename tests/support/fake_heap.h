/* SPDX-License-Identifier: MIT
 * fake_heap.h -- stands in for src/heap in the unit tests of the profiler: the symbols of
 * heap/sample/hooks.h, the limits, and countdowns as the heap keeps them; and for src/leak, which
 * needs the heap.  Included by one file of a test.
 */
#ifndef MW_TEST_FAKE_HEAP_H
#define MW_TEST_FAKE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/memory/chunk.h"
#include "heap/memory/limit.h"
#include "heap/sample/hooks.h"
#include "prof/control/control.h"

static _Atomic uint32_t fake_private_word;
_Atomic uint32_t mw_heap_rate_generation;
_Atomic(_Atomic uint32_t *) mw_heap_poll_word = &fake_private_word;
_Atomic uint64_t mw_heap_certain_bytes = UINT64_MAX;
static const mw_heap_hooks_t *fake_hooks;

static size_t fake_soft_bytes, fake_hard_bytes;

void mw_limit_set(size_t soft_bytes, size_t hard_bytes) {
	fake_soft_bytes = soft_bytes;
	fake_hard_bytes = hard_bytes;
}

static size_t fake_free_bytes; /* that a trim gives back */

size_t mw_chunk_purge(bool all) {
	size_t bytes = all ? fake_free_bytes : 0;
	fake_free_bytes -= bytes;
	return bytes;
}

size_t mw_huge_purge(bool all) {
	(void)all;
	return 0;
}

void mw_heap_want_background(void) {
}

bool mw_heap_wake_background(void) {
	return false;
}

static uint32_t fake_leak_check; /* number of the last check that was ordered */

void mw_control_leaks_order(uint32_t number, uint32_t options) {
	(void)options;
	fake_leak_check = number;
}

uint64_t mw_control_leaks_work(void) {
	return UINT64_MAX;
}

void mw_control_leaks_on_signal(int signal_number, bool from_outside) {
	(void)signal_number;
	(void)from_outside;
}

void mw_control_leaks_forked(void) {
}

void mw_heap_count_threads(uint32_t *all, uint32_t *behind) {
	*all = 1;
	*behind = 0;
}

void mw_heap_set_hooks(const mw_heap_hooks_t *hooks) {
	fake_hooks = hooks;
	atomic_fetch_add(&mw_heap_rate_generation, 1);
}

enum { FAKE_CLASSES = 64, FAKE_LIST_MAX = 100 };

/* One thread: countdowns and lists of its classes, as design section 4 has them. */
typedef struct fake_thread {
	mw_hook_thread_t hook;
	struct {
		size_t size;
		uint64_t left;
		uint32_t number, list;
		bool cut, drawn;
	} classes[FAKE_CLASSES];
	uint64_t large_left;
	uint32_t large_number, polled;
	bool large_drawn;
} fake_thread_t;

/* As the heap does. */
static inline uint64_t fake_draw(mw_hook_thread_t *thread, size_t usable) {
	uint64_t objects = fake_hooks->draw_objects(thread, usable);
	return objects == MW_DRAW_EVERY ? 1 : objects;
}

static inline void fake_thread_start(fake_thread_t *thread) {
	*thread = (fake_thread_t){0};
	fake_hooks->thread_start(&thread->hook);
}

static inline mw_record_id_t fake_sampled(fake_thread_t *thread, void *block, size_t requested,
					  size_t usable, uint32_t number) {
	mw_sample_request_t request = {.block = block,
				       .requested_bytes = requested,
				       .usable_bytes = usable,
				       .trial_bytes = usable,
				       .draw_generation = number};
	return fake_hooks->sampled(&thread->hook, &request);
}

/* Names the present rate of the thread's draws. */
static inline uint32_t fake_number(fake_thread_t *thread) {
	return mw_draw_generation(atomic_load(&mw_heap_rate_generation), thread->hook.rate);
}

/* A small allocation of class `index`, whose blocks have `usable` bytes.  Returns its record, 0
 * when it was not sampled; *was_sampled tells both apart from a refused record. */
static inline mw_record_id_t fake_small(fake_thread_t *thread, size_t index, void *block,
					size_t requested, size_t usable, bool *was_sampled) {
	__typeof__(&thread->classes[0]) c = &thread->classes[index];
	*was_sampled = false;
	while (c->list == 0) {
		if (c->cut) {
			uint32_t old_number = c->number;
			c->cut = c->drawn = false;
			*was_sampled = true;
			return fake_sampled(thread, block, requested, usable, old_number);
		}
		uint32_t order = atomic_load(atomic_load(&mw_heap_poll_word));
		if (order != thread->polled) {
			thread->polled = order;
			fake_hooks->poll(&thread->hook);
		}
		/* Another generation, or another rate of this one. */
		if (!c->drawn || c->number != fake_number(thread)) {
			c->drawn = true;
			c->left = fake_draw(&thread->hook, usable);
			c->number = fake_number(thread);
		}
		/* Lists of many lengths, as pages of many fillings give them. */
		uint32_t n = 1 + (uint32_t)(c->left * 2654435761u >> 7) % FAKE_LIST_MAX;
		if (c->left > n) {
			c->left -= n;
			c->list = n;
		} else {
			c->list = (uint32_t)c->left - 1;
			c->cut = true;
		}
	}
	c->list--;
	return 0;
}

/* A large one: a plain byte countdown. */
static inline mw_record_id_t fake_large(fake_thread_t *thread, void *block, size_t requested,
					size_t usable, bool *was_sampled) {
	if (!thread->large_drawn || thread->large_number != fake_number(thread)) {
		thread->large_drawn = true;
		thread->large_left = fake_hooks->draw_bytes(&thread->hook);
		thread->large_number = fake_number(thread);
	}
	*was_sampled = thread->large_left <= usable;
	if (!*was_sampled) {
		thread->large_left -= usable;
		return 0;
	}
	thread->large_drawn = false;
	return fake_sampled(thread, block, requested, usable, thread->large_number);
}

#endif
