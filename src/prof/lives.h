/* SPDX-License-Identifier: MIT
 * lives.h -- what becomes of a stack's objects: how long they live, and who frees them.
 * Layer: prof.  Called in the caller's turn (gate.h). */
#ifndef MW_PROF_LIVES_H
#define MW_PROF_LIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/image.h"

typedef struct mw_life {
	int64_t objects_q16; /* that the freed sample stands for */
	uint64_t lifetime_ns;
	bool other_thread;
	bool temporary;
} mw_life_t;

/* Counts it for the stack with this entry.  Where there is no room for another life, nothing is
 * counted.  `base`: mw_mirror_base(). */
void mw_lives_count(char *base, mw_twin_t stack, const mw_life_t *life);

#endif
