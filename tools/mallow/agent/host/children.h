/* SPDX-License-Identifier: MIT
 * children.h -- processes that the agent starts for work that may hang, take too much memory, or
 * end by a fault: to search, to read a process, to send.
 * Layer: agent/host.  The agent itself has one thread, so that fork(2) copies no lock that another
 * thread holds.  A child is in a process group of its own, which ends with it; the kernel kills it
 * when the agent ends.  What it prints goes to a file in memory, of which the agent prints what it
 * wants. */
#ifndef MW_TOOL_AGENT_HOST_CHILDREN_H
#define MW_TOOL_AGENT_HOST_CHILDREN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/error.h"

/* Most bytes of a child's messages that are kept. */
#define MW_CHILD_WORDS_BYTES 4096

typedef struct mw_child {
	pid_t pid; /* 0: none runs */
	int words; /* file in memory with what it prints; -1: what it prints is seen at once */
	uint64_t until_ns; /* then it is killed; UINT64_MAX: never */
	bool is_late;      /* it was */
} mw_child_t;

/* Returns the status with which the child exits. */
typedef int mw_child_work_t(void *context);

/* Starts a child for the work.  `mask`: signals that the child blocks.  -1 with an error: the
 * kernel refuses. */
int mw_child_start(mw_child_t *out, mw_child_work_t *work, void *context, uint64_t until_ns,
		   const sigset_t *mask, mw_error_t *error);
/* Starts a child as mw_child_start() does, but without a limit of time; the child writes messages
 * to the agent's standard error. */
int mw_child_start_open(mw_child_t *out, mw_child_work_t *work, void *context, const sigset_t *mask,
			mw_error_t *error);

/* How a child has ended. */
typedef struct mw_child_end {
	bool has_exited; /* with `status`; else by a signal */
	int status;      /* or the signal's number */
	bool is_late;
	uint64_t cpu_ns;                  /* CPU time of it and of what it waited for */
	char words[MW_CHILD_WORDS_BYTES]; /* what it printed, cut at the end */
} mw_child_end_t;

/* Returns whether the child has ended; then it is gone from `child`.  Kills it if its time is
 * over. */
bool mw_child_has_ended(mw_child_t *child, uint64_t now_ns, mw_child_end_t *end);
/* Kills the child and what it started, and waits. */
void mw_child_kill(mw_child_t *child);

#endif
