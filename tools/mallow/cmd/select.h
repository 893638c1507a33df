/* SPDX-License-Identifier: MIT
 * select.h -- which processes a subcommand works on: those named, all, by name, by control group.
 * Layer: cmd.  The options --all, --name and --cgroup mean the same wherever they are; several
 * narrow down.  Processes in containers are found through the host's /proc. */
#ifndef MW_CMD_SELECT_H
#define MW_CMD_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/load.h"
#include "cmd/options.h"
#include "live/places.h"

/* Rows of the option table. */
#define MW_SELECT_ALL                                                                              \
	{ "all", 0, MW_OPTION_FLAG, NULL, NULL, "all live processes that run mallow" }
#define MW_SELECT_NAME                                                                             \
	{                                                                                          \
		"name", 0, MW_OPTION_TEXT, "REGEX", NULL,                                          \
			"live processes whose program's name matches (extended regex)"             \
	}
#define MW_SELECT_CGROUP                                                                           \
	{                                                                                          \
		"cgroup", 0, MW_OPTION_TEXT, "GROUP", NULL,                                        \
			"live processes in a control group: its path, or a part of it such as a "  \
			"container's id"                                                           \
	}

typedef struct mw_filter mw_filter_t;

/* False: it complained. */
bool mw_filter_make(const mw_arguments_t *arguments, mw_filter_t **out);
/* `program` as the state file has it. */
bool mw_filter_matches(const mw_filter_t *filter, const mw_place_t *place, const char *program);
void mw_filter_free(mw_filter_t *filter);

/* Does `work` on each target: the operands, and what the options choose.  Returns the worst of the
 * exit statuses; none chosen is trouble. */
int mw_on_selected(const mw_arguments_t *arguments, mw_target_work_t *work, const void *context);
/* Would it be more than one?  For those who write each into a file of its own. */
bool mw_selects_several(const mw_arguments_t *arguments);

#endif
