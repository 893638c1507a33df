/* SPDX-License-Identifier: MIT
 * no_state_file.c -- asks the kernel about the process. */
#include "live/process/no_state_file.h"

#include <pwd.h>
#include <unistd.h>

int mw_no_state_file_explain(const mw_process_t *process, mw_error_t *error) {
	if (geteuid() != 0 && process->uid != geteuid()) {
		const struct passwd *user = getpwuid(process->uid);
		return mw_error_set(error,
				    "pid %d (%s): the process belongs to user %s (uid %u); only "
				    "that user and root can see its profile",
				    process->pid, process->name, user ? user->pw_name : "?",
				    process->uid);
	}
	if (mw_process_has_ended(process->pid, process->start_ticks))
		return mw_error_set(error,
				    "pid %d (%s): the process has ended and left no state "
				    "file; " MW_LEFT_NOTHING,
				    process->pid, process->name);
	if (mw_process_is_closed(process->pid))
		return mw_error_set(
			error,
			"pid %d (%s): the process has more privileges than you, or is not dumpable "
			"(prctl(2)); only root with CAP_SYS_PTRACE can see its profile",
			process->pid, process->name);
	bool has_library = mw_process_has_library(process->pid);
	if (has_library && mw_process_is_secure(process->pid))
		return mw_error_set(error,
				    "pid %d (%s): the process runs mallow, but has no profile: it "
				    "is set-uid or set-gid or has file capabilities, and mallow "
				    "samples no such program; start it as a user who needs none of "
				    "these to have its profile",
				    process->pid, process->name);
	if (has_library)
		return mw_error_set(error,
				    "pid %d (%s): the process runs mallow, but has no state file: "
				    "its heap has not grown to prof_state_min (default: 1 MiB), or "
				    "the file could not be created; try again when the heap has "
				    "grown, or start the process with MALLOW_CONF=prof_state_min:0",
				    process->pid, process->name);
	return mw_error_set(error,
			    "pid %d (%s): the process does not run mallow; start it with 'mallow "
			    "run PROGRAM', or with LD_PRELOAD set to libmallow.so; 'mallow attach "
			    "%d' profiles its heap from now on",
			    process->pid, process->name, process->pid);
}

const char *mw_no_state_file_words(int pid) {
	if (!mw_process_has_library(pid))
		return "does not run mallow";
	return mw_process_is_secure(pid) ? "has no profile: it is set-uid or set-gid or has file "
					   "capabilities, and mallow samples no such program"
					 : "runs mallow, but has no state file";
}
