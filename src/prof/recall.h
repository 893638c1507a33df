/* SPDX-License-Identifier: MIT
 * recall.h -- the numbers of stacks seen lately, found by their PCs as they were walked.
 * Layer: prof.  Saves encoding the frames and comparing them.  Only stacks whose code can never be
 * unloaded may be kept: the same PCs then mean the same frames for as long as the process lives,
 * also in the child of a fork.  Lock-free, shared by all threads; a lost race loses an entry. */
#ifndef MW_PROF_RECALL_H
#define MW_PROF_RECALL_H

#include <stdbool.h>
#include <stdint.h>

/* Stands for PCs, their number and whether there were more.  Two different stacks have the same key
 * with a probability of 2^-64. */
typedef struct mw_recall_key {
	uint64_t high, low;
} mw_recall_key_t;

mw_recall_key_t mw_recall_key(const uint64_t *frames, unsigned depth, bool truncated);
/* 0: not known. */
uint32_t mw_recall_find(mw_recall_key_t key);
void mw_recall_put(mw_recall_key_t key, uint32_t stack);

#endif
