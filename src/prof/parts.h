/* SPDX-License-Identifier: MIT
 * parts.h -- entries of a stack's own for some of the threads that sample it.
 * Layer: prof.  Unless noted, called in the caller's turn (gate.h).
 *
 * Two threads that write to the same counters wait for each other's lines of cache, several times a
 * sample.  Threads are therefore of one of a few parts.  The depot's entries are those of part 0; a
 * thread of another part that samples much gets, for a stack that it samples, an entry with the
 * same description, whose number takes the place of the depot's.  Records, lives and sizes follow
 * it.  Readers add up what belongs together. */
#ifndef MW_PROF_PARTS_H
#define MW_PROF_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "prof/image.h"
#include "prof/sampler.h"

/* Whose samples an entry counts. */
static inline unsigned mw_parts_of(uint32_t stack) {
	const mw_state_stack_t *entry = mw_image_entry(MW_SECTION_STACKS, stack);
	return entry->flags >> MW_STACK_PART_SHIFT;
}

/* Of the samples that a thread counts in others' entries, one in so many makes it an own one. */
#define MW_PARTS_SAMPLES 64u
/* Is it time that the thread got an entry of its own for this stack? */
static inline bool mw_parts_is_due(mw_sampler_t *sampler, uint32_t stack) {
	return MW_UNLIKELY(mw_parts_of(stack) != sampler->part) &&
	       ++sampler->elsewhere % MW_PARTS_SAMPLES == 0;
}

/* The entry of this part for what the depot has under this number, made if need be; the depot's if
 * it is of part 0, or there is no room. */
uint32_t mw_parts_make(uint32_t stack, unsigned part);
/* The same if it is there, else the depot's. */
uint32_t mw_parts_find(uint32_t stack, unsigned part);

/* What mw_parts_make() made this entry for; itself if it is no part.  By anybody, and not quick. */
uint32_t mw_parts_whole(uint32_t own);

/* All entries of a stack of the depot's, that one first.  None if the number is a part's: it is
 * among another's.  By anybody. */
typedef struct mw_parts {
	unsigned count;
	uint32_t stacks[MW_STACK_PARTS];
} mw_parts_t;
mw_parts_t mw_parts_all(uint32_t stack);

#endif
