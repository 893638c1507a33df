/* SPDX-License-Identifier: MIT
 * lock_waits.h -- which locks the threads of a process wait for, and which threads hold these.
 * Layer: cmd/cpu.  The kernel tells for each thread that waits in futex(2) the address of the
 * lock; glibc's mutexes have the holder's thread id behind it. Samples of wall-clock time tell what
 * the threads do. Looking takes the right to trace the process (ptrace(2)), and stops no thread. */
#ifndef MW_TOOL_CMD_CPU_LOCK_WAITS_H
#define MW_TOOL_CMD_CPU_LOCK_WAITS_H

#include <stdbool.h>
#include <stdio.h>

#include "model/profile.h"

typedef struct mw_lock_waits mw_lock_waits_t;

mw_lock_waits_t *mw_lock_waits_new(void);
/* Says whose threads are looked at. */
void mw_lock_waits_begin(mw_lock_waits_t *waits, int pid);
void mw_lock_waits_free(mw_lock_waits_t *waits); /* NULL is allowed */

/* Looks at all threads once.  The caller then makes sure that the process still is the one that it
 * was, and otherwise calls mw_lock_waits_undo(). */
void mw_lock_waits_poll(mw_lock_waits_t *waits);
/* Forgets the last look. */
void mw_lock_waits_undo(mw_lock_waits_t *waits);

/* Adds the locks' addresses to a profile of wall-clock time, to be named with its code. */
void mw_lock_waits_add(mw_lock_waits_t *waits, mw_profile_t *profile);
/* Prints the locks, those that were waited for longest first.  `profile` has names. */
void mw_lock_waits_print(FILE *out, const mw_lock_waits_t *waits, const mw_profile_t *profile,
			 double seconds);
/* Returns whether the kernel refused to tell of the threads. */
bool mw_lock_waits_were_refused(const mw_lock_waits_t *waits);

#endif
