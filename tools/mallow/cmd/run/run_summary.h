/* SPDX-License-Identifier: MIT
 * run_summary.h -- the summary that `mallow run` prints on stderr for an ended process: one
 * screen.
 * Layer: cmd/run. */
#ifndef MW_TOOL_CMD_RUN_RUN_SUMMARY_H
#define MW_TOOL_CMD_RUN_RUN_SUMMARY_H

#include "formats/state/state_file.h"
#include "live/process/launch.h"
#include "model/profile.h"

typedef struct mw_run_summary {
	mw_profile_t *profile; /* symbolized profile; the summary leaves out labels and wrappers */
	const mw_snapshot_t *snapshot;
	const char *path; /* path that the profile was written to */
} mw_run_summary_t;

/* Prints how the program ended. */
void mw_run_summary_print_end(const mw_launch_t *launch, const char *program);

/* Prints that the summary describes a process that the program started. */
void mw_run_summary_print_heading(const mw_snapshot_t *snapshot, int pid);

/* Prints the peak, the largest stacks at the peak, memory in use at the end, and the command
 * that shows more. */
void mw_run_summary_print(const mw_run_summary_t *summary);

#endif
