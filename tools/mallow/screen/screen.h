/* SPDX-License-Identifier: MIT
 * screen.h -- full-screen views of one live process and of all processes.
 * Layer: screen.  The folder's door. watch.h reads the process, rows.h adds up, live_names.h
 * looks names up, detail.h shows one row, screen.c and processes.c draw with draw.h.  The state
 * file is read and drawn twice a second.  The process gets a request only for a key that asks
 * for one: sampling on and off, the rate. */
#ifndef MW_TOOL_SCREEN_SCREEN_H
#define MW_TOOL_SCREEN_SCREEN_H

#include <stdbool.h>

#include "live/target.h"
#include "model/error.h"
#include "symbol/symbolize.h"

/* Shows one process; returns when the user quits. -1: the terminal or the first read of the
 * process failed.  `is_cpu`: CPU time instead of memory. */
int mw_screen_run(const mw_target_t *target, const mw_symbolize_options_t *symbols, bool is_cpu,
		  mw_error_t *error);

/* Lists all live processes that use mallow.  Enter shows one of them.  -1: the terminal failed. */
int mw_screen_run_all(const mw_symbolize_options_t *symbols, mw_error_t *error);

#endif
