/* SPDX-License-Identifier: MIT
 * unwind_rule.h -- how to get from one frame to its caller's, and the dictionary of such rules.
 * Layer: prof.  A rule is what is left of a function's call frame information once only the stack
 * pointer, the frame pointer and the return address are asked for.  A program has a few hundred
 * different ones, so they are kept once each and named by a small number.
 *
 * The dictionary is bounded, shared by all threads, only grows, and takes no locks:
 * async-signal-safe. */
#ifndef MW_PROF_UNWIND_RULE_H
#define MW_PROF_UNWIND_RULE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum mw_rule_kind {
	MW_RULE_NONE,    /* never a rule: an all-zero entry */
	MW_RULE_PLAIN,   /* CFA = sp or fp + offset; return address and fp, if saved, by the CFA */
	MW_RULE_GENERAL, /* any of the bases below */
	MW_RULE_FRAME_POINTER, /* no information: fp points to the pair (caller's fp, return
				  address) */
	MW_RULE_END,           /* the outermost frame */
	MW_RULE_LOST,          /* the information exists but is beyond these rules */
} mw_rule_kind_t;

typedef enum mw_rule_base {
	MW_BASE_UNDEFINED, /* the caller's value is gone */
	MW_BASE_SAME,      /* unchanged (frame pointer only) */
	MW_BASE_SP,
	MW_BASE_FP,
	MW_BASE_CFA,
	MW_BASE_SP_LOAD, /* the word at sp + offset (CFA only) */
	MW_BASE_FP_LOAD,
} mw_rule_base_t;

typedef struct mw_rule {
	uint8_t kind;      /* mw_rule_kind_t */
	uint8_t cfa_base;  /* mw_rule_base_t, for each of the three */
	uint8_t fp_base;   /* where the caller's frame pointer is stored */
	uint8_t ra_base;   /* where the return address is stored */
	uint8_t is_signal; /* the frame below was interrupted: its pc is exact */
	uint8_t reserved;
	int16_t cfa_add;    /* bytes added to a loaded CFA */
	int32_t cfa_offset; /* bytes, all three */
	int32_t fp_offset;
	int32_t ra_offset;
	int32_t reserved_too;
} mw_rule_t;

_Static_assert(sizeof(mw_rule_t) == 24, "compared byte by byte: no padding");

/* Names of rules are 1 .. MW_RULE_IDS - 1.  2^14: 40 times what a large program has, and 384 KiB of
 * address space of which only the used part is ever touched. */
#define MW_RULE_ID_BITS 14
#define MW_RULE_IDS (1u << MW_RULE_ID_BITS)

/* The rule's number; 0 when the dictionary is full. */
uint32_t mw_rule_intern(const mw_rule_t *rule);

/* `id` came from mw_rule_intern(), directly or through an acquire load. */
const mw_rule_t *mw_rule_get(uint32_t id);

/* How many there are, for statistics and tests. */
uint32_t mw_rule_count(void);

#endif
