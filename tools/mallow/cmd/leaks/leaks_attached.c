/* SPDX-License-Identifier: MIT
 * leaks_attached.c -- prints stacks, largest first. */
#include "cmd/leaks/leaks_attached.h"

#include <jansson.h>
#include <stdio.h>

#include "cli/print.h"
#include "cmd/leaks/leaks_text.h"
#include "cmd/report/report_json.h"
#include "report/stacks.h"
#include "report/text/units.h"

static bool is_shown(const mw_growth_report_t *r, const mw_stacks_t *stacks, size_t i) {
	return i < stacks->count && (r->row_limit == 0 || i < r->row_limit);
}

static int64_t blocks_of(const mw_growth_report_t *r, const mw_stack_t *stack) {
	return mw_stack_value(r->profile, stack, "inuse_objects");
}

static void print_title(const mw_growth_report_t *r, const mw_stacks_t *stacks) {
	int64_t objects = 0;
	for (size_t i = 0; i < stacks->count; i++)
		objects += blocks_of(r, &stacks->stacks[i]);
	mw_growth_print_title(r, stacks->total, objects, " and in use");
	puts("  mallow is attached to the process: who holds the blocks is not known\n");
}

int mw_attached_growth_print_text(const mw_growth_report_t *r, mw_error_t *error) {
	mw_stacks_t stacks;
	size_t i = 0;
	char low[32], high[32];
	if (mw_stacks_init(&stacks, r->profile, "inuse_space", error) != 0)
		return -1;
	print_title(r, &stacks);
	for (; is_shown(r, &stacks, i); i++) {
		const mw_stack_t *stack = &stacks.stacks[i];
		int64_t bytes = stack->values[stacks.type];
		mw_interval_t range = mw_interval_of(bytes, &stack->spread);
		printf("#%zu  ", i + 1);
		mw_leaks_print_amount(stdout, bytes, blocks_of(r, stack));
		printf(" (95 in 100: %s .. %s)\n", mw_format_bytes(range.low, low, sizeof(low)),
		       mw_format_bytes(range.high, high, sizeof(high)));
		mw_stack_print_frames(stdout, r->profile, &r->profile->samples[stack->sample],
				      false, r->columns);
		putchar('\n');
	}
	if (i < stacks.count)
		printf("... and %zu more stacks\n", stacks.count - i);
	mw_stacks_release(&stacks);
	return 0;
}

int mw_attached_growth_print_json(const mw_growth_report_t *r, mw_error_t *error) {
	const mw_profile_t *p = r->profile;
	mw_stacks_t stacks;
	if (mw_stacks_init(&stacks, p, "inuse_space", error) != 0)
		return -1;
	json_t *list = json_array();
	for (size_t i = 0; is_shown(r, &stacks, i); i++) {
		const mw_stack_t *stack = &stacks.stacks[i];
		int64_t bytes = stack->values[stacks.type];
		mw_interval_t range = mw_interval_of(bytes, &stack->spread);
		json_array_append_new(
			list, json_pack("{s:I,s:I,s:[I,I],s:o}", "bytes", (json_int_t)bytes,
					"blocks", (json_int_t)blocks_of(r, stack), "interval",
					(json_int_t)range.low, (json_int_t)range.high, "frames",
					mw_frames_json(p, &p->samples[stack->sample])));
	}
	json_t *value =
		json_pack("{s:s,s:o,s:I,s:I,s:f,s:I,s:I,s:o}", "view", "growth_attached", "program",
			  mw_json_text(mw_profile_string(p, p->origin.program)), "pid",
			  (json_int_t)p->origin.pid, "mean_bytes", (json_int_t)p->period, "seconds",
			  r->seconds, "total", (json_int_t)stacks.total, "stack_count",
			  (json_int_t)stacks.count, "stacks", list);
	mw_stacks_release(&stacks);
	return mw_print_json(value);
}
