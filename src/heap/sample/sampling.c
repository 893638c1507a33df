/* SPDX-License-Identifier: MIT
 * sampling.c -- countdowns folded into the refill (design and proof: doc/internals/sampling.md). */
#include "heap/sample/sampling.h"
#include "base/bits.h"

#include <string.h>

#include "heap/layout/harden_block.h"
#include "heap/layout/page.h"
#include "heap/layout/record.h"
#include "heap/layout/size_class.h"
#include "heap/local/counts.h"
#include "heap/local/heap.h"
#include "heap/local/inherited.h"
#include "heap/memory/background.h"
#include "heap/memory/limit.h"
#include "heap/misuse/guarded.h"
#include "heap/sample/hooks.h"
#include "heap/sample/sampled.h"
#include "heap/sample/slot_cache.h"

_Static_assert(MW_HEAP_CERTAIN_MIN_BYTES == MW_SMALL_MAX_BYTES + 1, "the smallest of those");

static void no_thread_start(mw_hook_thread_t *thread) {
	(void)thread;
}
static uint64_t no_draw_objects(mw_hook_thread_t *thread, size_t size_bytes) {
	(void)thread;
	(void)size_bytes;
	return UINT64_MAX;
}
static uint64_t no_draw_bytes(mw_hook_thread_t *thread) {
	(void)thread;
	return UINT64_MAX;
}
static mw_record_id_t no_sampled(mw_hook_thread_t *thread, const mw_sample_request_t *request) {
	(void)thread;
	(void)request;
	return 0;
}
static void no_sample_freed(mw_hook_thread_t *thread, mw_record_id_t record, bool temporary) {
	(void)thread;
	(void)record;
	(void)temporary;
}
static void no_grew(mw_hook_thread_t *thread, size_t in_use_bytes) {
	(void)thread;
	(void)in_use_bytes;
}

static uint64_t no_background(void) {
	return UINT64_MAX;
}

static const mw_heap_hooks_t no_hooks = {
	.thread_start = no_thread_start,
	.draw_objects = no_draw_objects,
	.draw_bytes = no_draw_bytes,
	.sampled = no_sampled,
	.sample_freed = no_sample_freed,
	.poll = no_thread_start,
	.grew = no_grew,
	.background = no_background,
};

static _Atomic uint32_t quiet_word;
_Atomic uint32_t mw_heap_rate_generation;
_Atomic(_Atomic uint32_t *) mw_heap_poll_word = &quiet_word;
_Atomic uint64_t mw_heap_certain_bytes = UINT64_MAX;
static const mw_heap_hooks_t *hooks = &no_hooks;

void mw_heap_set_hooks(const mw_heap_hooks_t *new_hooks) {
	hooks = new_hooks ? new_hooks : &no_hooks;
	if (mw_thread.heap)
		hooks->thread_start(&mw_thread.heap->hook_thread);
	/* Pairs with the load in mw_sampling_poll(). */
	atomic_fetch_add_explicit(&mw_heap_rate_generation, 1, memory_order_release);
}

static uint32_t draw_generation(const mw_heap_t *heap) {
	return mw_draw_generation(
		atomic_load_explicit(&heap->rate_generation, memory_order_relaxed),
		heap->hook_thread.rate);
}

/* Draws of one object in a row that come by chance only where nearly all objects are sampled. */
#define ONES_MANY 8u

static uint64_t draw(mw_heap_t *heap, unsigned size_class) {
	uint64_t objects = hooks->draw_objects(&heap->hook_thread, mw_class_bytes[size_class]);
	heap->every = objects == MW_DRAW_EVERY;
	if (heap->every)
		objects = 1;
	heap->ones = objects == 1 ? heap->ones + 1 : 0;
	return objects;
}

/* Objects made are the sum of all steps less those left (heap/local/counts.c), modulo 2^64. */
static void set_until_sample(mw_heap_t *heap, unsigned above_tiny, uint64_t objects) {
	heap->counts.objects[above_tiny] += objects - mw_thread.until_sample[above_tiny];
	mw_thread.until_sample[above_tiny] = objects;
	heap->tcache_changes++; /* until_sample no longer tells how many were allocated */
	if (objects > 1)
		heap->none_listed = false;
}

/* Most objects of a step.  A loop that allocates the blocks it freed last never refills: it polls
 * for requests between two steps of its countdown.  A step takes such a loop some microseconds:
 * soon enough for the tool that switches sampling on, and no cost. */
#define STEP_OBJECTS 1024u

static void take_step(mw_heap_t *heap, unsigned above_tiny) {
	uint64_t *later = &heap->later[above_tiny];
	uint64_t step = *later < STEP_OBJECTS ? *later : STEP_OBJECTS;
	*later -= step;
	set_until_sample(heap, above_tiny, step);
}

