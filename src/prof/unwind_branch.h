/* SPDX-License-Identifier: MIT
 * unwind_branch.h -- the thread's last stacks, as branches off its trail.
 * Layer: prof.  A program that allocates in turns from a few places has stacks that differ in
 * their innermost frames alone.  Each is kept as what it has of its own, and the frame of the trail
 * from where on it is the same: it is recognised again without a walk, and leaves the trail as it
 * is.
 *
 * Why the outcome is that of a walk: doc/adr/0019-walks-along-a-trail.md.  The thread's own, as the
 * trail. */
#ifndef MW_PROF_UNWIND_BRANCH_H
#define MW_PROF_UNWIND_BRANCH_H

#include <stdbool.h>
#include <stdint.h>

#include "os/arch.h"

/* Of code that may be unloaded; a walk through more is as usual. */
#define MW_TRAIL_OBJECTS 4u

/* A word that a rule read, and that mattered. */
typedef struct mw_trail_check {
	const uintptr_t *address;
	uintptr_t word;
} mw_trail_check_t;

/* An object that may be unloaded, and its innermost frame. */
typedef struct mw_trail_place {
	uintptr_t pc;
	unsigned object; /* from 1 on */
} mw_trail_place_t;

/* Those with more are not kept: 12 frames, as a rule. */
#define MW_BRANCH_CHECKS 12u

typedef struct mw_branch {
	uintptr_t sp, pc, fp; /* of the leaf; pc 0: none */
	uint64_t memo;        /* of mw_unwind_note() */
	uint64_t birth;       /* of the trail's frame that it comes from */
	uint16_t join;        /* that frame's number */
	bool fp_matters;
	uint8_t check_count, place_count;
	mw_trail_place_t places[MW_TRAIL_OBJECTS]; /* in the whole stack, from the leaf on */
	mw_trail_check_t checks[MW_BRANCH_CHECKS]; /* the outermost first */
} mw_branch_t;

/* 64 in all: those of one leaf's place on the stack are looked through. */
#define MW_BRANCH_SETS 16u
#define MW_BRANCH_WAYS 4u

typedef struct mw_branches {
	mw_branch_t of[MW_BRANCH_SETS][MW_BRANCH_WAYS];
	uint8_t next[MW_BRANCH_SETS]; /* to be replaced */
} mw_branches_t;

struct mw_trail;

/* The memo of the branch that a walk from `regs`, which a call left there, would come along; 0:
 * there is none. */
uint64_t mw_branch_find(const struct mw_trail *trail, const mw_os_regs_t *regs);
/* Those with this memo get another. */
void mw_branch_note_again(mw_branches_t *branches, uint64_t memo, uint64_t new_memo);
/* Keeps the stack of the trail, which has a memo. */
void mw_branch_keep(struct mw_trail *trail);

#endif
