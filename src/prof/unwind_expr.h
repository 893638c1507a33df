/* SPDX-License-Identifier: MIT
 * unwind_expr.h -- DWARF expressions reduced to "register + offset", with one load at most.
 * Layer: prof.  Evaluates with unknown sp, fp and CFA and known pc, so that a PLT entry's rule
 * ("sp + 8, and 8 more from the 11th byte on") comes out as a plain offset.  That, frames that
 * realign their stack and signal frames are what compilers and libc emit. */
#ifndef MW_PROF_UNWIND_EXPR_H
#define MW_PROF_UNWIND_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/unwind_read.h"
#include "prof/unwind_rule.h"

typedef struct mw_expr_value {
	mw_rule_base_t base; /* MW_BASE_UNDEFINED: a number, in `add` */
	int64_t offset;      /* of the base; where to load from for the *_LOAD bases */
	int64_t add;         /* to the loaded word */
} mw_expr_value_t;

/* `expression` is the block's bytes.  `with_cfa`: it starts with the CFA on its stack, as those of
 * registers do.  False when the result is beyond an mw_expr_value_t. */
bool mw_expr_reduce(mw_reader_t expression, bool with_cfa, uintptr_t pc, mw_expr_value_t *result);

#endif
