/* SPDX-License-Identifier: MIT
 * unwind.c -- walks the stack: one rule a frame, every read inside a window of the stack. */
#include "prof/unwind.h"

#include "base/compiler.h"
#include "os/arch.h"
#include "os/stack.h"
#include "prof/unwind_resolve.h"
#include "state/layout.h"

/* From malloc to here is about ten calls; a walk that finds more is not in the library. */
#define OWN_FRAMES_MAX 64
/* Changes of stack in one walk (signal handlers on their own stack, coroutines): each may cost the
 * kernel's answer for some pages. */
#define SWITCHES_MAX 16

/* The linker defines both around the section that holds all of the library's code; absent where
 * the objects were not put into one (unit tests). */
extern const char __start_mallow_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_mallow_text[] __attribute__((weak, visibility("hidden")));

typedef enum outcome {
	WALK_ON,
	WALK_END,  /* the outermost frame was reached */
	WALK_LOST, /* it was not, but nothing more is known */
} outcome_t;

typedef struct cursor {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t fp; /* 0: not known */
	bool is_exact;
	unsigned switches;
	mw_stack_window_t stack;
	mw_resolver_t resolver;
} cursor_t;

#ifdef MW_TESTING
static uintptr_t test_own_start, test_own_limit;

void mw_unwind_set_own(uintptr_t start, uintptr_t limit) {
	test_own_start = start;
	test_own_limit = limit;
}

static bool is_own(uintptr_t pc) {
	return pc - test_own_start < test_own_limit - test_own_start;
}
#else
static bool is_own(uintptr_t pc) {
	uintptr_t start = (uintptr_t)__start_mallow_text;
	return pc - start < (uintptr_t)__stop_mallow_text - start;
}
#endif

static bool is_aligned(uintptr_t address) {
	return address % sizeof(uintptr_t) == 0;
}

static bool load(cursor_t *cursor, uintptr_t address, uintptr_t *value) {
	return mw_os_stack_load(&cursor->stack, address, value);
}

/* Moves on to the caller's frame. */
MW_ALWAYS_INLINE outcome_t enter(cursor_t *cursor, uintptr_t pc, uintptr_t sp, uintptr_t fp,
				 bool is_exact) {
	cursor->pc = pc;
	cursor->sp = sp;
	cursor->fp = fp;
	cursor->is_exact = is_exact;
	return MW_LIKELY(pc != 0) ? WALK_ON : WALK_END;
}

/* Code without rules: the frame pointer, if it is one, leads to the caller's. */
static outcome_t step_by_frame_pointer(cursor_t *cursor) {
	uintptr_t fp = cursor->fp, caller_fp, pc;
	/* The ABI's mark of the outermost frame. */
	if (fp == 0)
		return WALK_END;
	if (!is_aligned(fp) || fp < cursor->sp || !load(cursor, fp, &caller_fp) ||
	    !load(cursor, fp + sizeof(uintptr_t), &pc))
		return WALK_LOST;
	return enter(cursor, pc, fp + 2 * sizeof(uintptr_t), caller_fp, false);
}

static bool base_address(cursor_t *cursor, uint8_t base, uintptr_t cfa, uintptr_t *address) {
	switch (base) {
	case MW_BASE_SP:
	case MW_BASE_SP_LOAD:
		*address = cursor->sp;
		return true;
	case MW_BASE_FP:
	case MW_BASE_FP_LOAD:
		*address = cursor->fp;
		return true;
	case MW_BASE_CFA:
		*address = cfa;
		return true;
	default:
		return false;
	}
}

/* Loads a word that a rule places; other stacks than the current one are opened for it. */
static bool load_placed(cursor_t *cursor, uintptr_t address, uintptr_t *value) {
	if (!is_aligned(address))
		return false;
	if (load(cursor, address, value))
		return true;
	if (cursor->switches++ >= SWITCHES_MAX || !mw_os_stack_open(&cursor->stack, address))
		return false;
	return load(cursor, address, value);
}