/* Draws the countdowns that no list depends on anew: the next object takes the slow path. */
static void draw_anew(mw_heap_t *heap) {
	heap->bytes_until_sample = 0;
	heap->drawn = 0;
	memset(heap->later, 0, sizeof heap->later);
	for (unsigned i = 0; i < MW_ABOVE_TINY_CLASSES; i++)
		set_until_sample(heap, i, 1);
}

/* Has the countdowns of tiny classes drawn anew. */
static void forget_draws(mw_heap_t *heap) {
	memset(heap->until_sample_tiny, 0, sizeof heap->until_sample_tiny);
	mw_inherited_forget_draws(heap);
}

void mw_sampling_thread_start(mw_heap_t *heap) {
	/* A thread whose heap was cached drew the countdowns at a rate of its own. */
	if (heap->hook_thread.rate != 0)
		forget_draws(heap);
	memset(&heap->hook_thread, 0, sizeof heap->hook_thread);
	draw_anew(heap);
	heap->last_sample.record = 0;
	heap->none_listed = heap->every = false;
	hooks->thread_start(&heap->hook_thread);
}

void mw_sampling_poll_slow(mw_heap_t *heap) {
	_Atomic uint32_t *word = atomic_load_explicit(&mw_heap_poll_word, memory_order_acquire);
	uint32_t now = atomic_load_explicit(word, memory_order_relaxed);
	if (now != heap->poll_seen) {
		heap->poll_seen = now;
		hooks->poll(&heap->hook_thread);
	}
	uint32_t generation = atomic_load_explicit(&mw_heap_rate_generation, memory_order_acquire);
	if (generation != atomic_load_explicit(&heap->rate_generation, memory_order_relaxed)) {
		/* Cut lists keep their end: see hooks.h.  Relaxed: a thread that counts the threads
		 * that are behind counts again when it matters. */
		atomic_store_explicit(&heap->rate_generation, generation, memory_order_relaxed);
		forget_draws(heap);
		heap->every = false;
		draw_anew(heap);
	}
}

uint32_t mw_sampling_split(mw_heap_t *heap, unsigned size_class, uint32_t count) {
	uint64_t until_sample = heap->until_sample_tiny[size_class];
	if (until_sample == 0)
		until_sample = draw(heap, size_class);
	heap->none_listed = false;
	if (until_sample > count) {
		heap->until_sample_tiny[size_class] = until_sample - count;
		return count;
	}
	heap->cut |= (uint32_t)1 << size_class;
	heap->draw_generation[size_class] = draw_generation(heap);
	heap->until_sample_tiny[size_class] = 0;
	return (uint32_t)until_sample - 1;
}

/* The next sample is as many objects away as it was.  Drawing again only for
 * cut lists would postpone samples that are near, and take too few. */
void mw_sampling_dropped(mw_heap_t *heap, unsigned size_class, uint32_t count) {
	uint32_t bit = (uint32_t)1 << size_class;
	uint64_t *until_sample = &heap->until_sample_tiny[size_class];
	if (!(heap->cut & bit))
		*until_sample += *until_sample != 0 ? count : 0;
	else if (heap->draw_generation[size_class] == draw_generation(heap))
		*until_sample = (uint64_t)count + 1;
	heap->cut &= ~bit;
}

/* Returns whether no tcache list hands out a block, so that each allocation is a sample or
 * counted in `beyond_small`.  That holds until a countdown of more than one object is drawn. */
static MW_NOINLINE bool find_none_listed(mw_heap_t *heap) {
	for (unsigned i = 0; i < MW_TINY_CLASSES; i++)
		if (mw_thread.tcache_tiny[i] || heap->inherited[i].first)
			return false;
	for (unsigned i = 0; i < MW_ABOVE_TINY_CLASSES; i++)
		if (mw_thread.until_sample[i] > 1)
			return false;
	heap->none_listed = true;
	return true;
}

/* Lists that are cut keep their end, and the number of its draw. */
static MW_COLD void draw_by_new_rate(mw_heap_t *heap) {
	heap->hook_thread.rate_changed = false;
	forget_draws(heap);
	draw_anew(heap);
}

/* Remembers the state of the lists: an allocation of a tiny class pops from a list, every other is
 * counted. */
static MW_NOINLINE mw_record_id_t take_sample(mw_heap_t *heap, const mw_sample_request_t *request) {
	mw_last_sample_t *last = &heap->last_sample;
	last->record = hooks->sampled(&heap->hook_thread, request);
	if (MW_UNLIKELY(heap->hook_thread.rate_changed))
		draw_by_new_rate(heap);
	last->beyond_small = heap->beyond_small;
	last->none_listed =
		heap->none_listed || (heap->ones >= ONES_MANY && find_none_listed(heap));
	if (last->none_listed)
		return last->record;
	last->tcache_changes = heap->tcache_changes;
	mw_words_copy(last->tcache_tiny, mw_thread.tcache_tiny, sizeof last->tcache_tiny);
	mw_words_copy(last->until_sample, mw_thread.until_sample, sizeof last->until_sample);
	return last->record;
}

