/* SPDX-License-Identifier: MIT
 * attach_probes.h -- loads the programs and attaches them to the functions of a process.
 * Layer: live/outside. */
#ifndef MW_TOOL_LIVE_OUTSIDE_ATTACH_PROBES_H
#define MW_TOOL_LIVE_OUTSIDE_ATTACH_PROBES_H

#include "live/bpf/programs.h"
#include "live/bpf/uprobes.h"
#include "live/outside/code/allocator_functions.h"
#include "live/outside/code/mapped_code.h"
#include "model/error.h"

/* Attaches the programs that sample.  The caller detaches `probes` after an error, too. */
int mw_outside_probe(mw_uprobes_t *probes, const mw_probe_plan_t *plan,
		     const mw_outside_functions_t *functions, const mw_outside_modules_t *modules,
		     int pid, mw_error_t *error);

/* Attaches programs that count calls only, and do nothing else. */
int mw_outside_count(mw_uprobes_t *probes, const mw_probe_plan_t *plan,
		     const mw_outside_functions_t *functions, const mw_outside_modules_t *modules,
		     int pid, mw_error_t *error);

#endif
