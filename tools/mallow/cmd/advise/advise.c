/* SPDX-License-Identifier: MIT
 * advise.c -- `mallow advise`: loads a target, and has it looked at. */
#include <stdio.h>

#include "cli/complain.h"
#include "cli/pager.h"
#include "cmd/advise/advise_command.h"
#include "cmd/advise/advise_print.h"
#include "cmd/advise/process_facts.h"
#include "cmd/advise/realloc_calls.h"
#include "cmd/input/load.h"
#include "cmd/input/selected_processes.h"

static void make_facts(mw_facts_t *facts, const mw_target_t *target, mw_profile_t *p) {
	mw_realloc_calls_t calls;
	int pid = mw_target_process(target);
	mw_realloc_calls_find(&calls, p, pid > 0 ? (uint32_t)pid : 0);
	mw_facts_make(facts, p, mw_realloc_calls_name, &calls);
	mw_realloc_calls_free(&calls);
}

/* The estimates of what functions keep may add up to more than the heap walk found free. */
static void add_walk(mw_facts_t *facts, const mw_snapshot_t *snapshot) {
	double sum = 0;
	for (size_t i = 0; i < snapshot->class_count; i++) {
		const mw_state_class_t *one = &snapshot->classes[i];
		if (one->block_bytes == 0)
			continue;
		facts->used_bytes += (int64_t)one->used_bytes;
		if (one->touched_bytes > one->used_bytes)
			facts->free_between_bytes +=
				(int64_t)(one->touched_bytes - one->used_bytes);
	}
	double found = (double)facts->free_between_bytes;
	for (size_t i = 0; i < facts->function_count; i++)
		sum += (double)facts->functions[i].pinned_bytes;
	for (size_t i = 0; i < facts->function_count && sum > found; i++) {
		mw_fact_function_t *f = &facts->functions[i];
		f->pinned_bytes = (int64_t)((double)f->pinned_bytes * (found / sum));
	}
}

/* Returns what was in use then; -1: not known. */
static int64_t live_bytes_at(const mw_snapshot_t *snapshot, int64_t time_ns) {
	int64_t bytes = -1;
	for (size_t i = 0; i < snapshot->tick_count; i++)
		if ((int64_t)snapshot->ticks[i].time_ns <= time_ns)
			bytes = snapshot->ticks[i].live_bytes;
	return bytes;
}

static void add_growth(mw_facts_t *facts, const mw_snapshot_t *snapshot) {
	int64_t quarter_ns = (facts->time_ns - facts->began_ns) / 4;
	int64_t before = live_bytes_at(snapshot, facts->began_ns + quarter_ns);
	int64_t after = live_bytes_at(snapshot, facts->time_ns - quarter_ns);
	if (facts->began_ns != 0 && before >= 0 && after > before)
		facts->grown_bytes = after - before;
}

static int look_at_state(const mw_target_t *target, bool has_look, mw_profile_t **p,
			 mw_facts_t *facts, mw_error_t *error) {
	mw_snapshot_t *snapshot;
	int64_t updated_ns = mw_process_updated_ns(target);
	mw_process_walk(target);
	if (mw_target_read(target, MW_SNAPSHOT_ALL | (target->alive ? MW_SNAPSHOT_OF_NOW : 0),
			   &snapshot, error) != 0)
		return -1;
	snapshot->keeps_times = snapshot->keeps_addresses = true;
	*p = mw_profile_from_snapshot(snapshot);
	mw_load_names(target, NULL, MW_LOAD_SYMBOLS_NOTES, *p);
	make_facts(facts, target, *p);
	facts->resident_bytes = (int64_t)snapshot->live.resident_bytes;
	mw_process_facts_add(facts, *p, target, snapshot, updated_ns, has_look);
	add_walk(facts, snapshot);
	add_growth(facts, snapshot);
	if (snapshot->class_count == 0)
		facts->unanswered[MW_FINDING_fragmentation] =
			"the process has not walked its heap yet";
	mw_snapshot_free(snapshot);
	return 0;
}

static int look_at_file(const mw_target_t *target, mw_profile_t **p, mw_facts_t *facts,
			mw_error_t *error) {
	static const mw_finding_kind_t of_processes[] = {
		MW_FINDING_fragmentation, MW_FINDING_only_grows, MW_FINDING_untouched,
		MW_FINDING_sizes,         MW_FINDING_duplicates, MW_FINDING_stacks,
		MW_FINDING_option,        MW_FINDING_mapped};
	if (mw_load(target, MW_LOAD_SYMBOLS_NOTES, MW_LOAD_SPLIT, p, error) != 0)
		return -1;
	make_facts(facts, target, *p);
	for (size_t i = 0; i < sizeof(of_processes) / sizeof(of_processes[0]); i++)
		facts->unanswered[of_processes[i]] =
			"only a live process or its state file tells it";
	return 0;
}

static int advise(const mw_target_t *target, const void *context, mw_error_t *error) {
	const mw_arguments_t *arguments = context;
	mw_profile_t *profile = NULL;
	mw_facts_t facts;
	mw_findings_t findings = {0};
	int result = target->is_state ? look_at_state(target, arguments->options.look.given,
						      &profile, &facts, error)
				      : look_at_file(target, &profile, &facts, error);
	if (result != 0)
		return result;
	mw_advise(&facts, &findings);
	char pid[16];
	snprintf(pid, sizeof(pid), "%d", target->pid);
	bool has_pid = target->is_pid || (target->is_state && mw_target_process(target) > 0);
	mw_advised_t advised = {
		.profile = profile,
		.facts = &facts,
		.findings = &findings,
		.target = has_pid ? pid : target->shown,
	};
	int status = arguments->options.json.given ? mw_advised_print_json(&advised)
						   : mw_advised_print(&advised);
	mw_findings_free(&findings);
	mw_facts_free(&facts);
	mw_profile_free(profile);
	return status;
}

int mw_cmd_advise(const mw_arguments_t *arguments) {
	mw_load_take_options(arguments);
	mw_load_take_fetch_options(arguments);
	mw_pager_begin(arguments);
	return mw_on_selected(arguments, advise, arguments);
}
