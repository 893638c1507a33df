/* SPDX-License-Identifier: MIT
 * sample_hooks.c -- the steps of a sample: walk the stack, add the record, call the program's
 * hooks, do maintenance that is due. */
#include "prof/sample_hooks.h"

#include <errno.h>
#include <stddef.h>

#include "base/check.h"
#include "base/compiler.h"
#include "os/file/proc.h"
#include "os/time/ticks.h"
#include "prof/control/control.h"
#include "prof/control/prof_log.h"
#include "prof/control/prof_recent.h"
#include "prof/control/triggers.h"
#include "prof/modules/modules.h"
#include "prof/new_objects.h"
#include "prof/probes.h"
#include "prof/prof.h"
#include "prof/sample/activity.h"
#include "prof/sample/program_hooks.h"
#include "prof/sample/sampler.h"
#include "prof/sample/threads.h"
#include "prof/script/script.h"
#include "prof/table/depot.h"
#include "prof/table/records.h"
#include "prof/unwind/unwind.h"

_Static_assert(MW_PROF_DEPTH_MAX <= MW_UNWIND_DEPTH_MAX, "the walk can be that deep");

static unsigned depth_max;
static MW_TLS bool thread_renamed;

void mw_sample_start(unsigned depth) {
	depth_max = depth;
}

unsigned mw_sample_depth_max(void) {
	return depth_max;
}

void mw_sample_thread_renamed(void) {
	thread_renamed = true;
}

static uint32_t thread_id(mw_sampler_t *sampler) {
	if (sampler->thread_id == 0)
		sampler->thread_id = mw_os_thread_id();
	return sampler->thread_id;
}

/* The result of a walk. */
typedef struct capture {
	mw_unwind_result_t walk;
	uint64_t known;         /* ticket of the stack; 0: its frames have to be looked up */
	uint32_t *places;       /* of the frames; NULL: no interpreter is known */
	mw_script_sum_t script; /* script frames that belong between the native ones */
	/* Generation of the module table, in which the PCs stand for certain frames; 0: the stack
	 * has no code that may be unloaded. */
	uint32_t generation;
} capture_t;

/* A stack's number as a walk cache remembers it. Bit 63 and bits 62..41: the generation of the
 * module table; 0: the stack has no code that may be unloaded. Bits 40..17: the generation of the
 * depot. Bits 16..0: the number. A thread would have to sleep through a multiple of 2^24
 * collections, which are seconds apart, to take an old number for a new one. */
#define TICKET_NUMBER_BITS 17u
#define TICKET_MODULES_SHIFT 41u
#define TICKET_DEPOT_MASK ((UINT64_C(1) << (TICKET_MODULES_SHIFT - TICKET_NUMBER_BITS)) - 1)
#define TICKET_MODULES_MASK ((UINT32_C(1) << (63 - TICKET_MODULES_SHIFT)) - 1)

static uint64_t modules_part(uint32_t generation) {
	uint64_t low = generation & TICKET_MODULES_MASK;
	return generation ? UINT64_C(1) << 63 | low << TICKET_MODULES_SHIFT : 0;
}

static bool is_of_this_depot(uint64_t ticket) {
	return (ticket >> TICKET_NUMBER_BITS & TICKET_DEPOT_MASK) ==
	       (mw_depot_generation() & TICKET_DEPOT_MASK);
}

static bool is_of_these_modules(uint64_t ticket) {
	uint64_t part = ticket >> TICKET_MODULES_SHIFT << TICKET_MODULES_SHIFT;
	return MW_LIKELY(part == 0) || part == modules_part(mw_modules_generation());
}

static uint32_t number_of(uint64_t ticket) {
	return ticket & ((UINT32_C(1) << TICKET_NUMBER_BITS) - 1);
}

/* Called with the tables' lock: the number is of the current generation. */
static uint64_t ticket_of(uint32_t modules_generation, uint32_t number) {
	return modules_part(modules_generation) |
	       (mw_depot_generation() & TICKET_DEPOT_MASK) << TICKET_NUMBER_BITS | number;
}

