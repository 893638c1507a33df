/* SPDX-License-Identifier: MIT
 * tally.h -- what the processes of a comparison share. */
#ifndef MW_TEST_TALLY_H
#define MW_TEST_TALLY_H

#include <stdatomic.h>
#include <stdint.h>

enum { TALLY_DISTINCT = 1 << 20, TALLY_NOTES = 4096, TALLY_NOTE_BYTES = 360 };

typedef struct tally {
	_Atomic uint64_t stacks, identical, distinct, frames;
	_Atomic uint64_t cut_by_mallow, cut_by_libunwind;
	_Atomic unsigned differences; /* of which the first TALLY_NOTES are noted */
	char notes[TALLY_NOTES][TALLY_NOTE_BYTES];
	_Atomic uint64_t hashes[TALLY_DISTINCT]; /* of the stacks seen so far; 0: free */
} tally_t;

#endif
