/* SPDX-License-Identifier: MIT
 * unwind_cfi.h -- from .eh_frame to rules: table search, CIE and FDE parser, CFA programs.
 * Layer: prof.  Formats: Linux Standard Base 5.0 core, section 10.6 (.eh_frame, .eh_frame_hdr), and
 * DWARF 4, section 6.4 (call frame information).
 *
 * The bytes are taken as hostile: nothing outside of the area is read, every loop is bounded by its
 * length.  No state, no locks: async-signal-safe. */
#ifndef MW_PROF_UNWIND_CFI_H
#define MW_PROF_UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "prof/unwind_read.h"
#include "prof/unwind_rule.h"

/* The readable segment that holds .eh_frame_hdr and .eh_frame. */
typedef struct mw_cfi_area {
	const uint8_t *lo;
	const uint8_t *hi;
} mw_cfi_area_t;

typedef struct mw_cfi_fde {
	uintptr_t pc_lo; /* covers [pc_lo, pc_hi) */
	uintptr_t pc_hi;
	mw_reader_t initial; /* the CIE's instructions */
	mw_reader_t program; /* the FDE's */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_register;
	bool is_signal;
} mw_cfi_fde_t;

/* What stands before the table of .eh_frame_hdr: the number of its entries, which are two words
 * relative to the header, of the function and of its FDE.  0: none, or another form. */
#define MW_CFI_TABLE_OFFSET 12u
uint32_t mw_cfi_table_entries(const uint8_t header[MW_CFI_TABLE_OFFSET]);

/* The FDE that the binary search table at `eh_frame_hdr` names for `pc`; NULL if there is none.
 * It need not cover pc: mw_cfi_parse() knows. */
const uint8_t *mw_cfi_search(const mw_cfi_area_t *area, const uint8_t *eh_frame_hdr, uintptr_t pc);

/* False when the FDE or its CIE is damaged or of an unknown kind. */
bool mw_cfi_parse(const mw_cfi_area_t *area, const uint8_t *fde_at, mw_cfi_fde_t *fde);

/* Runs the programs up to `pc` (which the FDE covers) and reduces the row found to a rule, of kind
 * MW_RULE_LOST if it cannot be expressed as one. */
mw_rule_t mw_cfi_rule(const mw_cfi_fde_t *fde, uintptr_t pc);

/* A hash of every byte that the rules of the FDE at `fde_at` come from: its own and its CIE's.
 * 0 when they are not wholly inside the area. */
uint64_t mw_cfi_digest(const mw_cfi_area_t *area, const uint8_t *fde_at);

#endif
