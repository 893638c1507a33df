/* SPDX-License-Identifier: MIT
 * read_process.h -- reads from a process or its state file what a push holds.
 * Layer: push. */
#ifndef MW_TOOL_PUSH_READ_PROCESS_H
#define MW_TOOL_PUSH_READ_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "live/target.h"
#include "model/error.h"
#include "model/profile.h"
#include "store/kind.h"

enum { MW_PROCESS_NAME_BYTES = 80 };

typedef struct mw_gathered {
	/* By kind: prepared for mw_delta_subtract(), without names; NULL = no such samples. */
	mw_profile_t *profiles[MW_KIND_WALL + 1];
	/* "PID.START.NAMESPACE": the same before and after the end of the process. */
	char process[MW_PROCESS_NAME_BYTES];
	uint32_t pid;         /* in the namespace of the process */
	uint64_t start_ticks; /* when it started, as /proc/PID/stat has it */
} mw_gathered_t;

/* Takes the kinds of a profile apart; its types are as in state files.  The caller calls
 * mw_gathered_release(). */
void mw_gather_profile(const mw_profile_t *profile, mw_gathered_t *out);

/* Reads a live process or a state file.  The caller calls mw_gathered_release() in both cases. */
int mw_gather(const mw_target_t *target, mw_gathered_t *out, mw_error_t *error);
void mw_gathered_release(mw_gathered_t *gathered);

/* Writes "HOST:PID:START", which names one process among all of all hosts. */
void mw_instance_name(const char *host, uint32_t pid, uint64_t start_ticks, char *name,
		      size_t size);

/* Returns the build-id of the program's own file; "" = not known. */
const char *mw_program_build_id(const mw_profile_t *profile);

#endif
