/* SPDX-License-Identifier: MIT
 * totals.h -- what the processes of a comparison share. */
#ifndef MW_TEST_TOTALS_H
#define MW_TEST_TOTALS_H

#include <stdatomic.h>
#include <stdint.h>

enum { TOTALS_DISTINCT = 1 << 20, TOTALS_NOTES = 4096, TOTALS_NOTE_BYTES = 360 };

typedef struct totals {
	_Atomic uint64_t stacks, identical, distinct, frames;
	_Atomic uint64_t cut_by_mallow, cut_by_libunwind;
	_Atomic unsigned differences; /* of which the first TOTALS_NOTES are noted */
	char notes[TOTALS_NOTES][TOTALS_NOTE_BYTES];
	_Atomic uint64_t hashes[TOTALS_DISTINCT]; /* of the stacks seen so far; 0: free */
} totals_t;

#endif
