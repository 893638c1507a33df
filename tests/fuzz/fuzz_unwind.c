/* SPDX-License-Identifier: MIT
 * fuzz_unwind.c -- unwind tables from nowhere.  An even first byte: the rest is a segment of tables
 * with the search table at its start.  Odd: the rest is a CIE's instructions (16 bytes) and an
 * FDE's, which get much deeper into the interpreter. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "prof/unwind/cfi/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void run_programs(const uint8_t *bytes, size_t count) {
	size_t initial_bytes = count < 16 ? count : 16;
	mw_cfi_fde_t fde = {
		.pc_lo = 0x1000,
		.pc_hi = 0x3000,
		.initial = mw_reader(bytes, bytes + initial_bytes),
		.program = mw_reader(bytes + initial_bytes, bytes + count),
		.code_align = 1,
		.data_align = -8,
		.ra_register = 16,
	};
	for (uintptr_t pc = fde.pc_lo; pc < fde.pc_hi; pc += 61) {
		mw_rule_t rule = mw_cfi_rule(&fde, pc);
		uint32_t code = mw_rule_encode(&rule);
		mw_rule_t back = mw_rule_decode(code ? code : MW_RULE_INLINE | 1);
		if (code != 0 && memcmp(&back, &rule, sizeof(rule)) != 0)
			abort();
	}
}

static void read_tables(const uint8_t *bytes, size_t count) {
	mw_cfi_area_t area = {bytes, bytes + count};
	for (size_t i = 0; i < count; i++) {
		mw_cfi_fde_t fde;
		/* The table's addresses are relative to where it stands. */
		const uint8_t *found = mw_cfi_search(&area, bytes, (uintptr_t)bytes + 64 * i);
		const uint8_t *const candidates[] = {found, bytes + i};
		for (unsigned k = 0; k < 2; k++) {
			if (!candidates[k] || !mw_cfi_parse(&area, candidates[k], &fde))
				continue;
			(void)mw_cfi_digest(&area, candidates[k]);
			(void)mw_cfi_rule(&fde, fde.pc_lo);
			(void)mw_cfi_rule(&fde, fde.pc_lo + (fde.pc_hi - fde.pc_lo) / 2);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
	/* More than this only repeats itself. */
	const size_t bytes_max = 2048;
	if (count < 2 || count > bytes_max)
		return 0;
	/* A block of its own size: the sanitizer sees the first byte beyond it. */
	uint8_t *copy = malloc(count - 1);
	if (!copy)
		return 0;
	memcpy(copy, bytes + 1, count - 1);
	if (bytes[0] & 1)
		run_programs(copy, count - 1);
	else
		read_tables(copy, count - 1);
	free(copy);
	return 0;
}
