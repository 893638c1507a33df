/* SPDX-License-Identifier: MIT
 * depot.h -- stores every distinct stack once.
 * Layer: prof/table.  The sections of the profile table hold the stacks as paths of a tree. A node
 * is a frame and the number of its caller's node, so frames that stacks share from the outermost
 * frame on are stored once. A node names its frame by number, because one call site occurs in many
 * nodes. Indexes in private memory find stacks, nodes and frames (prof/store/index.h).
 *
 * Called with the tables' lock (prof/store/table_lock.h). All functions are lock-free as well,
 * because another thread may have taken the lock over. A collection (collect.h) takes stacks out to
 * which nothing refers, and raises the generation; a stack's number means nothing in another
 * generation. When nodes or frames are used up, a stack is cut to its leaf. When stacks are used
 * up, a sample gets stack 0, "unknown". Counts are never lost. */
#ifndef MW_PROF_TABLE_DEPOT_H
#define MW_PROF_TABLE_DEPOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prof/store/index.h"

/* Number of collections so far. Only depot.c writes it, with the tables quiesced: a number that was
 * found in this generation is valid while the reader holds the tables' lock. */
extern _Atomic uint32_t mw_depot_generation_now;
static inline uint32_t mw_depot_generation(void) {
	return atomic_load_explicit(&mw_depot_generation_now, memory_order_relaxed);
}

/* Called once by the thread that made the profile table, after that. */
void mw_depot_start(void);
/* Hash of a stack's encoded frames (MW_FRAME_*) from the outermost on: the sum over no frame, and
 * the sum over one frame more. */
#define MW_DEPOT_SUM_START 0x6a09e667f3bcc909u
static inline uint64_t mw_depot_sum(uint64_t sum, uint64_t frame) {
	/* Folds a 128-bit product: each bit of the inputs reaches all of the result. An odd
	 * constant with irregular bits (of the fraction of a square root). */
	unsigned __int128 product = (unsigned __int128)(sum ^ frame) * 0xbb67ae8584caa73bu;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A stack that is looked for. */
typedef struct mw_depot_path {
	const uint64_t *outermost; /* its encoded frame */
	ptrdiff_t inwards;         /* to the frame that it called: 1 or -1 */
	uint64_t sum;              /* mw_depot_sum() over all frames */
	unsigned depth;            /* not 0 */
	bool truncated;            /* the stack has more frames than these */
	bool is_mapping;           /* of a call that maps memory, see MW_STACK_MAPPING */
} mw_depot_path_t;

/* Returns the number of the stack, which is added if it is new. Two stacks are taken for one with a
 * probability of 2^-64, two of a full table's with one of 2^-31. Called with the tables' lock
 * (table_lock.h). */
uint32_t mw_depot_find_path(const mw_depot_path_t *path);
/* Finds or adds the stack of encoded frames in the order of a walk, leaf first. No frame: 0. */
uint32_t mw_depot_find(const uint64_t *frames, unsigned depth, bool truncated);
/* Returns the number of frames of a stack. */
unsigned mw_depot_depth(uint32_t number);
/* Returns the number of the frame of *node, which is not 0. Sets *node to the caller's node; 0: the
 * frame is the outermost. */
uint32_t mw_depot_next_frame(uint32_t *node);
uint64_t mw_depot_frame(uint32_t number);

/* Forgets all entries but these, whose numbers stay, and begins a generation. Called with the
 * tables quiesced and signals blocked. The node of each kept stack is kept, with its callers' nodes
 * and their frames. */
void mw_depot_keep_only(mw_index_kept_t stacks, mw_index_kept_t nodes, mw_index_kept_t frames);
/* Passes the address range of each mapped part of the indexes to `see`. */
void mw_depot_visit(void (*see)(uintptr_t start, uintptr_t limit));

#endif
