/* SPDX-License-Identifier: MIT
 * coverage.c -- functions that compilers call in programs with -fsanitize-coverage. A program that
 * wants the calls defines them itself; these do nothing, and no coverage is recorded. */
#include <stdint.h>

#include "base/compiler.h"

#define NOTHING(name, parameters)                                                                  \
	MW_EXPORT void name parameters;                                                            \
	void name parameters {                                                                     \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"
NOTHING(__sanitizer_cov_8bit_counters_init, (char *start, char *limit))
NOTHING(__sanitizer_cov_bool_flag_init, (_Bool * start, _Bool *limit))
NOTHING(__sanitizer_cov_pcs_init, (const uintptr_t *start, const uintptr_t *limit))
NOTHING(__sanitizer_cov_dump, (void))
NOTHING(__sanitizer_cov_reset, (void))
NOTHING(__sanitizer_dump_coverage, (const uintptr_t *pcs, uintptr_t count))
NOTHING(__sanitizer_dump_trace_pc_guard_coverage, (void))
NOTHING(__sanitizer_cov_trace_cmp, (void))
NOTHING(__sanitizer_cov_trace_cmp1, (uint8_t a, uint8_t b))
NOTHING(__sanitizer_cov_trace_cmp2, (uint16_t a, uint16_t b))
NOTHING(__sanitizer_cov_trace_cmp4, (uint32_t a, uint32_t b))
NOTHING(__sanitizer_cov_trace_cmp8, (uint64_t a, uint64_t b))
NOTHING(__sanitizer_cov_trace_const_cmp1, (uint8_t a, uint8_t b))
NOTHING(__sanitizer_cov_trace_const_cmp2, (uint16_t a, uint16_t b))
NOTHING(__sanitizer_cov_trace_const_cmp4, (uint32_t a, uint32_t b))
NOTHING(__sanitizer_cov_trace_const_cmp8, (uint64_t a, uint64_t b))
NOTHING(__sanitizer_cov_trace_div4, (uint32_t value))
NOTHING(__sanitizer_cov_trace_div8, (uint64_t value))
NOTHING(__sanitizer_cov_trace_gep, (uintptr_t index))
NOTHING(__sanitizer_cov_trace_pc_guard, (uint32_t * guard))
NOTHING(__sanitizer_cov_trace_pc_guard_init, (uint32_t * start, uint32_t *limit))
NOTHING(__sanitizer_cov_trace_pc_indir, (uintptr_t callee))
NOTHING(__sanitizer_cov_trace_switch, (uint64_t value, uint64_t *cases))
