/* SPDX-License-Identifier: MIT
 * survey.h -- where the heap's memory is, for the command to account for what is resident.
 * Layer: prof. */
#ifndef MW_PROF_SURVEY_H
#define MW_PROF_SURVEY_H

#include <stdbool.h>
#include <stddef.h>

#include "heap/stats.h"

/* Who walks the heap; NULL: nobody.  Once, before threads. */
void mw_survey_start(void (*walk)(const mw_survey_sink_t *sink));
/* Writes a new survey into the tables, which exist, if the last is old enough, or `now`.  Takes
 * the heap's locks; inside the gate. */
void mw_survey_take(bool now);
/* Has the heap grown so much, to `in_use_bytes`, that a survey should be taken now? */
bool mw_survey_is_due(size_t in_use_bytes);
/* In the child of a fork. */
void mw_survey_forked(void);

#endif
