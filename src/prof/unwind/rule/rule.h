/* SPDX-License-Identifier: MIT
 * rule.h -- rules that lead from one frame to its caller's, and the dictionary of rules.
 * Layer: prof/unwind/rule, the door of this folder. The folder holds rules and where they are kept;
 * it may use src/base, src/os and prof/store/index.h. Reading order: rule, rule_cache (rules by
 * code address).
 *
 * A rule is a function's call frame information reduced to the stack pointer,
 * the frame pointer and the return address. Most rules fit into a code of 16 bits. The dictionary
 * holds each other rule once, and the code is then its number.
 *
 * The dictionary has a fixed capacity, is shared by all threads, only grows, and takes no locks:
 * async-signal-safe. */
#ifndef MW_PROF_UNWIND_RULE_H
#define MW_PROF_UNWIND_RULE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum mw_rule_kind {
	MW_RULE_NONE,    /* no rule: an entry of zeros */
	MW_RULE_PLAIN,   /* CFA = sp or fp + offset; return address and saved fp lie at offsets from
			    the CFA */
	MW_RULE_GENERAL, /* any combination of the bases below */
	/* No unwind information: fp points to the pair (caller's fp, return address). */
	MW_RULE_FRAME_POINTER,
	MW_RULE_END,  /* the outermost frame */
	MW_RULE_LOST, /* the unwind information cannot be expressed by these rules */
} mw_rule_kind_t;

typedef enum mw_rule_base {
	MW_BASE_UNDEFINED, /* the caller's value is lost */
	MW_BASE_SAME, /* unchanged: the frame pointer; the return address in the link register */
	MW_BASE_SP,
	MW_BASE_FP,
	MW_BASE_CFA,
	MW_BASE_SP_LOAD, /* the word at sp + offset (CFA only) */
	MW_BASE_FP_LOAD,
} mw_rule_base_t;

typedef struct mw_rule {
	uint8_t kind;      /* mw_rule_kind_t */
	uint8_t cfa_base;  /* mw_rule_base_t, as the next two fields */
	uint8_t fp_base;   /* base of the address at which the caller's frame pointer is stored */
	uint8_t ra_base;   /* base of the address at which the return address is stored */
	uint8_t is_signal; /* the frame below was interrupted by a signal, so its pc is exact */
	uint8_t reserved;
	int16_t cfa_add;    /* bytes added to a loaded CFA */
	int32_t cfa_offset; /* offsets in bytes */
	int32_t fp_offset;
	int32_t ra_offset;
	int32_t reserved_too;
} mw_rule_t;

_Static_assert(sizeof(mw_rule_t) == 24, "compared byte by byte: no padding");

/* A rule's code, 16 bits. Nearly all rules of compiled code fit: CFA = sp or fp + a multiple of 8,
 * return address directly below the CFA, frame pointer unchanged or saved near the CFA. Bit 15 is
 * then set, and the walk needs no lookup in the dictionary. Else the code is the rule's number in
 * the dictionary. 0 is not a code. */
#define MW_RULE_CODE_BITS 16
#define MW_RULE_INLINE 0x8000u
#define MW_RULE_INLINE_BY_FP 0x4000u
/* 0: the frame pointer is unchanged. n: it is saved at CFA - 8 - 8 n, which is not below the
 * base. */
#define MW_RULE_INLINE_SLOT_SHIFT 11
#define MW_RULE_INLINE_SLOT_MASK 7u
#define MW_RULE_INLINE_WORDS_MASK 0x7ffu /* CFA offset in words of 8 bytes, at least 1 */

/* Numbers are 1 .. MW_RULE_NUMBERS - 1. 2^13 is a hundred times the number of rules of a large
 * program: 192 KiB of address space, of which the used part is touched. */
#define MW_RULE_NUMBERS (1u << 13)

/* Returns the rule's code; 0: it does not fit and the dictionary is full. */
uint32_t mw_rule_encode(const mw_rule_t *rule);

/* `code` is a result of mw_rule_encode(), passed on directly or through an acquire load. */
mw_rule_t mw_rule_decode(uint32_t code);

/* Returns the number of rules in the dictionary, for statistics and tests. */
uint32_t mw_rule_count(void);

#endif
