/* SPDX-License-Identifier: MIT
 * leaks_growth.c -- prints holders, the blocks between, and the stacks that allocated the blocks.
 */
#include "cmd/leaks/leaks_growth.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/print.h"
#include "cmd/leaks/leaks_holders.h"
#include "cmd/leaks/leaks_text.h"
#include "cmd/report/report_json.h"
#include "model/text.h"
#include "report/stacks.h"
#include "report/text/units.h"

/* Blocks that other blocks hang on, and stacks, that are shown for each holder. */
#define SHOWN_MAX 3

/* ---- text ---- */

static void print_through(mw_holders_t *holders, const mw_held_group_t *root) {
	mw_held_groups_t through = mw_holders_through(holders, root);
	for (size_t i = 0; i < through.count && i < SHOWN_MAX; i++) {
		fputs("    through    ", stdout);
		mw_leaks_print_amount(stdout, through.all[i].bytes, through.all[i].objects);
		fputs(" on blocks of ", stdout);
		mw_text_print(stdout, through.all[i].name);
		putchar('\n');
	}
	free(through.all);
}

static void print_stacks(const mw_growth_report_t *r, mw_holders_t *holders,
			 const mw_held_group_t *root) {
	mw_held_groups_t stacks = mw_holders_stacks(holders, root);
	size_t shown = 0;
	for (; shown < stacks.count && shown < SHOWN_MAX; shown++) {
		mw_sample_t stack = mw_holders_allocation(holders, stacks.all[shown].sample);
		fputs("    allocated  ", stdout);
		mw_leaks_print_amount(stdout, stacks.all[shown].bytes, stacks.all[shown].objects);
		putchar('\n');
		mw_stack_print_frames(stdout, r->profile, &stack, false, r->columns);
	}
	if (shown < stacks.count)
		printf("    ... and %zu more stacks\n", stacks.count - shown);
	free(stacks.all);
}

void mw_growth_print_title(const mw_growth_report_t *r, int64_t bytes, int64_t objects,
			   const char *condition) {
	const mw_profile_t *p = r->profile;
	char rate[32], age[32];
	mw_text_print(stdout, mw_profile_string(p, p->origin.program));
	printf(" (pid %" PRIu32 "): ", p->origin.pid);
	mw_leaks_print_amount(stdout, bytes, objects);
	printf(" allocated in the last %s%s\n",
	       mw_format_nanoseconds((int64_t)(r->seconds * 1e9), age, sizeof(age)), condition);
	if (p->period > 1)
		printf("  one sample in %s: sizes and counts are estimates\n",
		       mw_format_bytes(p->period, rate, sizeof(rate)));
}

static void print_title(const mw_growth_report_t *r, const mw_held_groups_t *roots) {
	int64_t bytes = 0, objects = 0;
	for (size_t i = 0; i < roots->count; i++) {
		bytes += roots->all[i].bytes;
		objects += roots->all[i].objects;
	}
	mw_growth_print_title(r, bytes, objects, ", in use and reachable");
	if (r->missing > 0)
		printf("  the state file is full: %" PRIu64 " sampled blocks are missing\n",
		       r->missing);
	putchar('\n');
}

int mw_growth_print_text(const mw_growth_report_t *r, mw_error_t *error) {
	(void)error;
	mw_holders_t *holders = mw_holders_new(r->profile);
	mw_held_groups_t roots = mw_holders_roots(holders);
	print_title(r, &roots);
	size_t shown = 0;
	for (; shown < roots.count && (r->row_limit == 0 || shown < r->row_limit); shown++) {
		const mw_held_group_t *root = &roots.all[shown];
		printf("#%zu  ", shown + 1);
		mw_leaks_print_amount(stdout, root->bytes, root->objects);
		fputs(", held by ", stdout);
		mw_text_print(stdout, root->name);
		putchar('\n');
		print_through(holders, root);
		print_stacks(r, holders, root);
		putchar('\n');
	}
	if (shown < roots.count)
		printf("... and %zu more holders\n", roots.count - shown);
	free(roots.all);
	mw_holders_free(holders);
	return 0;
}

/* ---- JSON ---- */

static json_t *group_json(const mw_held_group_t *group) {
	return json_pack("{s:I,s:I}", "bytes", (json_int_t)group->bytes, "blocks",
			 (json_int_t)group->objects);
}

static json_t *through_json(mw_holders_t *holders, const mw_held_group_t *root) {
	mw_held_groups_t through = mw_holders_through(holders, root);
	json_t *list = json_array();
	for (size_t i = 0; i < through.count; i++) {
		json_t *entry = group_json(&through.all[i]);
		json_object_set_new(entry, "function", mw_json_text(through.all[i].name));
		json_array_append_new(list, entry);
	}
	free(through.all);
	return list;
}

static json_t *stacks_json(const mw_growth_report_t *r, mw_holders_t *holders,
			   const mw_held_group_t *root) {
	mw_held_groups_t stacks = mw_holders_stacks(holders, root);
	json_t *list = json_array();
	for (size_t i = 0; i < stacks.count; i++) {
		mw_sample_t stack = mw_holders_allocation(holders, stacks.all[i].sample);
		json_t *entry = group_json(&stacks.all[i]);
		json_object_set_new(entry, "frames", mw_frames_json(r->profile, &stack));
		json_array_append_new(list, entry);
	}
	free(stacks.all);
	return list;
}

static json_t *holder_json(const mw_growth_report_t *r, mw_holders_t *holders,
			   const mw_held_group_t *root) {
	json_t *value = group_json(root);
	json_object_set_new(value, "kind", mw_json_text(mw_holders_kind(r->profile, root->sample)));
	json_object_set_new(value, "name", mw_json_text(root->name));
	json_object_set_new(value, "through", through_json(holders, root));
	json_object_set_new(value, "stacks", stacks_json(r, holders, root));
	return value;
}

int mw_growth_print_json(const mw_growth_report_t *r, mw_error_t *error) {
	(void)error;
	const mw_profile_t *p = r->profile;
	mw_holders_t *holders = mw_holders_new(p);
	mw_held_groups_t roots = mw_holders_roots(holders);
	json_t *list = json_array();
	for (size_t i = 0; i < roots.count && (r->row_limit == 0 || i < r->row_limit); i++)
		json_array_append_new(list, holder_json(r, holders, &roots.all[i]));
	json_t *value =
		json_pack("{s:s,s:o,s:I,s:I,s:f,s:I,s:o}", "view", "growth", "program",
			  mw_json_text(mw_profile_string(p, p->origin.program)), "pid",
			  (json_int_t)p->origin.pid, "mean_bytes", (json_int_t)p->period, "seconds",
			  r->seconds, "holder_count", (json_int_t)roots.count, "holders", list);
	free(roots.all);
	mw_holders_free(holders);
	return mw_print_json(value);
}
