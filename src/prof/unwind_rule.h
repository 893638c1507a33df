/* SPDX-License-Identifier: MIT
 * unwind_rule.h -- how to get from one frame to its caller's, and the dictionary of such rules.
 * Layer: prof.  A rule is what is left of a function's call frame information once only the stack
 * pointer, the frame pointer and the return address are asked for.  It is kept as a code of 16
 * bits; the few that do not fit are kept in the dictionary, once each, and named by a small number.
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
	MW_BASE_SAME,      /* unchanged: frame pointer; return address in the link register */
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

/* A rule's code, 16 bits.  Nearly all rules of compiled code fit in it: CFA = sp or fp + a multiple
 * of 8, return address just below the CFA, frame pointer unchanged or saved near it.  Then bit 15
 * is set, and the walk needs no second look-up.  Otherwise the code is the rule's number in the
 * dictionary.  0 is not a code. */
#define MW_RULE_CODE_BITS 16
#define MW_RULE_INLINE 0x8000u
#define MW_RULE_INLINE_BY_FP 0x4000u
/* 0: the frame pointer is unchanged; n: it is saved at CFA - 8 - 8 n, which is not below the base.
 */
#define MW_RULE_INLINE_SLOT_SHIFT 11
#define MW_RULE_INLINE_SLOT_MASK 7u
#define MW_RULE_INLINE_WORDS_MASK 0x7ffu /* CFA offset in words of 8 bytes, at least 1 */

/* Numbers are 1 .. MW_RULE_NUMBERS - 1.  2^13: a hundred times what a large program has; 192 KiB of
 * address space of which only the used part is ever touched. */
#define MW_RULE_NUMBERS (1u << 13)

/* The rule's code; 0 when it does not fit and the dictionary is full. */
uint32_t mw_rule_encode(const mw_rule_t *rule);

/* `code` came from mw_rule_encode(), directly or through an acquire load. */
mw_rule_t mw_rule_decode(uint32_t code);

/* How many rules the dictionary holds, for statistics and tests. */
uint32_t mw_rule_count(void);

#endif
