/* SPDX-License-Identifier: MIT
 * sample.c -- a sample's way through the profiler: its stack, its record, and who else is told. */
#include "prof/sample.h"

#include <errno.h>
#include <stddef.h>

#include "base/compiler.h"
#include "os/proc.h"
#include "os/ticks.h"
#include "prof/control.h"
#include "prof/depot.h"
#include "prof/log.h"
#include "prof/modules.h"
#include "prof/parts.h"
#include "prof/probes.h"
#include "prof/prof.h"
#include "prof/recall.h"
#include "prof/recent.h"
#include "prof/records.h"
#include "prof/sampler.h"
#include "prof/threads.h"
#include "prof/triggers.h"
#include "prof/unwind.h"
#include "prof/watch.h"

_Static_assert(MW_PROF_DEPTH_MAX <= MW_UNWIND_DEPTH_MAX, "as deep as can be asked for");

static unsigned depth_max;
static MW_TLS bool thread_renamed;

MW_RESIDENT void mw_sample_start(unsigned depth) {
	depth_max = depth;
}

void mw_sample_thread_renamed(void) {
	thread_renamed = true;
}

static uint32_t thread_id(mw_sampler_t *sampler) {
	if (sampler->thread_id == 0)
		sampler->thread_id = mw_os_thread_id();
	return sampler->thread_id;
}

/* A walk, and by what its stack is recognised. */
typedef struct capture {
	mw_unwind_result_t walk;
	uint32_t known; /* number of the stack; 0: to be found by the key */
	/* Of the table of modules, if there is code that may be unloaded: what its stamps stand for
	 * may be other frames in another. */
	uint32_t generation;
	mw_recall_key_t key;
} capture_t;

/* All frames.  In between this thread may have been interrupted by a walk. */
static void write_frames(capture_t *c, uint64_t *frames) {
	if (MW_UNLIKELY(!mw_unwind_write_rest(&c->walk, frames)))
		c->walk = mw_unwind_capture_caller(frames, depth_max, false);
	c->walk.written = c->walk.depth;
}

static void capture(capture_t *c, uint64_t *frames) {
	/* Of a known stack nobody needs the frames but who watches. */
	if (MW_LIKELY(mw_watch_is_off())) {
		c->walk = mw_unwind_capture_caller(frames, depth_max, true);
	} else {
		c->walk = mw_watch_capture(frames, depth_max);
		c->walk.written = c->walk.depth;
	}
	c->generation = c->walk.stamps ? mw_modules_generation() : 0;
	c->known = MW_LIKELY(c->walk.memo >> 32 == c->generation) ? (uint32_t)c->walk.memo : 0;
	if (c->known != 0)
		return;
	uint64_t code = c->walk.stamps + ((uint64_t)c->generation << 32);
	if (c->walk.sum == 0)
		write_frames(c, frames);
	c->key = c->walk.sum != 0 ? mw_recall_key_by_sum(c->walk.sum, c->walk.depth, code)
				  : mw_recall_key(frames, c->walk.depth, c->walk.truncated, code);
}

/* In the caller's turn. */
static MW_NOINLINE uint32_t find_stack(capture_t *c, uint64_t *frames, unsigned part) {
	uint32_t number = mw_recall_find(c->key);
	if (number == 0) {
		write_frames(c, frames);
		bool permanent = mw_modules_encode(frames, c->walk.depth);
		number = mw_depot_find(frames, c->walk.depth, c->walk.truncated);
		/* Not one that was cut because the tables are full: they may be widened. */
		if ((!permanent && !c->walk.is_stamped) || mw_depot_depth(number) != c->walk.depth)
			return number;
		mw_recall_put(c->key, number);
	}
	number = mw_parts_find(number, part);
	mw_unwind_note(c->walk.serial, (uint64_t)c->generation << 32 | number);
	return number;
}

