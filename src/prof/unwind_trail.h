/* SPDX-License-Identifier: MIT
 * unwind_trail.h -- the frames of a thread's last walk, along which the next one goes.
 * Layer: prof.  From one sample to the next most of a stack does not change.  A walk that comes to
 * a frame of the last one need not look up rules from there on: it knows which words the rules
 * read, and compares them.  Where one differs it goes on as usual.
 *
 * Why the outcome is that of a walk without: doc/adr/0019-walks-along-a-trail.md.
 *
 * A thread gets its trail when it samples often; a thread's own, but for its signal handlers, which
 * do without while it is in use. */
#ifndef MW_PROF_UNWIND_TRAIL_H
#define MW_PROF_UNWIND_TRAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/arch.h"
#include "prof/unwind.h"
#include "prof/unwind_branch.h"
#include "prof/unwind_walk.h"

/* Deeper stacks are walked as usual. */
#define MW_TRAIL_FRAMES 112u

/* A frame as the walk came to it, and how it left it. */
typedef struct mw_trail_frame {
	uintptr_t sp;
	uintptr_t pc; /* 0: behind the outermost */
	uintptr_t fp;
	uint16_t code;   /* of the rule that leads on from here */
	uint16_t checks; /* that what lies beyond is the same: the trail's first so many */
	uint8_t object;  /* that has the code, among the trail's, from 1 on; 0: permanent */
	bool is_own;     /* of this library */
	bool fp_matters; /* what lies beyond was found by it */
	uint8_t objects; /* from here outwards: a bit for each number */
} mw_trail_frame_t;

typedef struct mw_trail {
	unsigned count; /* of `frames`, the outermost first; 0: nothing is known */
	unsigned kept;  /* of them were there when it was last laid */
	unsigned object_count;
	uint64_t serial; /* raised when it is laid anew */
	uint64_t memo;   /* of mw_unwind_note(); 0: none */
	mw_os_object_t objects[MW_TRAIL_OBJECTS];
	mw_trail_frame_t frames[MW_TRAIL_FRAMES];
	/* Over the PCs from the outermost to each of these; 0: one of them is the library's. */
	uint64_t sums[MW_TRAIL_FRAMES];
	/* The serial that each was laid with. */
	uint64_t births[MW_TRAIL_FRAMES];
	/* Of the objects in `frames`, from the leaf outwards; as long as there is a memo. */
	unsigned place_count;
	mw_trail_place_t places[MW_TRAIL_OBJECTS];
	/* Of the walk under way, the innermost first. */
	mw_trail_frame_t fresh[MW_TRAIL_FRAMES];
	/* A return address and a frame pointer of each frame, in the order of `frames`. */
	mw_trail_check_t checks[2 * MW_TRAIL_FRAMES];
	mw_branches_t branches;
} mw_trail_t;

/* A thread's. */
typedef struct mw_trail_hold {
	mw_trail_t *trail; /* NULL: none */
	bool is_taken, has_ended;
	unsigned samples; /* while there is none: since `since_ns` */
	uint64_t since_ns;
} mw_trail_hold_t;

_Static_assert(MW_TRAIL_OBJECTS < 8, "bits of a frame's objects");

extern MW_TLS mw_trail_hold_t mw_trail_hold;

/* NULL: there is none, or a walk that this one has interrupted is on it. */
MW_ALWAYS_INLINE mw_trail_t *mw_trail_take(void) {
	if (MW_LIKELY(!mw_trail_hold.trail) || mw_trail_hold.is_taken)
		return NULL;
	mw_trail_hold.is_taken = true;
	/* Handlers of this thread come before or after. */
	__asm__ volatile("" ::: "memory");
	return mw_trail_hold.trail;
}

MW_ALWAYS_INLINE void mw_trail_let_go(void) {
	__asm__ volatile("" ::: "memory");
	mw_trail_hold.is_taken = false;
}

/* Has the walk come to this frame, for all that matters further out? */
MW_ALWAYS_INLINE bool mw_trail_is_met(const mw_trail_frame_t *frame, const mw_os_regs_t *regs) {
	return frame->sp == regs->sp && frame->pc == regs->pc &&
	       (frame->fp == regs->fp || !frame->fp_matters);
}

/* Are all words that led on from the frame what they were?  It is one of the stack's: they can be
 * read. */
MW_ALWAYS_INLINE bool mw_trail_are_words_the_same(const mw_trail_t *trail,
						  const mw_trail_frame_t *frame) {
	const mw_trail_check_t *check = trail->checks, *end = check + frame->checks;
	for (; end - check >= 4; check += 4)
		if ((*check[0].address ^ check[0].word) | (*check[1].address ^ check[1].word) |
		    (*check[2].address ^ check[2].word) | (*check[3].address ^ check[3].word))
			return false;
	for (; check < end; check++)
		if (*check->address != check->word)
			return false;
	return true;
}

/* Walks from `regs`, where the last return address led to, and writes down PCs that are not the
 * library's.  MW_WALK_END: that was all.  MW_WALK_ON: a walk as usual has to go on from *regs. */
mw_walk_outcome_t mw_trail_follow(mw_trail_t *trail, mw_walk_t *walk, mw_os_regs_t *regs,
				  uint64_t *pcs, unsigned max_depth, mw_unwind_result_t *result);
/* Writes the PCs that are left out of the walk that laid the trail. */
void mw_trail_write_rest(const mw_trail_t *trail, const mw_unwind_result_t *walk, uint64_t *pcs);
/* Notes it with the last walk. */
void mw_trail_note(mw_trail_t *trail, uint64_t memo);
/* Are these of the trail's objects, the trail's own or a branch's, still there? */
MW_NOINLINE bool mw_trail_are_objects_there(const mw_trail_t *trail, const mw_trail_place_t *places,
					    unsigned count);

/* The memo of the trail, if a walk from `regs`, which a call left there, would be the last one
 * again; 0: if not. */
MW_ALWAYS_INLINE uint64_t mw_trail_recognise(const mw_trail_t *trail, const mw_os_regs_t *regs) {
	if (trail->memo == 0 || trail->count == 0)
		return 0;
	const mw_trail_frame_t *leaf = &trail->frames[trail->count - 1];
	if (!mw_trail_is_met(leaf, regs) || !mw_trail_are_words_the_same(trail, leaf))
		return 0;
	if (MW_UNLIKELY(trail->place_count > 0) &&
	    !mw_trail_are_objects_there(trail, trail->places, trail->place_count))
		return 0;
	return trail->memo;
}

/* The thread's next so many samples, without a trail: */
#define MW_TRAIL_SAMPLES 64u
/* Makes one if the last came quickly. */
void mw_trail_judge(uint64_t now_ns);
/* Gives it back. */
void mw_trail_end(void);

uint64_t mw_trail_memory_bytes(void);

#endif
