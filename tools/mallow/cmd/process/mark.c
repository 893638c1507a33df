/* SPDX-License-Identifier: MIT
 * mark.c -- `mallow mark`: saves a process's profile, so that later profiles can be compared
 * with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cmd/input/selected_processes.h"
#include "cmd/marks/marks.h"
#include "cmd/process/process_commands.h"
#include "report/text/units.h"

static void say(const mw_target_t *target, const mw_profile_t *profile, const char *name,
		int64_t time_ns) {
	char bytes[32], time[MW_SHOW_BYTES], quoted[MW_MARK_NAME_BYTES + 8] = "", process[32];
	int type = mw_profile_find_type(profile, "inuse_space");
	int64_t live = type >= 0 ? mw_profile_total(profile, (size_t)type) : 0;
	mw_show_time((uint64_t)time_ns, time);
	snprintf(process, sizeof(process), "%d", target->pid);
	if (*name != '\0')
		snprintf(quoted, sizeof(quoted), " as '%s'", name);
	printf("%s%s: marked at %s%s, %s in use; 'mallow diff --since %s %s' compares\n",
	       target->alive ? "pid " : "", target->alive ? process : target->shown, time, quoted,
	       mw_format_bytes(live, bytes, sizeof(bytes)), *name != '\0' ? name : time,
	       target->alive ? process : target->shown);
}

/* Most samples of a mark with times, threads and sizes.  A larger mark has none, because it
 * would take megabytes. */
#define SPLIT_SAMPLES_MAX 200000

/* Makes a profile of the stacks and of the live samples with the times of their allocations. */
static mw_profile_t *take_profile(mw_snapshot_t *snapshot) {
	snapshot->keeps_times = true;
	if (snapshot->record_count > SPLIT_SAMPLES_MAX) {
		free(snapshot->records);
		snapshot->records = NULL;
		snapshot->record_count = 0;
	}
	return mw_profile_from_snapshot(snapshot);
}

static int mark_target(const mw_target_t *target, const void *context, mw_error_t *error) {
	const char *const *label = context;
	const char *name = *label != NULL ? *label : "";
	mw_snapshot_t *snapshot;
	if (!target->is_state)
		return mw_error_set(
			error,
			"%s: this is a profile; 'mallow mark' takes a live process or a state file",
			target->shown);
	if (mw_target_read(target,
			   MW_SNAPSHOT_STACKS | MW_SNAPSHOT_RECORDS |
				   (target->alive ? MW_SNAPSHOT_OF_NOW : 0),
			   &snapshot, error) != 0)
		return -1;
	mw_profile_t *profile = take_profile(snapshot);
	int result = mw_mark_write(snapshot, name, profile, error);
	if (result == 0)
		say(target, profile, name, snapshot->taken_ns);
	mw_profile_free(profile);
	mw_snapshot_free(snapshot);
	return result;
}

int mw_cmd_mark(const mw_arguments_t *arguments) {
	const char *label = arguments->options.label.text;
	if (label != NULL && !mw_mark_name_is_good(label)) {
		mw_complain("mark: --label does not take '%s'; allowed: up to %d letters, digits, "
			    "'-' and '_', but not a time",
			    label, MW_MARK_NAME_BYTES - 1);
		return MW_EXIT_TROUBLE;
	}
	return mw_on_selected(arguments, mark_target, &label);
}