static void walk(capture_t *c, uint64_t *frames) {
	bool is_own = MW_LIKELY(mw_program_hooks_are_off()) ||
		      (c->places && !mw_program_hook(MW_PROGRAM_HOOK_BACKTRACE));
	c->walk = is_own ? mw_unwind_capture_caller(frames, c->places, depth_max)
			 : mw_program_hook_capture(frames, depth_max);
	if (!is_own)
		c->places = NULL;
}

/* Reads the script frames after the walk, if the capture does not have their sum: an interpreter
 * that may be unloaded is only asked if its code is on the stack. */
static void sum_script(capture_t *c, const uint64_t *frames) {
	if (!c->places)
		c->script = (mw_script_sum_t){.key = 0};
	else if (c->script.key == 0 && mw_script_is_held(frames, c->walk.depth))
		c->script = mw_script_sum();
}

static void capture(capture_t *c, uint64_t *frames) {
	mw_new_objects_t objects = mw_new_objects_begin();
	do
		walk(c, frames);
	while (MW_UNLIKELY(c->walk.met_unknown) &&
	       mw_new_objects_learn(&objects, frames, c->walk.depth));
	sum_script(c, frames);
	c->generation = c->walk.stamps ? mw_modules_generation() : 0;
	c->known = c->walk.cached_key == c->script.key ? c->walk.cached_value : 0;
	if (c->known >> TICKET_MODULES_SHIFT << TICKET_MODULES_SHIFT != modules_part(c->generation))
		c->known = 0;
}

/* Looks for a stack whose walk is cached: encodes and sums up the frames that the thread's last
 * walk did not have. */
static uint32_t find_by_sums(mw_frame_sums_t *known, uint64_t *frames, unsigned depth) {
	uint32_t generation = mw_modules_generation();
	if (MW_UNLIKELY(known->generation != generation))
		known->count = 0;
	known->generation = generation;
	/* Fewer frames than are known: the library called an allocation function itself, from a
	 * frame that called a function of the program before. Its own frames are left out now. */
	unsigned at = known->count < depth ? known->count : depth;
	mw_modules_encode(frames, depth - at);
	uint64_t sum = at > 0 ? known->sums[at - 1] : MW_DEPOT_SUM_START;
	for (; at < depth; at++) {
		known->frames[at] = frames[depth - 1 - at];
		known->sums[at] = sum = mw_depot_sum(sum, known->frames[at]);
	}
	known->count = depth;
	return mw_depot_find_path(&(mw_depot_path_t){
		.outermost = known->frames, .inwards = 1, .sum = sum, .depth = depth});
}

/* Looks for a stack with script frames. *depth becomes its number of frames. */
static MW_NOINLINE uint32_t find_merged(capture_t *c, uint64_t *frames, unsigned *depth) {
	mw_script_stack_t stack = {.frames = frames,
				   .places = c->places,
				   .depth = c->walk.depth,
				   .max = depth_max,
				   .truncated = c->walk.truncated};
	mw_script_merge(&stack);
	*depth = stack.depth;
	return mw_depot_find(frames, stack.depth, stack.truncated);
}

/* Finds or adds the stack and returns its number. Called with the tables' lock. */
static MW_NOINLINE uint32_t find_stack(capture_t *c, uint64_t *frames) {
	uint32_t number;
	unsigned depth = c->walk.depth;
	bool is_lasting = c->walk.is_stamped;
	mw_frame_sums_t *sums =
		c->script.count == 0 ? mw_unwind_take_sums(c->walk.generation) : NULL;
	if (MW_LIKELY(sums && c->walk.depth > 0)) {
		number = find_by_sums(sums, frames, c->walk.depth);
		mw_unwind_let_sums_go();
	} else {
		if (sums)
			mw_unwind_let_sums_go();
		is_lasting |= mw_modules_encode(frames, c->walk.depth);
		number = MW_LIKELY(c->script.count == 0)
				 ? mw_depot_find(frames, depth, c->walk.truncated)
				 : find_merged(c, frames, &depth);
	}
	/* A stack that was cut because the tables are full is not remembered: the tables may grow
	 * later, after a limit of the address space was raised. */
	if (is_lasting && mw_depot_depth(number) == depth && number >> TICKET_NUMBER_BITS == 0)
		mw_unwind_remember(c->walk.generation, ticket_of(c->generation, number),
				   c->script.key);
	return number;
}

