/* SPDX-License-Identifier: MIT
 * detect.h -- what the detectors share.
 * Layer: advise.  Private to this folder. */
#ifndef MW_TOOL_ADVISE_DETECT_H
#define MW_TOOL_ADVISE_DETECT_H

#include "advise/advise.h"
#include "base/compiler.h"

/* Least share that is worth a sentence, and least bytes of memory. */
#define MW_FINDING_SHARE_MIN 0.01
#define MW_FINDING_BYTES_MIN ((int64_t)1 << 20)

/* Appends a finding; `function` NULL: of none.  A share below the least is not added. */
void mw_finding_add(mw_findings_t *findings, const mw_finding_t *finding, const char *format, ...)
	MW_PRINTF(3, 4);

/* Returns whether so many samples tell something about the objects that they stand for: a few
 * samples of small blocks may be there by chance. */
static inline bool mw_fact_is_certain(int64_t samples, int64_t objects) {
	return samples >= 8 || objects <= 2 * samples;
}

static inline double mw_fact_share(int64_t bytes, int64_t whole) {
	return whole > 0 ? (double)bytes / (double)whole : 0;
}

/* Returns the resident memory, or if that is not known the memory in use. */
int64_t mw_fact_memory(const mw_facts_t *facts);

/* Texts of numbers, for a sentence: each call uses the next of a few buffers. */
const char *mw_say_bytes(int64_t bytes);
const char *mw_say_count(int64_t count);
const char *mw_say_time(int64_t ns);
/* "34 %", "2.1 %" */
const char *mw_say_share(double part, double whole);

#endif
