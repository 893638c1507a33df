/* SPDX-License-Identifier: MIT
 * shared_options.h -- options and texts of the help that several rows of the table share.
 * Layer: cmd.  Private to this folder. */
#ifndef MW_TOOL_CMD_SHARED_OPTIONS_H
#define MW_TOOL_CMD_SHARED_OPTIONS_H

#include "cli/pager.h"
#include "cmd/input/cpu_rate.h"
#include "cmd/input/selected_processes.h"
#include "state/cpu_source.h"

#define JSON_OPTION                                                                                \
	{ "json", 0, MW_BOUND(FLAG, json), NULL, NULL, "print JSON, with exact bytes" }
#define WAIT_OPTION                                                                                \
	{                                                                                          \
		"wait", 0, MW_BOUND(SECONDS, wait), "SECONDS", NULL,                               \
			"how long to wait until the process follows the request (default 2)"       \
	}
#define STRICT_OPTION                                                                              \
	{                                                                                          \
		"strict", 0, MW_BOUND(FLAG, strict), NULL, NULL,                                   \
			"wait until every thread follows the request; status 1 if one does not "   \
			"in time"                                                                  \
	}
#define SUPPRESS_OPTION                                                                            \
	{                                                                                          \
		"suppress", 0, MW_BOUND(LIST, suppress), "FILE", NULL,                             \
			"leave out the stacks that a file of suppressions in LeakSanitizer's "     \
			"format names"                                                             \
	}
#define NAME_OPTION                                                                                \
	{                                                                                          \
		"name", 0, MW_BOUND(TEXT, name), "REGEX", NULL,                                    \
			"also the live processes whose program or title matches (extended regex)"  \
	}
#define TERMINAL_OPTIONS MW_COLOR_OPTION, MW_NO_PAGER_OPTION
#define SELECT_OPTIONS MW_SELECT_ALL, MW_SELECT_NAME, MW_SELECT_CGROUP
#define END_OF_OPTIONS                                                                             \
	{ NULL, 0, MW_OPTION_FLAG, 0, NULL, NULL, NULL }

#define REQUEST_DETAILS_BUT(strict)                                                                \
	"The process looks for requests while it allocates. One that computes or sleeps is woken " \
	"as a debugger would do it, if this user may trace it (ptrace(2)) and it filters no "      \
	"system calls; with background_thread:true it needs no waking. A request that was not "    \
	"seen in the waiting time stays, and takes effect when the process allocates again; the "  \
	"command then ends with status 0" strict "."
#define REQUEST_DETAILS REQUEST_DETAILS_BUT("")
#define STRICT_REQUEST_DETAILS                                                                     \
	REQUEST_DETAILS_BUT("; with --strict with 1 if some threads have not allocated by then")

/* Samples by the wall clock; `prefix` begins the help. */
#define WALL_OPTION(prefix)                                                                        \
	{                                                                                          \
		"wall", 0, MW_BOUND(FLAG, wall), NULL, NULL,                                       \
			prefix "by wall-clock time: threads that wait are sampled, too"            \
	}

/* Samples by an event of perf_event_open(2). */
#define EVENT_CHOICE(name, text, unit) "|" text
#define EVENT_OPTION(prefix)                                                                       \
	{                                                                                          \
		"event", 0, MW_BOUND(CHOICE, event), "EVENT",                                      \
			"cpu-clock" MW_CPU_COUNTED_LIST(EVENT_CHOICE),                             \
			prefix "by such an event, with the kernel's frames where it permits that"  \
	}

#define TOP_OPTION                                                                                 \
	{                                                                                          \
		"top", 0, MW_BOUND(COUNT, top), "N", NULL,                                         \
			"at most N rows, functions or stacks (report: 40, tree and graph: 80)"     \
	}

#endif
