/* SPDX-License-Identifier: MIT
 * cfi_expr.h -- reduces DWARF expressions to "register + offset", with at most one load.
 * Layer: prof/unwind/cfi. The evaluation knows pc but not sp, fp and CFA, so that the rule of a PLT
 * entry ("sp + 8, and 8 more from the 11th byte on") becomes a plain offset. Compilers and libc
 * emit such expressions for PLT entries, for frames that realign the stack, and for signal
 * frames. */
#ifndef MW_PROF_UNWIND_CFI_EXPR_H
#define MW_PROF_UNWIND_CFI_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/unwind/cfi/cfi_read.h"
#include "prof/unwind/rule/rule.h"

typedef struct mw_expr_value {
	mw_rule_base_t base; /* MW_BASE_UNDEFINED: the value is the number in `add` */
	int64_t offset;      /* added to the base; for *_LOAD bases the address of the load */
	int64_t add;         /* added to the loaded word */
} mw_expr_value_t;

/* `expression`: the bytes of the block. `with_cfa`: the CFA is on the stack at the start, as for
 * registers. Returns false if an mw_expr_value_t cannot express the result. */
bool mw_expr_reduce(mw_reader_t expression, bool with_cfa, uintptr_t pc, mw_expr_value_t *result);

#endif
