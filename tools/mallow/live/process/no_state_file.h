/* SPDX-License-Identifier: MIT
 * no_state_file.h -- says why a process that exists has no state file which the command can use.
 * Layer: live/process. */
#ifndef MW_TOOL_LIVE_PROCESS_NO_STATE_FILE_H
#define MW_TOOL_LIVE_PROCESS_NO_STATE_FILE_H

#include "live/process/process.h"
#include "model/error.h"

/* Why there is no profile of a process that has ended. */
#define MW_LEFT_NOTHING                                                                            \
	"a process that exits removes its state file, unless it has MALLOW_CONF=prof_keep:true; "  \
	"'mallow run' writes a profile when the program ends"

/* Sets the reason, and returns the result of mw_error_set(). */
int mw_no_state_file_explain(const mw_process_t *process, mw_error_t *error);
/* Returns the end of a sentence that begins with the program and "which". */
const char *mw_no_state_file_words(int pid);

#endif