/* Returns the number of the stack of these PCs. Called with the tables' lock. */
static uint32_t stack_of(capture_t *c, uint64_t *frames) {
	bool is_known = MW_LIKELY(c->known != 0) && MW_LIKELY(is_of_this_depot(c->known));
	return is_known ? number_of(c->known) : find_stack(c, frames);
}

static mw_sample_t describe(mw_sampler_t *sampler, const mw_sample_request_t *request,
			    uint64_t mean_bytes, uint64_t now_ns) {
	return (mw_sample_t){
		.thread_id = thread_id(sampler),
		.address = (uintptr_t)request->block,
		.requested_bytes = request->requested_bytes,
		.usable_bytes = request->usable_bytes,
		.weight_q16 = request->certain
				      ? MW_WEIGHT_ONE
				      : mw_sampler_weight_q16(mean_bytes, request->trial_bytes),
		.time_ns = now_ns,
	};
}

/* Each of the two functions holds one probe, so that the ELF file has one note for each probe. */
static MW_NOINLINE void probe(const mw_sample_t *sample) {
	mw_probe_alloc(sample->address, sample->usable_bytes,
		       (uint64_t)mw_sampler_weigh(sample->weight_q16, sample->usable_bytes));
}

static MW_NOINLINE void probe_free(uint64_t address) {
	mw_probe_free(address);
}

/* `script`: sum of the thread's script frames; key 0: not read yet. `places`: room for those of the
 * frames; NULL: no interpreter is known. */
static MW_NOINLINE mw_record_id_t record_sample(mw_sampler_t *sampler,
						const mw_sample_request_t *request,
						uint64_t mean_bytes, uint64_t now_ns,
						mw_script_sum_t script, uint32_t *places) {
	/* The frames lie on the program's stack, because all threads take samples and none waits
	 * for another. */
	uint64_t frames[MW_PROF_DEPTH_MAX];
	mw_unwind_sampled(now_ns, mean_bytes == 1);
	capture_t stack = {.places = places, .script = script};
	capture(&stack, frames);
	if (mean_bytes)
		mw_program_hook_sampled(request, frames, stack.walk.depth);
	mw_sample_t sample = describe(sampler, request, mean_bytes, now_ns);
	if (MW_UNLIKELY(thread_renamed)) {
		thread_renamed = false;
		sampler->named_ns = 0;
	}
	bool locked = mw_tables_lock(&mw_control_table_lock);
	mw_threads_note(sampler, sample.time_ns);
	sample.stack = stack_of(&stack, frames);
	/* mean_bytes == 0: sampling is off, and the request is logged only. */
	mw_record_id_t record = mean_bytes ? mw_records_add(&sample) : 0;
	if (MW_UNLIKELY(mw_prof_exempting))
		mw_records_exempt(record, true);
	if (mw_prof_recent_is_on())
		mw_prof_recent_add(record, &sample);
	mw_tables_unlock(&mw_control_table_lock, locked);
	if (record)
		probe(&sample);
	if (MW_UNLIKELY(request->certain))
		mw_triggers_request(request->requested_bytes, sample.stack);
	return record;
}

/* Records the sample of a process with an interpreter. */
static MW_NOINLINE mw_record_id_t record_with_script(mw_sampler_t *sampler,
						     const mw_sample_request_t *request,
						     uint64_t mean_bytes, uint64_t now_ns,
						     mw_script_sum_t script) {
	uint32_t places[MW_PROF_DEPTH_MAX];
	return record_sample(sampler, request, mean_bytes, now_ns, script, places);
}

/* Adjusts the thread's T to the limit on the cost of samples. The state file holds the largest
 * number of doublings that a thread had. */
static MW_COLD void limit_cost(mw_sampler_t *sampler, uint64_t now_ns) {
	mw_sampler_limit_cost(sampler, now_ns);
	uint32_t most = atomic_load_explicit(&mw_store_live()->doublings, memory_order_relaxed);
	if (MW_LIKELY(sampler->rate <= most))
		return;
	mw_both_set32(mw_store_live_both(), MW_LIVE(doublings), sampler->rate);
	mw_store_set_flag(MW_STATE_LIMITED);
}

