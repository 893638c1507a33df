/* SPDX-License-Identifier: MIT
 * selected_processes.c -- runs work on operands and on live processes that match a filter. */
#include "cmd/input/selected_processes.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "live/process/process.h"
#include "model/memory.h"

struct mw_filter {
	bool by_name;
	regex_t name;
	const char *cgroup; /* NULL = any */
};

bool mw_filter_make(const mw_arguments_t *arguments, mw_filter_t **out) {
	mw_filter_t *filter = mw_xcalloc(1, sizeof(*filter));
	if (arguments->options.name.given) {
		const char *pattern = arguments->options.name.text;
		int error = regcomp(&filter->name, pattern, REG_EXTENDED | REG_NOSUB);
		if (error != 0) {
			char why[128];
			regerror(error, &filter->name, why, sizeof(why));
			mw_complain("%s: --name does not take '%s': %s; give an extended regular "
				    "expression",
				    arguments->subcommand->name, pattern, why);
			free(filter);
			return false;
		}
		filter->by_name = true;
	}
	if (arguments->options.cgroup.given)
		filter->cgroup = arguments->options.cgroup.text;
	*out = filter;
	return true;
}

void mw_filter_free(mw_filter_t *filter) {
	if (filter->by_name)
		regfree(&filter->name);
	free(filter);
}

/* True if a process's group matches.  A path matches the group and the groups below it; any
 * other text matches a part of the path. */
static bool is_in_group(const char *group, const char *wanted) {
	if (*wanted != '/')
		return strstr(group, wanted) != NULL;
	size_t length = strlen(wanted);
	while (length > 0 && wanted[length - 1] == '/')
		length--;
	return strncmp(group, wanted, length) == 0 &&
	       (group[length] == '\0' || group[length] == '/');
}

static bool process_is_in_group(int pid, const char *wanted) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	char *line = NULL;
	size_t capacity = 0;
	bool found = false;
	while (!found && getline(&line, &capacity, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		/* A line is "<number>:<controllers>:<path>". */
		const char *group = strchr(line, ':');
		group = group ? strchr(group + 1, ':') : NULL;
		found = group && is_in_group(group + 1, wanted);
	}
	free(line);
	fclose(file);
	return found;
}

bool mw_filter_matches(const mw_filter_t *filter, const mw_place_t *place, const char *program) {
	if (filter->by_name && regexec(&filter->name, program, 0, NULL, 0) != 0)
		return false;
	return !filter->cgroup ||
	       (mw_place_process(place) > 0 && process_is_in_group(place->pid, filter->cgroup));
}

bool mw_selects_several(const mw_arguments_t *arguments) {
	return arguments->operand_count > 1 || arguments->options.all.given ||
	       arguments->options.name.given || arguments->options.cgroup.given;
}

static int worse(int a, int b) {
	return a > b ? a : b;
}

/* A process that ended since it was found is no error, because the user did not name it. */
static int work_on_place(const mw_place_t *place, const mw_filter_t *filter, mw_target_work_t *work,
			 const void *context, size_t *count) {
	mw_error_t error;
	mw_snapshot_t *snapshot;
	/* A name selects only processes that are visible from here. */
	if (mw_place_process(place) <= 0 ||
	    mw_snapshot_read(place->path, 0, &snapshot, &error) != 0)
		return MW_EXIT_FINE;
	bool matches = mw_filter_matches(filter, place, snapshot->header.program);
	mw_snapshot_free(snapshot);
	if (!matches)
		return MW_EXIT_FINE;
	++*count;
	mw_target_t target = mw_target_of_place(place);
	int status = work(&target, context, &error);
	mw_target_release(&target);
	if (status >= 0)
		return status;
	mw_complain("%s", error.text);
	return mw_process_has_ended(place->pid, place->start_ticks) ? MW_EXIT_FINE
								    : MW_EXIT_TROUBLE;
}

static int work_on_matching(const mw_arguments_t *arguments, mw_target_work_t *work,
			    const void *context, size_t *count) {
	mw_filter_t *filter;
	if (!mw_filter_make(arguments, &filter))
		return MW_EXIT_TROUBLE;
	mw_places_t places = {0};
	mw_places_add_all(&places);
	int status = MW_EXIT_FINE;
	for (size_t i = 0; i < places.count; i++)
		status = worse(status,
			       work_on_place(&places.items[i], filter, work, context, count));
	mw_places_release(&places);
	mw_filter_free(filter);
	if (*count > 0 || status != MW_EXIT_FINE)
		return status;
	mw_complain("%s: no live process matches; 'mallow ls' lists the processes",
		    arguments->subcommand->name);
	return MW_EXIT_TROUBLE;
}

int mw_on_selected(const mw_arguments_t *arguments, mw_target_work_t *work, const void *context) {
	bool filtered = arguments->options.all.given || arguments->options.name.given ||
			arguments->options.cgroup.given;
	if (!filtered && arguments->operand_count == 0) {
		mw_complain("%s: which process? give a pid, or --all, --name or --cgroup",
			    arguments->subcommand->name);
		return MW_EXIT_TROUBLE;
	}
	int status = MW_EXIT_FINE;
	size_t count = 0;
	for (unsigned i = 0; i < arguments->operand_count; i++)
		status = worse(status, mw_on_target(arguments->operands[i], work, context));
	if (filtered)
		status = worse(status, work_on_matching(arguments, work, context, &count));
	return status;
}
