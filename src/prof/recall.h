/* SPDX-License-Identifier: MIT
 * recall.h -- the numbers of stacks seen lately, found by their PCs as they were walked.
 * Layer: prof.  Saves encoding the frames and comparing them.  The same PCs mean the same frames,
 * in the child of a fork too, as long as their code is not unloaded.  Of code that may be, the key
 * stands for what is loaded now (`code`); a stack with other code is not to be kept.  Lock-free,
 * shared by all threads; a lost race loses an entry. */
#ifndef MW_PROF_RECALL_H
#define MW_PROF_RECALL_H

#include <stdbool.h>
#include <stdint.h>

/* Stands for PCs, their number, whether there were more, and for the code that may be unloaded (0:
 * there is none).  Two different stacks have the same key
 * with a probability of 2^-64. */
typedef struct mw_recall_key {
	uint64_t high, low;
} mw_recall_key_t;

mw_recall_key_t mw_recall_key(const uint64_t *frames, unsigned depth, bool truncated,
			      uint64_t code);
/* 0: not known. */
uint32_t mw_recall_find(mw_recall_key_t key);
void mw_recall_put(mw_recall_key_t key, uint32_t stack);

/* One more frame for a sum over frames that is not 0. */
static inline uint64_t mw_recall_take_in(uint64_t sum, uint64_t frame) {
	unsigned __int128 product = (unsigned __int128)(sum ^ frame) * 0x3c6ef372fe94f82bu;
	/* The sum keeps what a product that is 0 would forget. */
	return sum + ((uint64_t)product ^ (uint64_t)(product >> 64));
}
/* The key of a whole stack by such a sum over its frames, the outermost first.  It is another one
 * than that of the frames themselves. */
mw_recall_key_t mw_recall_key_by_sum(uint64_t sum, unsigned depth, uint64_t code);

#endif