/* Does the maintenance and the dumps that are due after a sample. */
static MW_COLD void maintain(uint64_t now_ns) {
	int saved_errno = errno;
	mw_new_objects_poll();
	mw_control_maintain(0, now_ns);
	mw_triggers_sampled();
	errno = saved_errno;
}

/* Appends a tick and writes the dumps that are due after a free, so that the profile of a program
 * that frees memory and then idles is up to date. */
static MW_COLD void maintain_after_free(uint64_t now_ns) {
	int saved_errno = errno;
	mw_control_tick(now_ns);
	mw_triggers_sampled();
	errno = saved_errno;
}

static inline bool is_maintenance_due(uint64_t now_ns) {
	return mw_control_needs_maintenance(now_ns) || mw_triggers_are_armed();
}

/* Takes a sample in all cases. `script` as for record_sample(). */
static MW_NOINLINE mw_record_id_t take_any(mw_sampler_t *sampler,
					   const mw_sample_request_t *request,
					   mw_script_sum_t script) {
	int saved_errno = errno;
	mw_record_id_t record = 0;
	mw_control_check_fork();
	if (mw_sampler_is_copy(sampler))
		mw_sampler_start(sampler);
	/* If sampling was stopped in the meantime, the draw does not count. */
	uint64_t mean_bytes =
		mw_control_is_active() ? mw_sampler_mean_at(request->draw_generation) : 0;
	if ((mean_bytes != 0 || request->certain) && !mw_prof_ignoring &&
	    mw_prof_thread_is_active() && mw_control_need_tables()) {
		uint64_t now_ns = mw_os_quick_ns();
		record =
			mw_script_is_on()
				? record_with_script(sampler, request, mean_bytes, now_ns, script)
				: record_sample(sampler, request, mean_bytes, now_ns, script, NULL);
		if (mw_sampler_ends_window(sampler))
			limit_cost(sampler, now_ns);
		if (is_maintenance_due(now_ns))
			maintain(now_ns);
	}
	errno = saved_errno;
	return record;
}

/* Returns whether the sample needs nothing but a record and counters. */
static inline bool is_ordinary(const mw_sampler_t *sampler, const mw_sample_request_t *request) {
	return mw_control_is_active() && mw_control_has_tables() && !mw_published_was_wiped() &&
	       mw_program_hooks_are_off() && !mw_prof_recent_is_on() && !request->certain &&
	       !mw_prof_ignoring && !mw_prof_exempting && !thread_renamed &&
	       sampler->thread_id != 0 && !mw_sampler_is_copy(sampler) &&
	       mw_prof_thread_is_active();
}

/* Returns the number that was noted for the thread's stack; 0: none. The script frames are its key.
 * They are only read if the interpreter is there for sure: *script becomes their sum. */
static uint64_t recognise(mw_script_sum_t *script) {
	if (mw_script_is_on()) {
		if (!mw_script_is_permanent())
			return 0;
		*script = mw_script_sum();
	}
	return mw_unwind_recognise(script->key);
}

/* Most samples have the stack of one of the thread's last samples. For them the function walks and
 * looks up nothing, makes no system call and keeps errno. */
mw_record_id_t mw_sample_taken(mw_hook_thread_t *thread, const mw_sample_request_t *request) {
	mw_sampler_t *sampler = mw_sampler_of(thread);
	uint64_t mean_bytes = mw_sampler_mean_of(sampler, request->draw_generation);
	uint64_t cached_value = 0;
	mw_script_sum_t script = {.key = 0};
	if (mean_bytes != 0 && is_ordinary(sampler, request))
		cached_value = recognise(&script);
	/* With another generation of the module table, the number may mean another stack. */
	if (MW_UNLIKELY(cached_value == 0) || MW_UNLIKELY(!is_of_these_modules(cached_value)))
		return take_any(sampler, request, script);
	uint64_t now_ns = mw_os_quick_ns();
	mw_sample_t sample = describe(sampler, request, mean_bytes, now_ns);
	sample.stack = number_of(cached_value);
	bool locked = mw_tables_lock(&mw_control_table_lock);
	/* Likewise in another generation of the depot, which changes while the lock is free. */
	if (MW_UNLIKELY(!is_of_this_depot(cached_value))) {
		mw_tables_unlock(&mw_control_table_lock, locked);
		return take_any(sampler, request, script);
	}
	mw_threads_note(sampler, now_ns);
	mw_record_id_t record = mw_records_add(&sample);
	mw_tables_unlock(&mw_control_table_lock, locked);
	if (record)
		probe(&sample);
	if (mw_sampler_ends_window(sampler))
		limit_cost(sampler, now_ns);
	if (MW_UNLIKELY(is_maintenance_due(now_ns)))
		maintain(now_ns);
	return record;
}

