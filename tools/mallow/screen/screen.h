/* SPDX-License-Identifier: MIT
 * screen.h -- the full-screen views of one live process, and of all.
 * Layer: tools/screen.  Twice a second the state file is read and drawn; the process itself is
 * asked nothing but what the keys order (sampling on and off, the rate). */
#ifndef MW_TOOL_SCREEN_SCREEN_H
#define MW_TOOL_SCREEN_SCREEN_H

#include "live/target.h"
#include "model/error.h"
#include "symbol/symbolize.h"

/* Returns when the user quits.  -1: the terminal or the first look at the process failed. */
int mw_screen_run(const mw_target_t *target, const mw_symbolize_options_t *symbols,
		  mw_error_t *error);

/* Lists all live processes with mallow; Enter shows one of them. */
void mw_screen_run_all(const mw_symbolize_options_t *symbols);

#endif
