/* SPDX-License-Identifier: MIT
 * resident_text.h -- says in one sentence what resident memory is used for: the words of all views.
 * Layer: report/text. */
#ifndef MW_TOOL_REPORT_TEXT_RESIDENT_TEXT_H
#define MW_TOOL_REPORT_TEXT_RESIDENT_TEXT_H

#include <stdio.h>

#include "model/profile.h"

enum { MW_RESIDENT_TEXT_BYTES = 768 };

/* Formats "resident 190 MiB at the peak: 8.99 MiB from malloc (5 %), 153 MiB mapped by the program
 * itself (81 %), 27.4 MiB of files (14 %)". Parts below 1 % are left out, except malloc.  If much
 * of what is in use was never touched, says so.  `arenas`: see mw_arenas_of(); NULL = none. Returns
 * `buffer`; "" if the memory is not known. */
const char *mw_resident_text(const mw_resident_t *resident, const char *arenas,
			     char buffer[MW_RESIDENT_TEXT_BYTES]);
/* Returns the bytes of the sentence that go into a line of this width. */
size_t mw_resident_line(const char *sentence, size_t width);
/* Prints a sentence in lines of at most `columns` columns (0 = 80), the first one after `first`,
 * the others after `next`. */
void mw_resident_print(FILE *out, const char *sentence, int columns, const char *first,
		       const char *next);

/* Returns the name of a part for JSON, and in words. */
const char *mw_resident_part_name(mw_resident_part_t part);
const char *mw_resident_part_text(mw_resident_part_t part);

/* Returns what an interpreter or runtime with a memory of its own maps ("pymalloc's arenas"), by
 * the path of its program or library; NULL = nothing that is known. */
const char *mw_arenas_of(const char *path);
/* Returns the result of mw_arenas_of() for the program of a profile, or for the first of its files
 * that has one; NULL = none has. */
const char *mw_arenas_of_profile(const mw_profile_t *profile);
/* Returns what to set in the environment so that malloc serves what else lies in `arenas`, a result
 * of mw_arenas_of(); "" = nothing does. */
const char *mw_arenas_variable(const char *arenas);

/* Returns whether a part that the program mapped itself is so large that one asks who did. */
bool mw_resident_asks_who_mapped(const mw_resident_t *resident);

#endif
