/* SPDX-License-Identifier: MIT
 * guard.h -- finds out what probes would cost a process, before they are attached.
 * Layer: live/outside.  A probed call takes about 1 us more, whatever the program does: much for
 * one that allocates a million times a second, nothing for most. */
#ifndef MW_TOOL_LIVE_OUTSIDE_GUARD_H
#define MW_TOOL_LIVE_OUTSIDE_GUARD_H

#include <stdint.h>

#include "live/outside/attach_probes.h"

/* Largest share of a process's CPU time that probes take without --force. */
#define MW_OUTSIDE_SHARE_MAX 0.05
/* What costs less of one processor is never refused: an idle process has little CPU time. */
#define MW_OUTSIDE_LOAD_MIN 0.001

typedef struct mw_outside_cost {
	double call_ns, free_ns; /* of one probe, on average over the functions that are called */
	double calls_per_second; /* of all functions that are probed */
	double load;             /* time that the probes take, in processors */
	double share;            /* the same, as a share of the process's own CPU time */
} mw_outside_cost_t;

/* Measures what a hit costs, with probes in this process, and counts the calls of the other one for
 * a quarter of a second.  `plan` has maps of its own: what is in them afterwards means nothing. */
int mw_outside_cost_measure(const mw_probe_plan_t *plan, const mw_outside_functions_t *functions,
			    const mw_outside_modules_t *modules, int pid, mw_outside_cost_t *out,
			    mw_error_t *error);

/* Nanoseconds of CPU time of all threads of a process; 0: it has ended. */
uint64_t mw_outside_cpu_ns(int pid);
/* Fills in load and share, of a time in which the process took `cpu_ns` with probes that took
 * `probes_ns`. */
void mw_outside_cost_share(mw_outside_cost_t *cost, double wall_ns, double cpu_ns,
			   double probes_ns);
/* Whether that is too much without --force. */
bool mw_outside_cost_is_high(const mw_outside_cost_t *cost);

#endif
