/* SPDX-License-Identifier: MIT
 * enter.h -- has a sleeping process answer requests, as a debugger would call a function in it.
 * Layer: live/process. */
#ifndef MW_TOOL_LIVE_PROCESS_ENTER_H
#define MW_TOOL_LIVE_PROCESS_ENTER_H

#include <stdint.h>

#include "model/error.h"

/* Lets one thread of the process that sleeps in a system call enter the library's code at
 * `entry_address` (live.entry_address), and goes.  The thread answers requests, and then repeats
 * the call or returns EINTR from it, as after a signal.  Returns 0, or -1: nothing has changed in
 * the process, and `error` is a part of a sentence that says why. */
int mw_process_enter(int pid, uint64_t entry_address, mw_error_t *error);

#endif
