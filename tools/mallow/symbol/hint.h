/* SPDX-License-Identifier: MIT
 * hint.h -- says how to get the names of functions that have none.
 * Layer: symbol.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_HINT_H
#define MW_TOOL_SYMBOL_HINT_H

#include "symbol/files/symbol_options.h"
#include "symbol/workers/worker.h"

/* Writes one note for all files that were read, have no debug information, and have functions
 * without names. */
void mw_symbol_hint(const mw_profile_t *profile, const mw_symbol_job_t *jobs, size_t job_count,
		    const mw_symbolize_options_t *options);

#endif