/* Adds the free to the log and to the list of recent samples. Called with the tables' lock. */
static void note_free(mw_record_id_t record, const mw_sample_t *sample, const mw_release_t *release,
		      uint32_t free_stack) {
	mw_release_t known = *release;
	/* The quick clock may go back between two readings; the log shows no free before its
	 * allocation. */
	if (known.time_ns < sample->time_ns)
		known.time_ns = sample->time_ns;
	if (mw_prof_log_is_on())
		mw_prof_log_add(sample, &known, free_stack);
	if (mw_prof_recent_is_on())
		mw_prof_recent_freed(record, &known, free_stack);
}

/* Removes the record. Walks the stack of the free if the log or the recent samples need it. */
static MW_COLD void remove_noted(mw_record_id_t record, const mw_release_t *release,
				 mw_sample_t *sample) {
	uint64_t frames[MW_PROF_DEPTH_MAX];
	uint32_t places[MW_PROF_DEPTH_MAX];
	capture_t stack = {.places = mw_script_is_on() ? places : NULL};
	bool is_noted = mw_prof_log_is_on() || mw_prof_recent_is_on();
	if (is_noted) {
		/* mw_unwind_entry may belong to an allocation function whose hook calls free(), so
		 * the walk does not start there. */
		const uintptr_t *entry = mw_unwind_entry;
		mw_unwind_entry = NULL;
		capture(&stack, frames);
		mw_unwind_entry = entry;
	}
	bool locked = mw_tables_lock(&mw_control_table_lock);
	if (mw_records_read(record, sample) && is_noted)
		note_free(record, sample, release, stack_of(&stack, frames));
	mw_records_remove(record, release);
	mw_tables_unlock(&mw_control_table_lock, locked);
}

static MW_NOINLINE void free_any(mw_hook_thread_t *thread, mw_record_id_t record, bool temporary) {
	int saved_errno = errno;
	mw_control_check_fork();
	mw_release_t release = {
		.time_ns = mw_os_quick_ns(),
		.thread_id = thread ? thread_id(mw_sampler_of(thread)) : 0,
		.temporary = temporary,
	};
	mw_sample_t sample;
	remove_noted(record, &release, &sample);
	probe_free(sample.address);
	mw_program_hook_freed(sample.address, sample.requested_bytes, sample.usable_bytes);
	maintain_after_free(release.time_ns);
	errno = saved_errno;
}

static inline bool is_free_ordinary(const mw_hook_thread_t *thread) {
	return thread && ((const mw_sampler_t *)(const void *)thread)->thread_id != 0 &&
	       !mw_published_was_wiped() && mw_program_hooks_are_off() && !mw_prof_log_is_on() &&
	       !mw_prof_recent_is_on();
}

void mw_sample_freed(mw_hook_thread_t *thread, mw_record_id_t record, bool temporary) {
	mw_records_prefetch(record);
	if (MW_UNLIKELY(!is_free_ordinary(thread))) {
		free_any(thread, record, temporary);
		return;
	}
	mw_release_t release = {
		.time_ns = mw_os_quick_ns(),
		.thread_id = mw_sampler_of(thread)->thread_id,
		.temporary = temporary,
	};
	bool locked = mw_tables_lock(&mw_control_table_lock);
	uint64_t address = mw_records_remove(record, &release);
	mw_tables_unlock(&mw_control_table_lock, locked);
	probe_free(address);
	if (MW_UNLIKELY(mw_event_log_tick_is_near(release.time_ns)) ||
	    MW_UNLIKELY(mw_triggers_are_armed()))
		maintain_after_free(release.time_ns);
}
