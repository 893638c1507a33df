/* SPDX-License-Identifier: MIT
 * outside_profile.c -- samples, locations and mappings of a profile. */
#include "cmd/outside/outside_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print.h"
#include "model/memory.h"
#include "model/monotonic.h"

static void add_mappings(mw_profile_t *profile, const mw_outside_result_t *result) {
	for (size_t i = 0; i < result->mapping_count; i++) {
		const mw_outside_mapping_t *its = &result->mappings[i];
		mw_mapping_t mapping = {
			.start = its->start,
			.limit = its->limit,
			.offset = its->offset,
			.path = mw_profile_intern(profile, its->path),
			.build_id = mw_profile_intern(profile, its->build_id),
		};
		mw_profile_add_mapping(profile, &mapping);
	}
}

/* All of the code of `mallow attach` is one function: nobody wants to know which one. */
static void name_attached(mw_profile_t *p, uint32_t mapping, uint32_t location) {
	if (strcmp(mw_profile_string(p, p->mappings[mapping].path), MW_ATTACH_MAPPING) != 0)
		return;
	mw_string_t name = mw_profile_intern(p, MW_ATTACH_MAPPING);
	const mw_function_t function = {.name = name, .system_name = name};
	const mw_line_t line = {.function = mw_profile_add_function(p, &function)};
	mw_profile_set_lines(p, location, &line, 1);
}

/* The caller frees them. `has_pc`: the innermost frame is no return address. */
static uint32_t *make_locations(mw_profile_t *profile, const mw_outside_stack_t *stack,
				bool has_pc) {
	uint32_t *locations = mw_xcalloc(stack->depth, sizeof(*locations));
	for (size_t i = 0; i < stack->depth; i++) {
		uint64_t frame = stack->frames[i];
		uint32_t mapping = frame >= MW_KERNEL_START
					   ? mw_profile_add_kernel_mapping(profile)
					   : mw_profile_find_mapping(profile, frame);
		locations[i] = mw_profile_add_location(profile, mapping, frame, has_pc && i == 0);
		name_attached(profile, mapping, locations[i]);
	}
	return locations;
}

static void add_stack(mw_profile_t *profile, const mw_outside_stack_t *stack, bool only_old,
		      int64_t offset_ns) {
	const mw_outside_sum_t *made = &stack->allocated;
	const mw_outside_sum_t *live = only_old ? &stack->old : &stack->live;
	const int64_t values[] = {
		llround(made->blocks), llround(made->bytes),   llround(live->blocks),
		llround(live->bytes),  (int64_t)made->samples, (int64_t)live->samples,
	};
	const mw_label_t oldest = {
		.key = mw_profile_intern(profile, MW_LABEL_OLDEST),
		.number = (int64_t)stack->oldest_ns + offset_ns,
		.unit = mw_profile_intern(profile, "nanoseconds"),
	};
	uint32_t *locations = make_locations(profile, stack, stack->depth == 1);
	mw_profile_add_sample(profile, locations, stack->depth, values, &oldest, only_old);
	free(locations);
}

static void add_origin(mw_profile_t *profile, const mw_outside_session_t *session,
		       const char *format) {
	mw_origin_t *origin = &profile->origin;
	origin->program = mw_profile_intern(profile, session->process.name);
	origin->format = mw_profile_intern(profile, format);
	origin->pid = (uint32_t)session->process.pid;
	if (session->result.lost > 0) {
		char text[160];
		snprintf(text, sizeof(text), "%llu samples were lost",
			 (unsigned long long)session->result.lost);
		mw_profile_add_comment(profile, text);
	}
}

static void add_counts(mw_profile_t *profile, const mw_outside_session_t *session) {
	const mw_outside_result_t *result = &session->result;
	char text[160], since[MW_SHOW_BYTES];
	mw_origin_t *origin = &profile->origin;
	for (size_t i = 0; i < result->stack_count; i++) {
		origin->alloc_samples += result->stacks[i].allocated.samples;
		origin->live_samples += result->stacks[i].live.samples;
	}
	mw_show_time((uint64_t)(profile->time_ns - profile->duration_ns), since);
	snprintf(text, sizeof(text),
		 "sampled from outside since %s: blocks allocated before are not in it", since);
	mw_profile_add_comment(profile, text);
}

/* Returns the difference between the time of day and the clock of the samples. */
static int64_t add_times(mw_profile_t *profile, const mw_outside_result_t *result) {
	int64_t offset_ns = (int64_t)mw_now_ns() - (int64_t)(mw_monotonic_seconds() * 1e9);
	profile->time_ns = (int64_t)result->end_ns + offset_ns;
	profile->duration_ns = (int64_t)(result->seconds * 1e9);
	return offset_ns;
}

mw_profile_t *mw_outside_profile(const mw_outside_session_t *session, bool only_old) {
	const mw_outside_result_t *result = &session->result;
	mw_profile_t *profile = mw_profile_new();
	mw_profile_add_heap_types(profile);
	mw_profile_add_type(profile, "alloc_samples", "count");
	mw_profile_add_type(profile, "inuse_samples", "count");
	profile->period_type = (mw_value_type_t){mw_profile_intern(profile, "space"),
						 mw_profile_intern(profile, "bytes")};
	profile->period = (int64_t)session->options.mean_bytes;
	int64_t offset_ns = add_times(profile, result);
	add_mappings(profile, result);
	for (size_t i = 0; i < result->stack_count; i++)
		if (!only_old || result->stacks[i].old.samples > 0)
			add_stack(profile, &result->stacks[i], only_old, offset_ns);
	add_counts(profile, session);
	add_origin(profile, session, "probes");
	return profile;
}

static void add_cpu_stack(mw_profile_t *profile, const mw_outside_result_t *result,
			  const mw_outside_stack_t *stack) {
	const int64_t count = (int64_t)stack->allocated.samples;
	const int64_t values[] = {count, count * profile->period};
	const mw_outside_thread_t unknown = {.id = 0};
	const mw_outside_thread_t *thread =
		stack->thread > 0 ? &result->threads[stack->thread - 1] : &unknown;
	const mw_label_t labels[] = {
		{.key = mw_profile_intern(profile, MW_LABEL_THREAD),
		 .text = mw_profile_intern(profile, thread->name)},
		{.key = mw_profile_intern(profile, MW_LABEL_THREAD_ID), .number = thread->id},
	};
	uint32_t *locations = make_locations(profile, stack, true);
	mw_profile_add_sample(profile, locations, stack->depth, values, labels,
			      stack->thread > 0 ? 2 : 0);
	free(locations);
}

mw_profile_t *mw_outside_cpu_profile(const mw_outside_session_t *session) {
	const mw_outside_result_t *result = &session->result;
	mw_profile_t *profile = mw_profile_new();
	mw_profile_add_type(profile, "samples", "count");
	profile->default_type = (uint32_t)mw_profile_add_type(profile, "cpu", "nanoseconds");
	profile->period_type = profile->types[profile->default_type];
	profile->period = 1000000000 / session->options.cpu_hz;
	add_times(profile, result);
	add_mappings(profile, result);
	for (size_t i = 0; i < result->stack_count; i++)
		add_cpu_stack(profile, result, &result->stacks[i]);
	add_origin(profile, session, "kernel clock");
	return profile;
}
