/* SPDX-License-Identifier: MIT
 * selected_processes.c -- runs work on operands and on live processes that match a filter. */
#include "cmd/input/selected_processes.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "live/process/process.h"
#include "model/memory.h"

/* Most bytes of a title. */
#define TITLE_BYTES 100
/* Most processes of a list to choose from. */
#define LIST_ROWS 40

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

/* Returns whether the pattern matches the program, or the title that its process has set. */
static bool is_named(const mw_filter_t *filter, const mw_place_t *place, const char *program) {
	char title[TITLE_BYTES];
	if (regexec(&filter->name, program, 0, NULL, 0) == 0)
		return true;
	return mw_place_process(place) > 0 && mw_process_title(place->pid, title, sizeof(title)) &&
	       regexec(&filter->name, title, 0, NULL, 0) == 0;
}

bool mw_filter_matches(const mw_filter_t *filter, const mw_place_t *place, const char *program) {
	if (filter->by_name && !is_named(filter, place, program))
		return false;
	return !filter->cgroup ||
	       (mw_place_process(place) > 0 && process_is_in_group(place->pid, filter->cgroup));
}

bool mw_selects_several(const mw_arguments_t *arguments) {
	return arguments->operand_count > 1 || arguments->options.all.given ||
	       arguments->options.name.given || arguments->options.cgroup.given;
}

/* ---- targets that the command line does not name ---- */

/* A process or, if no process runs, a profile of one that was killed. */
typedef struct candidate {
	const mw_place_t *place;
	char name[TITLE_BYTES]; /* its title, or else its program */
} candidate_t;

typedef struct candidates {
	mw_places_t places;
	candidate_t *items;
	size_t count, capacity;
} candidates_t;

static void add_candidate(candidates_t *c, const mw_place_t *place, const char *program) {
	char title[TITLE_BYTES];
	bool has_title =
		mw_place_process(place) > 0 && mw_process_title(place->pid, title, sizeof(title));
	c->items = mw_grow(c->items, &c->capacity, c->count + 1, sizeof(*c->items));
	c->items[c->count].place = place;
	mw_show_text(has_title ? title : program, c->items[c->count].name, TITLE_BYTES);
	c->count++;
}

static int compare_pids(const void *a, const void *b) {
	int left = ((const candidate_t *)a)->place->pid,
	    right = ((const candidate_t *)b)->place->pid;
	return (left > right) - (left < right);
}

/* Adds the processes that can be seen from here and match, or with `ended` the profiles of those
 * that have ended. */
static void add_candidates(candidates_t *c, const mw_filter_t *filter, bool ended) {
	for (size_t i = 0; i < c->places.count; i++) {
		const mw_place_t *place = &c->places.items[i];
		mw_snapshot_t *snapshot;
		if ((ended ? place->alive : mw_place_process(place) <= 0) ||
		    mw_snapshot_read(place->path, 0, &snapshot, NULL) != 0)
			continue;
		if (mw_filter_matches(filter, place, snapshot->header.program))
			add_candidate(c, place, snapshot->header.program);
		mw_snapshot_free(snapshot);
	}
	qsort(c->items, c->count, sizeof(*c->items), compare_pids);
}

static void release_candidates(candidates_t *c) {
	free(c->items);
	mw_places_release(&c->places);
}

static void list_candidates(const candidates_t *c) {
	for (size_t i = 0; i < c->count && i < LIST_ROWS; i++)
		fprintf(stderr, "%8d  %s\n", c->items[i].place->pid, c->items[i].name);
	if (c->count > LIST_ROWS)
		fprintf(stderr, "and %zu more: mallow ls --all\n", c->count - LIST_ROWS);
}

/* A command that changes something never chooses the process itself. */
static void complain_which(const char *subcommand) {
	static const mw_filter_t every = {.by_name = false};
	candidates_t c = {.items = NULL};
	mw_places_add_all(&c.places);
	add_candidates(&c, &every, false);
	mw_complain("%s: which process? give a pid or a name, or --all, --name or --cgroup%s",
		    subcommand, c.count > 0 ? "; these run mallow:" : "; none runs mallow");
	list_candidates(&c);
	release_candidates(&c);
}

