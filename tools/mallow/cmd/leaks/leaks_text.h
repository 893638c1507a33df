/* SPDX-License-Identifier: MIT
 * leaks_text.h -- prints the result of a leak check.
 * Layer: cmd/leaks.  For `mallow run`, too. */
#ifndef MW_TOOL_CMD_LEAKS_LEAKS_TEXT_H
#define MW_TOOL_CMD_LEAKS_LEAKS_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "check/suppress.h"
#include "formats/state/state_file.h"
#include "model/profile.h"
#include "report/stacks.h"
#include "state/layout.h"

/* A check and the stacks of its leaks. */
typedef struct mw_leak_report {
	const mw_state_leak_check_t *check;
	const mw_state_leak_check_t *earlier; /* with --watch; else NULL */
	const mw_profile_t *profile;          /* mw_profile_of_leaks() */
	size_t row_limit;                     /* most stacks; 0 = no limit */
	int columns;                          /* width of the terminal; 0 = none */
	/* the check's sampled leaks, of which the program may have freed some since */
	size_t sampled;
	mw_leak_estimate_t estimate;
	const mw_suppressions_t *suppressions; /* with what they removed from the profile */
} mw_leak_report_t;

/* True if something leaked that is not suppressed. */
bool mw_leaks_are_found(const mw_leak_report_t *report);

/* What the samples of one stack of the report have in their labels. */
typedef struct mw_leak_stack {
	int64_t objects[MW_LEAK_KINDS], bytes[MW_LEAK_KINDS];
	int64_t least_bytes, most_bytes; /* in 95 of 100 cases */
	int64_t below_bytes;             /* of leaked blocks that the objects lead to */
	int64_t oldest_ns, newest_ns;
	const char *peek; /* hexadecimal; "" = none */
} mw_leak_stack_t;

/* Adds up the samples of one stack. */
mw_leak_stack_t mw_leak_stack_of(const mw_profile_t *profile, const mw_stack_t *stack);

/* Prints "4.0 KiB in 2 blocks". */
void mw_leaks_print_amount(FILE *out, int64_t bytes, int64_t objects);
int mw_leaks_print_text(FILE *out, const mw_leak_report_t *report, mw_error_t *error);
/* Prints JSON on stdout.  Returns the exit status, or -1. */
int mw_leaks_print_json(const mw_leak_report_t *report, mw_error_t *error);

#endif