static bool is_as_remembered(const mw_heap_t *heap) {
	const mw_last_sample_t *last = &heap->last_sample;
	if (last->none_listed)
		return heap->none_listed && last->beyond_small == heap->beyond_small;
	return last->beyond_small == heap->beyond_small &&
	       last->tcache_changes == heap->tcache_changes &&
	       mw_same_bytes(last->tcache_tiny, mw_thread.tcache_tiny, sizeof last->tcache_tiny) &&
	       mw_same_bytes(last->until_sample, mw_thread.until_sample, sizeof last->until_sample);
}

/* There is no memory for a sampled block: the object is allocated without a record, and the next
 * sample is drawn after it.  Otherwise exact mode would try forever while other memory is left. */
static MW_NOINLINE void *miss(mw_heap_t *heap, unsigned size_class) {
	if (size_class >= MW_TINY_CLASSES)
		return NULL; /* the next object draws */
	uint64_t until_sample = draw(heap, size_class);
	heap->none_listed = false;
	heap->until_sample_tiny[size_class] =
		until_sample == UINT64_MAX ? until_sample : until_sample + 1; /* MAX: never */
	return NULL;
}

/* Makes a sampled block of a small class.  NULL: no memory for it. */
static MW_NOINLINE void *alloc_sampled(mw_heap_t *heap, unsigned size_class,
				       size_t requested_bytes) {
	size_t bytes = mw_class_bytes[size_class];
	size_t program_bytes = mw_harden_requested(requested_bytes);
	void *guarded = mw_guarded_take(bytes, program_bytes);
	uint32_t *mark;
	void *block = guarded ? guarded : mw_slot_cache_take(heap, size_class, &mark);
	if (!block)
		return miss(heap, size_class);
	mw_sample_request_t request = {.block = block,
				       .requested_bytes = program_bytes,
				       .usable_bytes = bytes,
				       .trial_bytes = bytes,
				       .draw_generation = heap->draw_generation[size_class]};
	heap->counts.sampled_bytes += bytes;
	heap->holes.samples++;
	heap->counts.given[size_class]++;
	mw_heap_counts_show(heap);
	mw_record_id_t record = take_sample(heap, &request);
	if (guarded)
		mw_guarded_bind(block, record);
	else
		mw_sampled_bind(mark, record);
	return block;
}

/* The very next object of the tiny class is the sample. */
MW_ALWAYS_INLINE void *alloc_next(mw_heap_t *heap, unsigned size_class, size_t requested_bytes) {
	heap->until_sample_tiny[size_class] = 0;
	heap->draw_generation[size_class] = draw_generation(heap);
	return alloc_sampled(heap, size_class, requested_bytes);
}

/* Applies new settings, and draws the countdown of a tiny class if it is not drawn. */
static MW_NOINLINE void *alloc_drawn(mw_heap_t *heap, unsigned size_class, size_t requested_bytes) {
	mw_sampling_poll(heap);
	uint64_t *until_sample = &heap->until_sample_tiny[size_class];
	if (*until_sample == 0)
		*until_sample = draw(heap, size_class);
	if (*until_sample == 1)
		return alloc_next(heap, size_class, requested_bytes);
	heap->none_listed = false;
	return NULL;
}

/* A tiny class, of which the tcache list is empty.  Needs no stack frame. */
static MW_NOINLINE void *alloc_tiny(mw_heap_t *heap, unsigned size_class, size_t requested_bytes) {
	uint32_t bit = (uint32_t)1 << size_class;
	if (MW_UNLIKELY(heap->cut & bit)) { /* the list ended just before the sample */
		heap->cut &= ~bit;
		return alloc_sampled(heap, size_class, requested_bytes);
	}
	if (MW_UNLIKELY(mw_sampling_is_polled(heap)))
		return alloc_drawn(heap, size_class, requested_bytes);
	uint64_t until_sample = heap->until_sample_tiny[size_class];
	if (until_sample > 1)
		return NULL;
	/* Where each object is a sample, the draw would be 1. */
	if (until_sample == 1 || (heap->none_listed && heap->every))
		return alloc_next(heap, size_class, requested_bytes);
	return alloc_drawn(heap, size_class, requested_bytes);
}

/* Counts an object above tiny that the fast path did not make.  Returns whether it is the sample.
 */
