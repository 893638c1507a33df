/* SPDX-License-Identifier: MIT
 * collect_children.h -- profiles of a program that `mallow run` started, and of its children.
 * Layer: cmd/run. */
#ifndef MW_TOOL_CMD_RUN_COLLECT_CHILDREN_H
#define MW_TOOL_CMD_RUN_COLLECT_CHILDREN_H

#include <stdbool.h>

#include "live/process/launch.h"
#include "live/target.h"

/* A run: the program and the processes that it started. */
typedef struct mw_children {
	const char *session;   /* option prof_session of all processes of the run */
	const char *directory; /* directory for profiles: "." or a path */
	const char *file;      /* file of the program's profile; NULL = a made-up name */
	/* The user gave a directory, so the number of profiles is not limited. */
	bool every_process;
	const char *program; /* the program's name on the command line */
	const char *
		as; /* the library whose name libmallow.so takes; NULL: libmallow.so is preloaded */
	const mw_launch_t *launch;
	bool library_seen; /* libmallow.so was among the program's mappings */
	/* Descriptor of the program's state file, or -1; the file's name may disappear with the
	 * program. */
	int held_fd;
	/* Most resident memory of no file, and in all, that the program was seen to have. */
	uint64_t anonymous_bytes, most_bytes;
	bool is_cpu;         /* profiles are of CPU time, not of memory */
	uint64_t mean_bytes; /* T that the user asked for */
} mw_children_t;

/* Called after the program has ended.  Writes the profiles of the run's ended processes, removes
 * their state files, and prints on standard error which files were written and a summary of the
 * program's profile. */
void mw_children_collect(const mw_children_t *children);

/* Type of a function that sees an ended process of the run. */
typedef void mw_child_see_t(void *context, const mw_target_t *target, bool is_program);
/* Instead of mw_children_collect(): shows `see` each ended process, the program first, and removes
 * its state file. */
void mw_children_visit(const mw_children_t *children, mw_child_see_t *see, void *context);

/* Called from time to time while the program with this pid runs.  Opens the program's state
 * file, and removes files of other processes that ended without a sample. */
void mw_children_poll(mw_children_t *children, int pid);

#endif
