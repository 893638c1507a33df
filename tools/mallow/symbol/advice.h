/* SPDX-License-Identifier: MIT
 * advice.h -- what to do about functions without names.
 * Layer: tools/symbol.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_ADVICE_H
#define MW_TOOL_SYMBOL_ADVICE_H

#include "symbol/symbolize.h"
#include "symbol/worker.h"

/* One note for all files that could be read but have no debug information, where that leaves
 * functions without names. */
void mw_symbol_advice(const mw_profile_t *profile, const mw_symbol_job_t *jobs, size_t job_count,
		      const mw_symbolize_options_t *options);

#endif
