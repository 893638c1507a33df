/* SPDX-License-Identifier: MIT
 * cfi.h -- gets rules from .eh_frame: table search, parser of CIEs and FDEs, CFA programs.
 * Layer: prof/unwind/cfi, the door of this folder. The folder turns unwind tables into rules; it
 * may use src/base, os/platform and prof/unwind/rule. Reading order: cfi (tables), cfi_program (one
 * function's instructions), cfi_expr (expressions), cfi_read (numbers).
 *
 * Formats: Linux Standard Base 5.0 core, section 10.6 (.eh_frame,
 * .eh_frame_hdr), and DWARF 4, section 6.4 (call frame information).
 *
 * The bytes are not trusted: no byte outside of the area is read, and every loop is limited by the
 * area's length. No state, no locks: async-signal-safe. */
#ifndef MW_PROF_UNWIND_CFI_H
#define MW_PROF_UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/unwind/cfi/cfi_read.h"
#include "prof/unwind/rule/rule.h"

/* The readable segment that holds .eh_frame_hdr and .eh_frame. */
typedef struct mw_cfi_area {
	const uint8_t *lo;
	const uint8_t *hi;
} mw_cfi_area_t;

typedef struct mw_cfi_fde {
	uintptr_t pc_lo; /* the function's code is [pc_lo, pc_hi) */
	uintptr_t pc_hi;
	mw_reader_t initial; /* instructions of the CIE */
	mw_reader_t program; /* instructions of the FDE */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_register;
	bool is_signal;
} mw_cfi_fde_t;

/* Offset of the table of .eh_frame_hdr. mw_cfi_table_entries() returns the number of entries, each
 * of two words relative to the header: the function and its FDE. 0: there is no table, or it has
 * another form. */
#define MW_CFI_TABLE_OFFSET 12u
uint32_t mw_cfi_table_entries(const uint8_t header[MW_CFI_TABLE_OFFSET]);

/* Returns the FDE that the binary search table at `eh_frame_hdr` has for `pc`; NULL: none. The FDE
 * may not cover pc: mw_cfi_parse() tells. */
const uint8_t *mw_cfi_search(const mw_cfi_area_t *area, const uint8_t *eh_frame_hdr, uintptr_t pc);

/* Parses an FDE. Returns false if the FDE or its CIE is damaged or of an unknown kind. */
bool mw_cfi_parse(const mw_cfi_area_t *area, const uint8_t *fde_at, mw_cfi_fde_t *fde);

/* Runs the programs up to `pc`, which the FDE covers, and converts the row to a rule. The kind is
 * MW_RULE_LOST if no rule can express the row. */
mw_rule_t mw_cfi_rule(const mw_cfi_fde_t *fde, uintptr_t pc);

/* Returns a hash of the FDE at `fde_at` and its CIE, that is of every byte from which its rules are
 * made; 0: they do not lie within the area. */
uint64_t mw_cfi_digest(const mw_cfi_area_t *area, const uint8_t *fde_at);

#endif