static bool count_above_tiny(mw_heap_t *heap, unsigned size_class) {
	uint64_t bit = (uint64_t)1 << size_class;
	unsigned c = size_class - MW_TINY_CLASSES;
	uint64_t *until_sample = &mw_thread.until_sample[c];
	/* 0: the fast path has counted it. */
	bool due = *until_sample == 0 || --*until_sample == 0;
	if (due && heap->later[c] > 0) {
		take_step(heap, c);
		due = false;
	}
	if (!(due && heap->drawn & bit)) {
		mw_sampling_poll(heap);
		if (heap->drawn & bit)
			return false;
		heap->drawn |= bit;
		heap->later[c] = draw(heap, size_class) - 1;
		heap->draw_generation[size_class] = draw_generation(heap);
		take_step(heap, c);
		if (*until_sample > 0)
			return false;
	}
	/* The next object draws again. */
	heap->drawn &= ~bit;
	set_until_sample(heap, c, 1);
	return true;
}

static MW_NOINLINE void *alloc_above_tiny(mw_heap_t *heap, unsigned size_class,
					  size_t requested_bytes) {
	return MW_UNLIKELY(count_above_tiny(heap, size_class))
		       ? alloc_sampled(heap, size_class, requested_bytes)
		       : NULL;
}

void *mw_sampling_alloc(mw_heap_t *heap, unsigned size_class, size_t requested_bytes) {
	return size_class < MW_TINY_CLASSES ? alloc_tiny(heap, size_class, requested_bytes)
					    : alloc_above_tiny(heap, size_class, requested_bytes);
}

mw_record_id_t mw_sampling_count_bytes(mw_heap_t *heap, void *block, size_t requested_bytes,
				       size_t usable_bytes) {
	mw_sampling_poll(heap);
	heap->beyond_small++;
	if (MW_UNLIKELY(requested_bytes >=
			atomic_load_explicit(&mw_heap_certain_bytes, memory_order_relaxed))) {
		/* Not part of the countdown: its probability is 1. */
		mw_sample_request_t request = {
			.block = block,
			.requested_bytes = requested_bytes,
			.usable_bytes = usable_bytes,
			.trial_bytes = usable_bytes,
			.draw_generation = draw_generation(heap),
			.certain = true,
		};
		return take_sample(heap, &request);
	}
	if (heap->bytes_until_sample == 0)
		heap->bytes_until_sample = hooks->draw_bytes(&heap->hook_thread);
	if (heap->bytes_until_sample == UINT64_MAX)
		return 0;
	if (heap->bytes_until_sample > usable_bytes) {
		heap->bytes_until_sample -= usable_bytes;
		return 0;
	}
	/* The rest between the sample point and the block's end is drawn anew, which is right as
	 * the countdown has no memory. */
	heap->bytes_until_sample = 0;
	mw_sample_request_t request = {.block = block,
				       .requested_bytes = mw_harden_requested(requested_bytes),
				       .usable_bytes = usable_bytes,
				       .trial_bytes = usable_bytes,
				       .draw_generation = draw_generation(heap)};
	return take_sample(heap, &request);
}

uint64_t mw_sampling_draw_listed(mw_heap_t *heap, unsigned size_class) {
	uint64_t objects = hooks->draw_objects(&heap->hook_thread, mw_class_bytes[size_class]);
	return objects == MW_DRAW_EVERY ? 1 : objects;
}

uint32_t mw_sampling_draw_generation(const mw_heap_t *heap) {
	return draw_generation(heap);
}

mw_record_id_t mw_sampling_take_listed(mw_heap_t *heap, void *block, size_t requested_bytes,
				       size_t usable_bytes) {
	heap->beyond_small++; /* as other blocks of arenas */
	mw_sample_request_t request = {.block = block,
				       .requested_bytes = requested_bytes,
				       .usable_bytes = usable_bytes,
				       .trial_bytes = usable_bytes,
				       .draw_generation = draw_generation(heap)};
	return take_sample(heap, &request);
}

MW_NOINLINE void mw_sampling_freed(mw_record_id_t record) {
	mw_heap_t *heap = mw_thread.heap;
	bool temporary = heap && heap->last_sample.record == record && is_as_remembered(heap);
	hooks->sample_freed(heap ? &heap->hook_thread : NULL, record, temporary);
}

void mw_sampling_show(mw_record_id_t record) {
	if (record && hooks->show_sample)
		hooks->show_sample(record);
}

uint64_t mw_sampling_background(void) {
	return hooks->background();
}

void mw_heap_want_background(void) {
	mw_background_heap_grew();
}

bool mw_heap_wake_background(void) {
	return mw_background_wake_for_hooks();
}

static void pressed(mw_pressure_t pressure, size_t wanted_bytes, size_t limit_bytes) {
	if (hooks->pressed)
		hooks->pressed(pressure, wanted_bytes, limit_bytes);
}

void mw_heap_report_limits(void) {
	mw_limit_report(pressed);
}

void mw_sampling_grew(mw_heap_t *heap, size_t in_use_bytes) {
	hooks->grew(&heap->hook_thread, in_use_bytes);
	mw_limit_report(pressed);
}
