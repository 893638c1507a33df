/* SPDX-License-Identifier: MIT
 * lock_waits.h -- looks at which locks the threads of a process wait for, and which threads hold
 * these.
 * Layer: cmd/cpu.  The kernel tells for each thread that waits in futex(2) the address of the
 * lock; glibc's mutexes have the holder's thread id behind it. Looking takes the right to trace the
 * process (ptrace(2)), and stops no thread. */
#ifndef MW_TOOL_CMD_CPU_LOCK_WAITS_H
#define MW_TOOL_CMD_CPU_LOCK_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One thread that waited for one lock, which one thread held. */
typedef struct mw_lock_wait {
	uint64_t lock; /* address */
	int waiter;
	int holder;     /* 0: not known */
	uint64_t looks; /* that saw it; 0: none that counts */
} mw_lock_wait_t;

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

/* Returns what was seen, and the number of looks.  It belongs to `waits`. */
const mw_lock_wait_t *mw_lock_waits_all(const mw_lock_waits_t *waits, size_t *count,
					uint64_t *looks);
/* Returns whether the kernel refused to tell of the threads. */
bool mw_lock_waits_were_refused(const mw_lock_waits_t *waits);

#endif
