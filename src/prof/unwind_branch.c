/* SPDX-License-Identifier: MIT
 * unwind_branch.c -- finding and keeping branches. */
#include "prof/unwind_branch.h"

#include "prof/unwind_trail.h"

/* Where the leaf is tells most stacks apart, and is known before any of it is read. */
static unsigned set_of(uintptr_t sp, uintptr_t pc) {
	return (unsigned)((sp ^ pc << 7) * 0x9e3779b97f4a7c15u >> 60);
}
_Static_assert(MW_BRANCH_SETS == 1u << (64 - 60), "the hash's upper bits");

/* Is the frame that it comes from, and with it all beyond, what it was when it was kept? */
static bool has_join(const mw_trail_t *trail, const mw_branch_t *branch) {
	return branch->join < trail->count && trail->births[branch->join] == branch->birth;
}

static bool is_leaf(const mw_branch_t *branch, const mw_os_regs_t *regs) {
	return branch->sp == regs->sp && branch->pc == regs->pc &&
	       (branch->fp == regs->fp || !branch->fp_matters);
}

/* The innermost first: callers differ there. */
static bool are_own_words_the_same(const mw_branch_t *branch) {
	for (unsigned i = branch->check_count; i-- > 0;)
		if (*branch->checks[i].address != branch->checks[i].word)
			return false;
	return true;
}

uint64_t mw_branch_find(const mw_trail_t *trail, const mw_os_regs_t *regs) {
	const mw_branch_t *branch = trail->branches.of[set_of(regs->sp, regs->pc)];
	for (const mw_branch_t *end = branch + MW_BRANCH_WAYS; branch < end; branch++)
		if (is_leaf(branch, regs) && has_join(trail, branch) &&
		    are_own_words_the_same(branch) &&
		    mw_trail_are_words_the_same(trail, &trail->frames[branch->join]) &&
		    mw_trail_are_objects_there(trail, branch->places, branch->place_count))
			return branch->memo;
	return 0;
}

/* One that says nothing any more, or the one that was kept the longest. */
static mw_branch_t *replaced(mw_trail_t *trail, unsigned set) {
	mw_branch_t *ways = trail->branches.of[set];
	for (unsigned i = 0; i < MW_BRANCH_WAYS; i++)
		if (ways[i].pc == 0 || !has_join(trail, &ways[i]))
			return &ways[i];
	return &ways[trail->branches.next[set]++ % MW_BRANCH_WAYS];
}

void mw_branch_keep(mw_trail_t *trail) {
	if (trail->kept == 0 || trail->kept > trail->count)
		return;
	unsigned join = trail->kept - 1;
	const mw_trail_frame_t *leaf = &trail->frames[trail->count - 1];
	unsigned first = trail->frames[join].checks, count = leaf->checks - first;
	if (count > MW_BRANCH_CHECKS)
		return;
	mw_branch_t *branch = replaced(trail, set_of(leaf->sp, leaf->pc));
	branch->sp = leaf->sp;
	branch->pc = leaf->pc;
	branch->fp = leaf->fp;
	branch->fp_matters = leaf->fp_matters;
	branch->memo = trail->memo;
	branch->birth = trail->births[join];
	branch->join = (uint16_t)join;
	branch->check_count = (uint8_t)count;
	for (unsigned i = 0; i < count; i++)
		branch->checks[i] = trail->checks[first + i];
	branch->place_count = (uint8_t)trail->place_count;
	for (unsigned i = 0; i < trail->place_count; i++)
		branch->places[i] = trail->places[i];
}

void mw_branch_note_again(mw_branches_t *branches, uint64_t memo, uint64_t new_memo) {
	for (unsigned set = 0; set < MW_BRANCH_SETS; set++)
		for (unsigned i = 0; i < MW_BRANCH_WAYS; i++)
			if (branches->of[set][i].memo == memo)
				branches->of[set][i].memo = new_memo;
}
