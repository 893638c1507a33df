/* SPDX-License-Identifier: MIT
 * inject.h -- puts the code that records allocations into a running process, and has it begin and
 * end.
 * Layer: live/inject, the door of this folder.  target.h reads the process and says what stands in
 * the way, phases.h has a thread do one thing, injected.h is the code that it runs then, cave.h
 * finds room for that, placed_blob.h reads the
 * code that stays.
 *
 * Attaching takes two phases. A thread maps memory; the command writes the blob there while all
 * threads run; a thread enters the blob, which creates the state file and replaces the slots
 * through which the program calls its allocator (state/attach.h).  The truth is in the process:
 * this command keeps nothing, and may be killed at any moment.  One command at a time works on a
 * process. */
#ifndef MW_TOOL_LIVE_INJECT_INJECT_H
#define MW_TOOL_LIVE_INJECT_INJECT_H

#include <stddef.h>
#include <stdint.h>

#include "live/process/process.h"
#include "model/error.h"

typedef struct mw_attach_wish {
	uint64_t mean_bytes;      /* T; 1: every object */
	uint64_t detach_after_ns; /* 0: never */
} mw_attach_wish_t;

typedef struct mw_attach_result {
	const char *allocator; /* "glibc's malloc", ... */
	size_t slots, modules; /* replaced, and in so many modules */
	size_t refused;        /* slots that had changed meanwhile */
	size_t others;         /* slots with other functions, which are not seen */
	uint32_t generation;   /* how often the process has been attached to */
} mw_attach_result_t;

/* Reads what mw_attach() would do, and changes nothing in the process.  0: it would work, as far as
 * that is known before a thread is stopped; `result` has the allocator, its slots and modules.  -1
 * with `error`: why it would not. */
int mw_attach_examine(const mw_process_t *process, mw_attach_result_t *result, mw_error_t *error);

/* Both return 0, or -1 with a sentence in `error` that begins with "pid N: ". */
int mw_attach(const mw_process_t *process, const mw_attach_wish_t *wish, mw_attach_result_t *result,
	      mw_error_t *error);
int mw_detach(const mw_process_t *process, mw_attach_result_t *result, mw_error_t *error);

#endif
