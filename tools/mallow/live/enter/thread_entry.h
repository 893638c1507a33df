/* SPDX-License-Identifier: MIT
 * thread_entry.h -- has a thread of a process enter code that lies in the process.
 * Layer: live/enter.  The code is the library's (enter.h), or what `mallow attach` writes
 * (live/inject). It restores the thread's registers by itself: state/tool_entry.h. */
#ifndef MW_TOOL_LIVE_ENTER_THREAD_ENTRY_H
#define MW_TOOL_LIVE_ENTER_THREAD_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/loaded/address_space.h"
#include "live/process/reach.h"

/* UNFIT, PAUSED, FILTERED, SHADOWED: this thread, at this moment. Those behind: no thread of the
 * process. */
typedef enum mw_entry_outcome {
	MW_ENTRY_DONE,
	MW_ENTRY_UNFIT,    /* no room on its stack, in a critical section, or about to end */
	MW_ENTRY_PAUSED,   /* stopped by a signal or a debugger */
	MW_ENTRY_FILTERED, /* by seccomp(2) */
	MW_ENTRY_SHADOWED, /* has a shadow stack */
	MW_ENTRY_REFUSED,  /* the kernel does not let this command trace it */
	MW_ENTRY_OTHER,    /* the process has ended */
	MW_ENTRY_EXCEEDS,  /* has rights that this command lacks */
	MW_ENTRY_NO_CODE   /* the code is not there */
} mw_entry_outcome_t;

/* What a thread is to enter, and with what. */
typedef struct mw_thread_entry {
	const mw_reach_t *reach;
	/* Stack that the code may take, what is written there included. */
	uint64_t stack_bytes;
	/* Called while the thread is stopped. `space` was opened since.  Returns the address of the
	 * code; 0: MW_ENTRY_NO_CODE. */
	uint64_t (*find_code)(const struct mw_thread_entry *entry, mw_address_space_t *space);
	/* Called when the thread is fit, with what find_code() was called with: writes the code.
	 * NULL: it is there. */
	bool (*write_code)(const struct mw_thread_entry *entry, const mw_address_space_t *space,
			   int thread);
	/* Returns whether a stopped thread's filters of system calls (seccomp(2)) let the code run.
	 * NULL: no thread with filters is entered. */
	bool (*passes_filters)(const struct mw_thread_entry *entry, int thread);
	/* Bytes that are written to the thread's stack.  The code finds their address in its second
	 * argument; the first is the frame (mw_tool_entry_frame_t). */
	const void *order;
	size_t order_bytes;
} mw_thread_entry_t;

/* Tries the first thread, then others for some time, from another one on each time, until one is
 * pointed to the code. *why_refused with MW_ENTRY_REFUSED: errno of ptrace(2). */
mw_entry_outcome_t mw_thread_enter(const mw_thread_entry_t *entry, int *why_refused);

/* Returns a number of /proc/<pid>/status, of a process or a thread; -1 = it has no such line. */
long mw_status_number(int pid, const char *key);

#endif
