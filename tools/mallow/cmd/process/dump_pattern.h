/* SPDX-License-Identifier: MIT
 * dump_pattern.h -- patterns in --output of `dump` and `start --for`: what dump_name means there.
 * Layer: cmd/process. */
#ifndef MW_TOOL_CMD_PROCESS_DUMP_PATTERN_H
#define MW_TOOL_CMD_PROCESS_DUMP_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"

/* For the help: the letters are those of dump_name that a command knows. */
#define MW_DUMP_PATTERN_HELP                                                                       \
	"%p pid, %h host, %e program, %n number of the dump, %t time, %u bytes in use, %% a "      \
	"percent sign"

/* Returns whether the text is a pattern: it has a percent sign. */
bool mw_dump_pattern_is(const char *output);
/* Returns whether dumps of several processes, or several dumps of one, get names of their own. */
bool mw_dump_pattern_splits_processes(const char *pattern);
bool mw_dump_pattern_splits_times(const char *pattern);

/* Prints a message and returns false if an unknown letter follows a percent sign. */
bool mw_dump_pattern_check(const char *subcommand, const char *output);

/* Returns the name of a dump.  The caller frees it. */
char *mw_dump_pattern_expand(const char *pattern, const mw_profile_t *profile, unsigned pid,
			     uint64_t number);

#endif
