/* SPDX-License-Identifier: MIT
 * mapped.h -- what is due when the program has mapped memory itself, and its mappings in the state
 * file. Few programs record their mappings: the code lies apart from that of samples.
 * Layer: prof/control. */
#ifndef MW_PROF_CONTROL_MAPPED_H
#define MW_PROF_CONTROL_MAPPED_H

#include <stdint.h>

/* Called after a change of the program's mappings: publishes the state file, walks the heap, writes
 * a tick, each if it is due, and answers tools. Must not be called between mw_tables_enter() and
 * mw_tables_leave(). `now_ns`: CLOCK_MONOTONIC. */
void mw_mapped_maintain(uint64_t now_ns);
/* During a heap walk that has written `ranges` ranges: writes the program's mappings, as far as
 * there is room, and the memory that their table takes. */
void mw_mapped_write(uint64_t ranges);

#endif
