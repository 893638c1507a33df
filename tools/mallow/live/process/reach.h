/* SPDX-License-Identifier: MIT
 * reach.h -- makes sure which process a command is about to change.
 * Layer: live/process.  The kernel gives a pid to another process once its owner has ended, and
 * any user may have written a state file. So every command that writes to a process, or to what it
 * maps, asks here at that moment: is the process the one that was found, and does it map this state
 * file? */
#ifndef MW_TOOL_LIVE_PROCESS_REACH_H
#define MW_TOOL_LIVE_PROCESS_REACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/error.h"

/* Names a process. */
typedef struct mw_process_key {
	int pid;
	uint64_t start_ticks; /* field 22 of /proc/<pid>/stat */
	/* The state file that the process maps.  Inode 0: the process need not map any. */
	dev_t device;
	ino_t inode;
} mw_process_key_t;

/* Holds on to a process: until `pidfd` says that it has ended, its pid is no other's. */
typedef struct mw_reach {
	mw_process_key_t key;
	int pidfd; /* -1: the kernel has none */
} mw_reach_t;

/* Takes hold of the process.  Returns 0: the caller calls mw_reach_close(). -1: the process has
 * ended, or does not map the file. */
int mw_reach_open(const mw_process_key_t *key, mw_reach_t *out, mw_error_t *error);
void mw_reach_close(mw_reach_t *reach);

/* Checks again, after something was read from the process: true if it was read from this
 * process, which has not ended. False too if the process has executed another program, which does
 * not map the file. */
bool mw_reach_holds(const mw_reach_t *reach);

/* Returns whether `thread` is a thread of the process. */
bool mw_reach_has_thread(const mw_reach_t *reach, int thread);

/* Returns whether a thread has users, groups or capabilities that this command lacks.  For one in
 * another user namespace the kernel's answer counts, which was asked before: ptrace(2). */
bool mw_thread_exceeds_command(int thread);

#endif
