/* SPDX-License-Identifier: MIT
 * selected_processes.h -- chooses the processes that a subcommand works on: named, all, by name,
 * by control group.
 * Layer: cmd/input.  The options --all, --name and --cgroup have one meaning in all subcommands;
 * several of them narrow the choice.  Processes in containers are found through the host's
 * /proc. */
#ifndef MW_TOOL_CMD_INPUT_SELECTED_PROCESSES_H
#define MW_TOOL_CMD_INPUT_SELECTED_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "cmd/input/load.h"
#include "live/state_places.h"

/* Rows of the option table. */
#define MW_SELECT_ALL                                                                              \
	{ "all", 0, MW_BOUND(FLAG, all), NULL, NULL, "all live processes that run mallow" }
#define MW_SELECT_NAME                                                                             \
	{                                                                                          \
		"name", 0, MW_BOUND(TEXT, name), "REGEX", NULL,                                    \
			"live processes whose program or title matches (extended regex)"           \
	}
#define MW_SELECT_CGROUP                                                                           \
	{                                                                                          \
		"cgroup", 0, MW_BOUND(TEXT, cgroup), "GROUP", NULL,                                \
			"live processes in a control group: its path, or a part of it such as a "  \
			"container's id"                                                           \
	}

typedef struct mw_filter mw_filter_t;

/* Makes a filter.  False: a message was printed. */
bool mw_filter_make(const mw_arguments_t *arguments, mw_filter_t **out);
/* True if a process matches.  `program` is the name in the state file. */
bool mw_filter_matches(const mw_filter_t *filter, const mw_place_t *place, const char *program);
void mw_filter_free(mw_filter_t *filter);

/* The operands of a command line, and the targets that it left to the command. */
typedef struct mw_completed {
	char **operands;  /* NULL-terminated; NULL: the command line named all */
	char (*pids)[16]; /* texts of the added processes */
	char **paths;     /* state files of the added ones that have ended; NULL: it runs */
	size_t count;     /* of the added ones */
} mw_completed_t;

/* Adds targets to the operands: the processes that --name selects, if the subcommand's row says so,
 * or the only process that runs mallow if no target is given, which a note names. False: a message
 * was printed, which lists the processes if there are several. The caller releases `out` in both
 * cases, after `arguments`. */
bool mw_targets_complete(mw_arguments_t *arguments, mw_completed_t *out);
void mw_targets_release(mw_completed_t *completed);

/* Runs `work` on each target: operands, and processes that the options choose.  Returns the
 * worst exit status; choosing no process is an error. */
int mw_on_selected(const mw_arguments_t *arguments, mw_target_work_t *work, const void *context);
/* True if the selection may be more than one process, for subcommands that write a file for
 * each. */
bool mw_selects_several(const mw_arguments_t *arguments);

#endif
