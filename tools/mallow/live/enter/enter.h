/* SPDX-License-Identifier: MIT
 * enter.h -- has a process answer requests that does not allocate, as a debugger would call a
 * function in it.
 * Layer: live/enter.  The folder's door. library_entry.h finds the code, thread_entry.h has a
 * thread enter it, thread_registers.h reads and writes the registers, stack_room.h finds room on
 * the stack, call_limit.h tells how long a thread is going to sleep, call_filter.h evaluates
 * filters of system calls, apart.h does it where nobody kills it half-way. */
#ifndef MW_TOOL_LIVE_ENTER_ENTER_H
#define MW_TOOL_LIVE_ENTER_ENTER_H

#include "live/process/reach.h"
#include "model/error.h"

/* Lets one thread of the process, which sleeps in a system call or runs, enter the library's code
 * (library_entry.h), and goes.  The thread answers requests, and then goes on as if nothing had
 * been: a system call is repeated with what remains of its time limit.  A thread that runs in the
 * library does not answer, and may be entered a moment later.  Who the process is and what it may
 * do is checked while the thread is stopped: nothing happens in another process than `key` names,
 * in one that does not map that state file, or in one that has ids or capabilities which this
 * command lacks.  Returns 0, or -1: nothing has changed in the process, and `error` is a part of a
 * sentence that says why.  MW_ENTRY_HANGS, likewise: the process's memory does not come, so trying
 * again would take as long; a thread may stay stopped until it comes. */
#define MW_ENTRY_HANGS (-2)
int mw_process_enter(const mw_process_key_t *key, mw_error_t *error);

#endif