/* The number of the stack of these PCs, which are encoded if need be.  In the caller's turn. */
static uint32_t stack_of(capture_t *c, uint64_t *frames, unsigned part) {
	return MW_LIKELY(c->known != 0) ? c->known : find_stack(c, frames, part);
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

/* One place each, which a profiler from outside finds by its note. */
static MW_NOINLINE void probe(const mw_sample_t *sample) {
	mw_probe_alloc(sample->address, sample->usable_bytes,
		       (uint64_t)mw_sampler_weigh(sample->weight_q16, sample->usable_bytes));
}

static MW_NOINLINE void probe_free(uint64_t address) {
	mw_probe_free(address);
}

static mw_record_id_t record_sample(mw_sampler_t *sampler, const mw_sample_request_t *request,
				    uint64_t mean_bytes, uint64_t now_ns) {
	/* On the program's stack: a sample is taken by every thread, and none may wait for another.
	 */
	uint64_t frames[MW_PROF_DEPTH_MAX];
	mw_unwind_sampled(now_ns);
	capture_t stack;
	capture(&stack, frames);
	if (mean_bytes && stack.walk.written == stack.walk.depth)
		mw_watch_sampled(request, frames, stack.walk.depth);
	mw_sample_t sample = describe(sampler, request, mean_bytes, now_ns);
	if (MW_UNLIKELY(thread_renamed)) {
		thread_renamed = false;
		sampler->named_ns = 0;
	}
	bool turn = mw_gate_take_turn(&mw_control_gate);
	mw_threads_note(sampler, sample.time_ns);
	sample.stack = stack_of(&stack, frames, sampler->part);
	/* Without a mean sampling is off: the request is only logged. */
	mw_record_id_t record = mean_bytes ? mw_records_add(&sample) : 0;
	if (mw_recent_is_on())
		mw_recent_add(record, &sample);
	mw_gate_end_turn(&mw_control_gate, turn);
	if (record)
		probe(&sample);
	if (MW_UNLIKELY(request->certain))
		mw_triggers_request(request->requested_bytes, sample.stack);
	return record;
}

/* What may be to do after a sample, at its time. */
static MW_COLD void tend(uint64_t now_ns) {
	int saved_errno = errno;
	mw_control_tend(0, now_ns);
	mw_triggers_sampled();
	errno = saved_errno;
}

/* After a free: a program that frees and then idles is known as it is, too. */
static MW_COLD void tend_freed(uint64_t now_ns) {
	int saved_errno = errno;
	mw_control_tick(now_ns);
	mw_triggers_sampled();
	errno = saved_errno;
}

static inline bool wants_tending(uint64_t now_ns) {
	return mw_control_wants_tending(now_ns) || mw_triggers_are_armed();
}

/* Any sample. */
static MW_NOINLINE mw_record_id_t take_any(mw_sampler_t *sampler,
					   const mw_sample_request_t *request) {
	int saved_errno = errno;
	mw_record_id_t record = 0;
	mw_control_notice_fork();
	if (mw_sampler_is_copy(sampler))
		mw_sampler_start(sampler);
	/* Stopped in the meantime: what was drawn before counts for nothing. */
	uint64_t mean_bytes = mw_control_is_active() ? mw_sampler_mean_at(request->draw_epoch) : 0;
	if ((mean_bytes != 0 || request->certain) && !mw_prof_ignoring &&
	    mw_prof_thread_is_active() && mw_control_need_tables()) {
		uint64_t now_ns = mw_os_quick_ns();
		record = record_sample(sampler, request, mean_bytes, now_ns);
		if (wants_tending(now_ns))
			tend(now_ns);
	}
	errno = saved_errno;
	return record;
}

/* Is there nothing about the sample but to count it? */
static inline bool is_ordinary(const mw_sampler_t *sampler, const mw_sample_request_t *request) {
	return mw_control_is_active() && mw_control_has_tables() && !mw_mirror_was_wiped() &&
	       mw_watch_is_off() && !mw_recent_is_on() && !request->certain && !mw_prof_ignoring &&
	       !thread_renamed && sampler->thread_id != 0 && !mw_sampler_is_copy(sampler) &&
	       mw_prof_thread_is_active();
}

/* In the caller's turn. */
static MW_COLD uint32_t count_apart(const mw_sampler_t *sampler, uint64_t memo) {
	uint32_t stack = (uint32_t)memo, own = mw_parts_make(stack, sampler->part);
	if (own != stack)
		mw_unwind_note_again(memo, memo - stack + own);
	return own;
}

/* The stack of most samples is the one of the thread's last: nothing is walked or looked up, no
 * call of the kernel's is made, and errno stays. */
mw_record_id_t mw_sample_taken(mw_hook_thread_t *thread, const mw_sample_request_t *request) {
	mw_sampler_t *sampler = mw_sampler_of(thread);
	uint64_t mean_bytes = mw_sampler_mean_of(sampler, request->draw_epoch);
	uint64_t memo = 0;
	if (mean_bytes != 0 && is_ordinary(sampler, request))
		memo = mw_unwind_recognise();
	/* Noted under another table of modules it may be another stack. */
	if (MW_UNLIKELY(memo == 0) ||
	    (MW_UNLIKELY(memo >> 32 != 0) && memo >> 32 != mw_modules_generation()))
		return take_any(sampler, request);
	uint64_t now_ns = mw_os_quick_ns();
	mw_sample_t sample = describe(sampler, request, mean_bytes, now_ns);
	sample.stack = (uint32_t)memo;
	bool turn = mw_gate_take_turn(&mw_control_gate);
	mw_threads_note(sampler, now_ns);
	if (mw_parts_is_due(sampler, sample.stack))
		sample.stack = count_apart(sampler, memo);
	mw_record_id_t record = mw_records_add(&sample);
	mw_gate_end_turn(&mw_control_gate, turn);
	if (record)
		probe(&sample);
	if (MW_UNLIKELY(wants_tending(now_ns)))
		tend(now_ns);
	return record;
}

/* Who wants to know of a free, besides the counters.  In the caller's turn. */
static void note_free(mw_record_id_t record, const mw_sample_t *sample, const mw_release_t *release,
		      uint32_t free_stack) {
	mw_release_t known = *release;
	/* A later reading of the quick clock may be an earlier time; nobody is to see that. */
	if (known.time_ns < sample->time_ns)
		known.time_ns = sample->time_ns;
	if (mw_log_is_on())
		mw_log_add(sample, &known, free_stack);
	if (mw_recent_is_on())
		mw_recent_freed(record, &known, free_stack);
}

/* The stack is walked for them alone. */
static MW_COLD void remove_noted(mw_record_id_t record, const mw_release_t *release,
				 mw_sample_t *sample) {
	uint64_t frames[MW_PROF_DEPTH_MAX];
	capture_t stack;
	bool is_noted = mw_log_is_on() || mw_recent_is_on();
	if (is_noted)
		capture(&stack, frames);
	bool turn = mw_gate_take_turn(&mw_control_gate);
	if (mw_records_look(record, sample) && is_noted)
		note_free(record, sample, release, stack_of(&stack, frames, 0));
	mw_records_remove(record, release);
	mw_gate_end_turn(&mw_control_gate, turn);
}

static MW_NOINLINE void free_any(mw_hook_thread_t *thread, mw_record_id_t record, bool temporary) {
	int saved_errno = errno;
	mw_control_notice_fork();
	mw_release_t release = {
		.time_ns = mw_os_quick_ns(),
		.thread_id = thread ? thread_id(mw_sampler_of(thread)) : 0,
		.temporary = temporary,
	};
	mw_sample_t sample;
	remove_noted(record, &release, &sample);
	probe_free(sample.address);
	mw_watch_freed(sample.address, sample.requested_bytes, sample.usable_bytes);
	tend_freed(release.time_ns);
	errno = saved_errno;
}

static inline bool is_free_ordinary(const mw_hook_thread_t *thread) {
	return thread && ((const mw_sampler_t *)(const void *)thread)->thread_id != 0 &&
	       !mw_mirror_was_wiped() && mw_watch_is_off() && !mw_log_is_on() && !mw_recent_is_on();
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
	bool turn = mw_gate_take_turn(&mw_control_gate);
	uint64_t address = mw_records_remove(record, &release);
	mw_gate_end_turn(&mw_control_gate, turn);
	probe_free(address);
	if (MW_UNLIKELY(mw_journal_tick_is_near(release.time_ns)) ||
	    MW_UNLIKELY(mw_triggers_are_armed()))
		tend_freed(release.time_ns);
}
