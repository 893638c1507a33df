/* SPDX-License-Identifier: MIT
 * memory_cost.h -- what memory costs in CPU time: the time in malloc(), free() and page faults by
 * the function that called them or accessed memory, beside what the function allocated and how long
 * its objects lived. Layer: view/table. */
#ifndef MW_TOOL_VIEW_TABLE_MEMORY_COST_H
#define MW_TOOL_VIEW_TABLE_MEMORY_COST_H

#include <stdbool.h>
#include <stdio.h>

#include "model/profile.h"

typedef struct mw_memory_cost {
	/* Symbolized profiles of one process. cpu: with the type cpu, of some time. heap: what was
	 * allocated in that time. whole_run: with the lifetimes of the objects of the whole run. */
	mw_profile_t *cpu, *heap, *whole_run;
	double seconds;   /* the time */
	size_t row_limit; /* most rows; 0: no limit */
	bool has_faults;  /* the profile cpu has the kernel's frames */
	bool is_json;
} mw_memory_cost_t;

/* Prints a row for each function, those with most time first. */
void mw_memory_cost_print(FILE *out, const mw_memory_cost_t *cost);

#endif
