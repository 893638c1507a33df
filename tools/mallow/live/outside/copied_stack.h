/* SPDX-License-Identifier: MIT
 * copied_stack.h -- walks through the copy of a thread's stack.
 * Layer: live/outside.  Registers, stack and files may be hostile: this is called in a process of
 * its own (symbol/workers/confine.h), and a walk ends after MW_OUTSIDE_FRAMES_MAX frames. */
#ifndef MW_TOOL_LIVE_OUTSIDE_COPIED_STACK_H
#define MW_TOOL_LIVE_OUTSIDE_COPIED_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/bpf/programs.h"
#include "live/outside/code/mapped_code.h"

enum { MW_OUTSIDE_FRAMES_MAX = 128 };

typedef struct mw_copied_stacks mw_copied_stacks_t;

/* `modules` stays the caller's; the walks of a process whose modules have changed find those that
 * mw_copied_stacks_renew() was told of. */
mw_copied_stacks_t *mw_copied_stacks_new(mw_outside_modules_t *modules, int pid, mw_error_t *error);
void mw_copied_stacks_renew(mw_copied_stacks_t *stacks);
void mw_copied_stacks_free(mw_copied_stacks_t *stacks);

/* A thread at the moment of a sample.  Nothing of it is the walker's. */
typedef struct mw_copied_thread {
	const uint64_t *registers; /* MW_PROBE_REGISTERS of them */
	const uint8_t *memory;
	uint64_t start;   /* address of `memory` in the process */
	size_t copied;    /* bytes that `memory` holds */
	bool is_at_entry; /* the PC is at the first instruction of a function */
} mw_copied_thread_t;

/* Writes the addresses of the frames, innermost first: the PC, then return addresses minus 1 (of a
 * frame that a signal interrupted: its PC).  Returns their number, at least 1. `is_cut`: the walk
 * needed memory above what was copied; may be NULL. */
size_t mw_copied_stacks_walk(mw_copied_stacks_t *stacks, const mw_copied_thread_t *thread,
			     uint64_t frames[MW_OUTSIDE_FRAMES_MAX], bool *is_cut);

#endif
