/* SPDX-License-Identifier: MIT
 * depot.h -- every distinct stack once.
 * Layer: prof.  A bounded open-addressing table of stack numbers in private memory; the stacks
 * themselves lie in the image's sections.  Lock-free; entries are never removed.  When the frames
 * are used up a stack is cut to its leaf, when the stacks are used up it is stack 0, "unknown":
 * counts are never lost. */
#ifndef MW_PROF_DEPOT_H
#define MW_PROF_DEPOT_H

#include <stdbool.h>
#include <stdint.h>

/* After the image was made, by its maker.  False: refused. */
bool mw_depot_start(void);
/* The number of the stack of these encoded frames (MW_FRAME_*, leaf first).  `truncated`: there
 * were more frames than `depth`.  Inside the gate. */
uint32_t mw_depot_find(const uint64_t *frames, unsigned depth, bool truncated);
/* How many frames a stack has. */
unsigned mw_depot_depth(uint32_t number);
/* Where the table of slots is. */
const void *mw_depot_slots(void);
uint64_t mw_depot_slots_bytes(void);

#endif
