/* SPDX-License-Identifier: MIT
 * report_json.c -- `mallow report --json`. */
#include "cmd/report/report_json.h"

#include <jansson.h>

#include "cli/print.h"
#include "model/memory.h"
#include "model/text.h"
#include "report/interval.h"
#include "report/stacks.h"
#include "report/text/resident_text.h"
#include "report/text/units.h"
#include "symbol/symbolize.h"

static void add_number(json_t *object, const char *key, int64_t value) {
	char *clean = mw_text_clean(mw_xstrdup(key), "");
	json_object_set_new(object, clean, json_integer(value));
	free(clean);
}

static json_t *frame_json(const mw_profile_t *p, uint32_t location, const mw_line_t *line) {
	json_t *frame = json_object();
	char name[512];
	if (line != NULL) {
		const mw_function_t *f = &p->functions[line->function];
		json_object_set_new(frame, "name", mw_json_text(mw_profile_string(p, f->name)));
		if (f->file != 0)
			json_object_set_new(frame, "file",
					    mw_json_text(mw_profile_string(p, f->file)));
		if (line->line > 0)
			add_number(frame, "line", line->line);
		return frame;
	}
	mw_location_name(p, location, name, sizeof(name));
	json_object_set_new(frame, "name", mw_json_text(name));
	return frame;
}

json_t *mw_frames_json(const mw_profile_t *p, const mw_sample_t *sample) {
	json_t *frames = json_array();
	for (uint32_t i = 0; i < sample->depth; i++) {
		uint32_t location = p->frames[sample->frame_first + i];
		const mw_location_t *l = &p->locations[location];
		for (uint32_t k = 0; k < l->line_count; k++)
			json_array_append_new(
				frames, frame_json(p, location, &p->lines[l->line_first + k]));
		if (l->line_count == 0)
			json_array_append_new(frames, frame_json(p, location, NULL));
	}
	return frames;
}

static json_t *shares_json(const mw_stack_t *stack, mw_share_kind_t kind) {
	/* Names of a share's key, as text and as number. */
	static const struct {
		const char *text, *number;
	} keys[MW_SHARE_KINDS] = {
		[MW_SHARE_SIZES] = {NULL, "size"},         [MW_SHARE_MADE_SIZES] = {NULL, "size"},
		[MW_SHARE_THREADS] = {"name", "id"},       [MW_SHARE_AGES] = {"age", NULL},
		[MW_SHARE_LIFETIMES] = {"lifetime", NULL},
	};
	json_t *list = json_array();
	for (size_t i = 0; i < stack->share_counts[kind]; i++) {
		const mw_share_t *share = &stack->shares[kind][i];
		json_t *entry = json_object();
		if (keys[kind].text != NULL)
			json_object_set_new(entry, keys[kind].text, mw_json_text(share->name));
		if (keys[kind].number != NULL)
			add_number(entry, keys[kind].number, share->number);
		add_number(entry, "objects", share->objects);
		if (kind != MW_SHARE_LIFETIMES)
			add_number(entry, "bytes", share->bytes);
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *stack_json(const mw_profile_t *p, const mw_stacks_t *stacks,
			  const mw_stack_t *stack) {
	json_t *value = json_object();
	mw_interval_types_t interval;
	for (size_t i = 0; i < p->type_count; i++)
		add_number(value, mw_profile_string(p, p->types[i].type), stack->values[i]);
	if (mw_interval_types_find(p, stacks->type, &interval)) {
		mw_interval_t range = mw_interval_of(stack->values[stacks->type], &stack->spread);
		json_object_set_new(
			value, "interval",
			json_pack("[I,I]", (json_int_t)range.low, (json_int_t)range.high));
	}
	json_object_set_new(value, "sizes", shares_json(stack, MW_SHARE_SIZES));
	json_object_set_new(value, "alloc_sizes", shares_json(stack, MW_SHARE_MADE_SIZES));
	json_object_set_new(value, "threads", shares_json(stack, MW_SHARE_THREADS));
	json_object_set_new(value, "ages", shares_json(stack, MW_SHARE_AGES));
	json_object_set_new(value, "lifetimes", shares_json(stack, MW_SHARE_LIFETIMES));
	json_object_set_new(value, "frames", mw_frames_json(p, &p->samples[stack->sample]));
	return value;
}

int mw_report_json(const mw_profile_t *p, const mw_report_options_t *options, mw_error_t *error) {
	mw_stacks_t stacks;
	if (mw_stacks_init(&stacks, p, options->sample_type, error) != 0)
		return -1;
	json_t *value = json_object(), *list = json_array();
	json_object_set_new(value, "view", json_string("report"));
	json_object_set_new(value, "program",
			    mw_json_text(mw_profile_string(p, p->origin.program)));
	add_number(value, "pid", p->origin.pid);
	add_number(value, "time_ns", p->time_ns);
	json_object_set_new(value, "killed", json_boolean(p->origin.killed));
	add_number(value, "mean_bytes", p->period);
	add_number(value, "stops", (int64_t)(p->origin.stops & INT64_MAX));
	add_number(value, "unseen_ns", p->origin.off_ns);
	json_object_set_new(value, "seen_share", json_real(mw_seen_share(p)));
	json_object_set_new(value, "type",
			    mw_json_text(mw_profile_string(p, p->types[stacks.type].type)));
	json_object_set_new(value, "unit",
			    mw_json_text(mw_profile_string(p, p->types[stacks.type].unit)));
	add_number(value, "total", stacks.total);
	mw_interval_t range = mw_interval_of_total(p, stacks.type);
	if (range.low != range.high)
		json_object_set_new(
			value, "interval",
			json_pack("[I,I]", (json_int_t)range.low, (json_int_t)range.high));
	if (p->origin.resident.bytes > 0)
		json_object_set_new(value, "resident",
				    mw_resident_json(&p->origin.resident, mw_arenas_of_profile(p)));
	add_number(value, "stack_count", (int64_t)stacks.count);
	for (size_t i = 0; i < stacks.count; i++)
		if (options->row_limit == 0 || i < options->row_limit)
			json_array_append_new(list, stack_json(p, &stacks, &stacks.stacks[i]));
	json_object_set_new(value, "stacks", list);
	mw_stacks_release(&stacks);
	return mw_print_json(value);
}
