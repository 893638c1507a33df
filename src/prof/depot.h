/* SPDX-License-Identifier: MIT
 * depot.h -- every distinct stack once.
 * Layer: prof.  Stacks lie in the image's sections as paths of a tree: each node is a frame and the
 * node of its caller, so that what stacks have in common from the outermost frame on is kept once,
 * and nodes name frames by their number, as the same call sites come in many places.  Indexes in
 * private memory find all three again (prof/index.h).  Lock-free; entries are never removed.  When
 * nodes or frames are used up a stack is cut to its leaf, when the stacks are used up it is stack
 * 0, "unknown": counts are never lost. */
#ifndef MW_PROF_DEPOT_H
#define MW_PROF_DEPOT_H

#include <stdbool.h>
#include <stdint.h>

/* After the image was made, by its maker. */
void mw_depot_start(void);
/* The number of the stack of these encoded frames (MW_FRAME_*, leaf first).  `truncated`: there
 * were more frames than `depth`.  Two stacks are taken for one with a probability of 2^-64, two of
 * a full table's with one of 2^-31.  In the caller's turn (gate.h). */
uint32_t mw_depot_find(const uint64_t *frames, unsigned depth, bool truncated);
/* How many frames a stack has. */
unsigned mw_depot_depth(uint32_t number);
/* The number of the frame of a node other than 0, which then becomes its caller's: 0 behind the
 * outermost. */
uint32_t mw_depot_next_frame(uint32_t *node);
uint64_t mw_depot_frame(uint32_t number);
/* Tells `see` where the indexes are. */
void mw_depot_visit(void (*see)(uintptr_t start, uintptr_t limit));

#endif
