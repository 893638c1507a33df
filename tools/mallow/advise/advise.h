/* SPDX-License-Identifier: MIT
 * advise.h -- findings about a program's use of memory, each with a number.
 * Layer: advise.  The folder's door. facts.h holds what is looked at, kinds.def the kinds of
 * findings, growers.def the functions that copy what they make larger; time_findings.c,
 * memory_findings.c and process_findings.c hold the detectors: functions of the facts alone. */
#ifndef MW_TOOL_ADVISE_ADVISE_H
#define MW_TOOL_ADVISE_ADVISE_H

#include "advise/facts.h"

typedef struct mw_finding {
	mw_finding_kind_t kind;
	char *function;         /* NULL: of no single function */
	double share;           /* of what the kind's row says; at least 0.01 */
	int64_t bytes, objects; /* what is lost, kept, copied or freed */
	char *text;             /* a sentence with the numbers */
} mw_finding_t;

typedef struct mw_findings {
	mw_finding_t *all; /* the largest share first */
	size_t count, capacity;
} mw_findings_t;

/* Appends all findings.  `findings` is zeroed, or was filled in before.  The caller calls
 * mw_findings_free(). */
void mw_advise(const mw_facts_t *facts, mw_findings_t *findings);
void mw_findings_free(mw_findings_t *findings);

/* The detectors: each appends the findings of one kind. */
typedef void mw_detector_t(const mw_facts_t *facts, mw_findings_t *findings);
#define MW_FINDING(name, title, of, command) mw_detector_t mw_detect_##name;
#include "advise/kinds.def"
#undef MW_FINDING

const char *mw_finding_name(mw_finding_kind_t kind);
const char *mw_finding_kind_title(mw_finding_kind_t kind);
/* Returns what the share is of: "of CPU time, estimated". */
const char *mw_finding_of(mw_finding_kind_t kind, const mw_facts_t *facts);
/* Returns the command that shows more, for a shell.  The caller frees it. */
char *mw_finding_command(const mw_finding_t *finding, const char *target);

#endif
