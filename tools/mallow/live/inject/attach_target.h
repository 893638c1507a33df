/* SPDX-License-Identifier: MIT
 * attach_target.h -- what `mallow attach` reads of a process before it changes anything, and what
 * stands in the way. Layer: live/inject. */
#ifndef MW_TOOL_LIVE_INJECT_ATTACH_TARGET_H
#define MW_TOOL_LIVE_INJECT_ATTACH_TARGET_H

#include "live/inject/placed_blob.h"
#include "live/loaded/address_space.h"
#include "live/loaded/allocator.h"
#include "live/loaded/loaded_modules.h"
#include "live/loaded/slots.h"
#include "live/process/process.h"
#include "model/error.h"

/* A process at one moment. */
typedef struct mw_attach_target {
	mw_address_space_t space;
	mw_modules_t modules;
	mw_allocator_t allocator;
	mw_slots_t slots;
	bool is_early; /* the dynamic linker is loading modules: later there is more to see */
	bool has_blob;
	mw_placed_blob_t blob;
} mw_attach_target_t;

/* Opens the memory of the process.  Returns 0, or -1 with a sentence in `error`, as the functions
 * below: it begins with "pid N: " and says what to do instead. */
int mw_attach_open(const mw_process_t *process, mw_attach_target_t *out, mw_error_t *error);

/* Reads all that attaching needs.  -1: the process cannot be attached to.  Changes nothing in the
 * process, and stops no thread. The filters of system calls are not known before a thread is
 * stopped. */
int mw_attach_check(const mw_process_t *process, mw_attach_target_t *target, mw_error_t *error);

void mw_attach_close(mw_attach_target_t *target);

#endif
