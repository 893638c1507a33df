/* SPDX-License-Identifier: MIT
 * leaks_json.c -- the result of a leak check as JSON. */
#include <jansson.h>

#include "cli/print.h"
#include "cmd/leaks/leaks_text.h"
#include "cmd/report/report_json.h"

static json_t *count_json(uint64_t blocks, uint64_t bytes) {
	return json_pack("{s:I,s:I}", "blocks", (json_int_t)blocks, "bytes", (json_int_t)bytes);
}

static json_t *classes_json(const mw_state_leak_check_t *c) {
	json_t *list = json_array();
	for (uint64_t i = 0; i < c->class_count; i++) {
		const mw_state_leak_class_t *its = &c->classes[i];
		if (its->live_blocks == 0)
			continue;
		json_t *entry = json_object();
		json_object_set_new(entry, "block_bytes",
				    its->block_bytes != 0
					    ? json_integer((json_int_t)its->block_bytes)
					    : json_null());
		json_object_set_new(entry, "live", count_json(its->live_blocks, its->live_bytes));
		json_object_set_new(entry, "direct",
				    count_json(its->direct_blocks, its->direct_bytes));
		json_object_set_new(entry, "indirect",
				    count_json(its->indirect_blocks, its->indirect_bytes));
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *check_json(const mw_state_leak_check_t *c) {
	json_t *value = json_pack(
		"{s:I,s:I,s:I,s:I,s:I,s:I,s:i,s:i,s:I,s:I}", "time_ns", (json_int_t)c->realtime_ns,
		"pause_ns", (json_int_t)c->pause_ns, "scan_ns", (json_int_t)c->scan_ns,
		"block_bytes", (json_int_t)c->read_block_bytes, "root_bytes",
		(json_int_t)c->root_bytes, "unread_bytes", (json_int_t)c->unread_bytes, "threads",
		(int)c->threads, "running_threads", (int)c->running_threads, "sampled_found",
		(json_int_t)c->leaks_found, "sampled_stored", (json_int_t)c->leaks_used);
	json_object_set_new(value, "live", count_json(c->live_blocks, c->live_bytes));
	json_object_set_new(value, "direct", count_json(c->direct_blocks, c->direct_bytes));
	json_object_set_new(value, "indirect", count_json(c->indirect_blocks, c->indirect_bytes));
	json_object_set_new(value, "classes", classes_json(c));
	return value;
}

static json_t *stack_json(const mw_profile_t *p, const mw_stacks_t *stacks,
			  const mw_stack_t *stack) {
	mw_leak_stack_t sums = mw_leak_stack_of(p, stack);
	json_t *value = json_pack(
		"{s:I,s:I,s:I,s:I,s:[I,I]}", "bytes", (json_int_t)stack->values[stacks->type],
		"below_bytes", (json_int_t)sums.below_bytes, "oldest_ns",
		(json_int_t)sums.oldest_ns, "newest_ns", (json_int_t)sums.newest_ns, "interval",
		(json_int_t)sums.least_bytes, (json_int_t)sums.most_bytes);
	json_object_set_new(value, "direct",
			    count_json((uint64_t)sums.objects[MW_LEAK_KIND_DIRECT],
				       (uint64_t)sums.bytes[MW_LEAK_KIND_DIRECT]));
	json_object_set_new(value, "indirect",
			    count_json((uint64_t)sums.objects[MW_LEAK_KIND_INDIRECT],
				       (uint64_t)sums.bytes[MW_LEAK_KIND_INDIRECT]));
	json_object_set_new(value, "peek",
			    *sums.peek != '\0' ? mw_json_text(sums.peek) : json_null());
	json_object_set_new(value, "frames", mw_frames_json(p, &p->samples[stack->sample]));
	return value;
}

int mw_leaks_print_json(const mw_leak_report_t *r, mw_error_t *error) {
	const mw_profile_t *p = r->profile;
	mw_stacks_t stacks;
	if (mw_stacks_init(&stacks, p, "inuse_space", error) != 0)
		return -1;
	json_t *list = json_array();
	for (size_t i = 0; i < stacks.count && (r->row_limit == 0 || i < r->row_limit); i++)
		json_array_append_new(list, stack_json(p, &stacks, &stacks.stacks[i]));
	json_t *value = json_pack("{s:s,s:o,s:I,s:I,s:o,s:o,s:I,s:I,s:o}", "view", "leaks",
				  "program", mw_json_text(mw_profile_string(p, p->origin.program)),
				  "pid", (json_int_t)p->origin.pid, "mean_bytes",
				  (json_int_t)p->period, "check", check_json(r->check), "earlier",
				  r->earlier != NULL ? check_json(r->earlier) : json_null(),
				  "unsampled_bytes", (json_int_t)r->estimate.unsampled_bytes,
				  "stack_count", (json_int_t)stacks.count, "stacks", list);
	mw_stacks_release(&stacks);
	return mw_print_json(value);
}