/* Any rule: signal frames, realigned frames, code that changed stacks. */
static MW_NOINLINE outcome_t step_general(cursor_t *cursor, const mw_rule_t *rule) {
	uintptr_t cfa, ra_at, fp_at, pc, fp = 0;
	if (!base_address(cursor, rule->cfa_base, 0, &cfa))
		return WALK_LOST;
	cfa += (uintptr_t)(intptr_t)rule->cfa_offset;
	if (rule->cfa_base == MW_BASE_SP_LOAD || rule->cfa_base == MW_BASE_FP_LOAD) {
		if (!load_placed(cursor, cfa, &cfa))
			return WALK_LOST;
		cfa += (uintptr_t)(intptr_t)rule->cfa_add;
	}
	if (!base_address(cursor, rule->ra_base, cfa, &ra_at) ||
	    !load_placed(cursor, ra_at + (uintptr_t)(intptr_t)rule->ra_offset, &pc))
		return WALK_LOST;
	/* An unknown frame pointer ends the walk only if a rule asks for it. */
	if (rule->fp_base == MW_BASE_SAME)
		fp = cursor->fp;
	else if (base_address(cursor, rule->fp_base, cfa, &fp_at) &&
		 !load(cursor, fp_at + (uintptr_t)(intptr_t)rule->fp_offset, &fp))
		fp = 0;
	if (!is_aligned(cfa))
		return WALK_LOST;
	/* The caller's frame may be on another stack than what was loaded (a handler on its own
	 * stack), or lower on the same one (swapped contexts). */
	if ((cfa < cursor->stack.lo || cfa >= cursor->stack.hi) &&
	    (cursor->switches++ >= SWITCHES_MAX || !mw_os_stack_open(&cursor->stack, cfa)))
		return WALK_LOST;
	return enter(cursor, pc, cfa, fp, rule->is_signal);
}

static MW_NOINLINE outcome_t step_rare(cursor_t *cursor, const mw_rule_t *rule) {
	switch (rule->kind) {
	case MW_RULE_PLAIN:
		/* Only a frame pointer may lead to another stack. */
		return rule->cfa_base == MW_BASE_FP ? step_general(cursor, rule) : WALK_LOST;
	case MW_RULE_GENERAL:
		return step_general(cursor, rule);
	case MW_RULE_FRAME_POINTER:
		return step_by_frame_pointer(cursor);
	case MW_RULE_END:
		return WALK_END;
	default:
		return WALK_LOST;
	}
}

MW_ALWAYS_INLINE outcome_t step(cursor_t *cursor) {
	/* A return address may be the first byte of the next function, or of another rule's range;
	 * the call is the byte before. */
	const mw_rule_t *rule = mw_resolve(&cursor->resolver, cursor->pc - !cursor->is_exact);
	if (MW_UNLIKELY(rule->kind != MW_RULE_PLAIN))
		return step_rare(cursor, rule);
	uintptr_t base = rule->cfa_base == MW_BASE_SP ? cursor->sp : cursor->fp;
	uintptr_t cfa = base + (uintptr_t)(intptr_t)rule->cfa_offset;
	uintptr_t pc, fp = cursor->fp;
	if (MW_UNLIKELY(cfa <= cursor->sp || !is_aligned(cfa) ||
			!load(cursor, cfa + (uintptr_t)(intptr_t)rule->ra_offset, &pc)))
		return step_rare(cursor, rule);
	if (rule->fp_base == MW_BASE_CFA &&
	    MW_UNLIKELY(!load(cursor, cfa + (uintptr_t)(intptr_t)rule->fp_offset, &fp)))
		fp = 0;
	return enter(cursor, pc, cfa, fp, false);
}

void mw_unwind_start(void) {
	mw_os_stack_start();
	mw_os_object_start();
}

MW_NOINLINE mw_unwind_result_t mw_unwind_capture(uint64_t *pcs, unsigned max_depth) {
	mw_os_regs_t regs = mw_os_regs_here();
	cursor_t cursor;
	cursor.pc = regs.pc;
	cursor.sp = regs.sp;
	cursor.fp = regs.fp;
	cursor.is_exact = true;
	cursor.switches = 0;
	cursor.resolver.object.text_lo = cursor.resolver.object.text_hi = 0;
	mw_unwind_result_t result = {.depth = 0, .truncated = true};
	if (!mw_os_stack_open(&cursor.stack, regs.sp))
		return result;
	outcome_t outcome = step(&cursor);
	for (unsigned i = 0; i < OWN_FRAMES_MAX && outcome == WALK_ON && is_own(cursor.pc); i++)
		outcome = step(&cursor);
	while (outcome == WALK_ON && result.depth < max_depth) {
		pcs[result.depth++] = cursor.pc | (cursor.is_exact ? MW_FRAME_EXACT : 0);
		outcome = step(&cursor);
	}
	result.truncated = outcome != WALK_END;
	return result;
}
