/* SPDX-License-Identifier: MIT
 * due_dumps.h -- dumps that are due, and why.
 * Layer: prof/control. A word has a bit for each reason for which a dump is due. If the dump cannot
 * be written at once (its least interval has not passed, or another thread is dumping), the bit
 * stays, and the dump is written at the next sample or tick, or after the other dump. All functions
 * are async-signal-safe: the handler of dump_signal writes a dump. triggers.h decides when a dump
 * is due. */
#ifndef MW_PROF_CONTROL_DUE_DUMPS_H
#define MW_PROF_CONTROL_DUE_DUMPS_H

#include <stdbool.h>
#include <stdint.h>

#include "state/layout.h"

/* Settings of the user: most dumps for a reason (0: any number), and the least time between two
 * dumps for a reason. Dumps that a tool or the program waits for are written in any case. */
void mw_due_dumps_set_max(uint64_t max);
void mw_due_dumps_set_interval(uint64_t min_ns);

/* Makes a dump due. The caller then calls one of the writing functions. */
void mw_due_dumps_add(mw_dump_reason_t reason);
bool mw_due_dumps_any(void);
/* Returns whether the least time since the last dump for the reason has not passed yet. */
bool mw_due_dumps_is_early(mw_dump_reason_t reason, uint64_t now_ns);
/* Writes one dump for all reasons that are due, named after the first of them. Must not be called
 * between mw_tables_enter() and mw_tables_leave(). */
void mw_due_dumps_write(void);
/* Leaves the dump to the background thread if there is one, so that malloc does not wait for a
 * disk. */
void mw_due_dumps_write_soon(void);

/* Makes the dump with this number due, which a tool requested. live.dumps_done gets the number when
 * the dump is written or has failed. Called with the control lock. */
void mw_due_dumps_request(uint32_t number);
/* Writes a requested dump that is due. Called without the control lock, because writing may take
 * long. */
void mw_due_dumps_write_requested(void);

/* Called in the child of a fork, which has written no dump yet. */
void mw_due_dumps_forked(void);
/* Changes the signal of dump_signal or leak_signal; 0: none. Returns false if the program or the
 * other of these settings handles the signal, or none can. */
bool mw_due_dumps_change_signal(mw_setting_t setting, uint64_t old, uint64_t fresh);

#endif