/* Appends the candidates to the operands. */
static void take_candidates(mw_arguments_t *arguments, const candidates_t *c, mw_completed_t *out) {
	unsigned count = arguments->operand_count;
	out->operands = mw_xcalloc(count + c->count + 1, sizeof(*out->operands));
	out->pids = mw_xcalloc(c->count, sizeof(*out->pids));
	out->paths = mw_xcalloc(c->count, sizeof(*out->paths));
	out->count = c->count;
	memcpy(out->operands, arguments->operands, count * sizeof(*out->operands));
	for (size_t i = 0; i < c->count; i++) {
		const mw_place_t *place = c->items[i].place;
		snprintf(out->pids[i], sizeof(out->pids[i]), "%d", place->pid);
		if (place->alive)
			mw_target_pin(place->pid, place->start_ticks);
		else
			out->paths[i] = mw_xstrdup(place->path);
		out->operands[count + i] = place->alive ? out->pids[i] : out->paths[i];
	}
	arguments->operands = out->operands;
	arguments->operand_count = count + (unsigned)c->count;
}

static bool complain_several(const mw_arguments_t *arguments, const candidates_t *c,
			     const char *what) {
	mw_complain("%s: which process? %zu %s; give a pid or a name:", arguments->subcommand->name,
		    c->count, what);
	list_candidates(c);
	return false;
}

/* Adds the processes that --name selects. */
static bool add_named(mw_arguments_t *arguments, candidates_t *c, mw_completed_t *out) {
	mw_filter_t *filter;
	if (!mw_filter_make(arguments, &filter))
		return false;
	add_candidates(c, filter, false);
	mw_filter_free(filter);
	bool is_difference = arguments->subcommand->stands_for_operand != NULL;
	unsigned most = arguments->subcommand->operands_max;
	if (c->count == 0) {
		mw_complain("%s: no live process matches; 'mallow ls' lists the processes",
			    arguments->subcommand->name);
		return false;
	}
	if (c->count > 1 && (is_difference || arguments->operand_count + c->count > most))
		return complain_several(arguments, c, "match");
	take_candidates(arguments, c, out);
	return true;
}

/* Adds the only process, or if none runs the only profile that a killed one left. */
static bool add_only(mw_arguments_t *arguments, candidates_t *c, mw_completed_t *out) {
	static const mw_filter_t every = {.by_name = false};
	const char *name = arguments->subcommand->name;
	add_candidates(c, &every, false);
	bool ended = c->count == 0;
	if (ended)
		add_candidates(c, &every, true);
	if (c->count > 1)
		return complain_several(arguments, c,
					ended ? "have ended and left a profile" : "run mallow");
	if (c->count == 0) {
		mw_complain(
			"%s: no process runs mallow; 'mallow run PROGRAM' starts one; a profile "
			"may be given by its path",
			name);
		return false;
	}
	mw_complain("note: this is %s, pid %d, the only process that %s", c->items[0].name,
		    c->items[0].place->pid, ended ? "left a profile" : "runs mallow");
	take_candidates(arguments, c, out);
	return true;
}

bool mw_targets_complete(mw_arguments_t *arguments, mw_completed_t *out) {
	const mw_subcommand_t *subcommand = arguments->subcommand;
	const mw_option_values_t *options = &arguments->options;
	candidates_t c = {.items = NULL};
	bool is_chosen = options->all.given || options->name.given || options->cgroup.given;
	bool good = true;
	*out = (mw_completed_t){.operands = NULL};
	if (subcommand->name_adds_targets && options->name.given) {
		mw_places_add_all(&c.places);
		good = add_named(arguments, &c, out);
	} else if (subcommand->has_default_target && !is_chosen &&
		   arguments->operand_count < mw_arguments_least(arguments)) {
		mw_places_add_all(&c.places);
		good = add_only(arguments, &c, out);
	}
	release_candidates(&c);
	return good;
}

void mw_targets_release(mw_completed_t *completed) {
	for (size_t i = 0; i < completed->count; i++)
		free(completed->paths[i]);
	free(completed->paths);
	free(completed->pids);
	free(completed->operands);
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
		complain_which(arguments->subcommand->name);
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
