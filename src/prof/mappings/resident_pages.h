/* SPDX-License-Identifier: MIT
 * resident_pages.h -- counts how much of the heap is resident when the process has most memory, for
 * tools that look after its end. The result is in the last rows of the statistics.
 * Layer: prof/mappings. */
#ifndef MW_PROF_MAPPINGS_RESIDENT_PAGES_H
#define MW_PROF_MAPPINGS_RESIDENT_PAGES_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether the last tick found more resident memory than there was at the last count, by
 * 1/32; with `at_end`, whether it found more at all. */
bool mw_resident_pages_are_due(bool at_end);
/* Counts the resident pages of the last heap walk's ranges. `ranges`, `classes`: entries that the
 * walk found. No walk may run meanwhile. Nothing changes where /proc/self/pagemap cannot be read.
 */
void mw_resident_pages_count(uint64_t ranges, uint64_t classes);
/* Stores the most resident memory by the kernel's own count. */
void mw_resident_pages_end(void);
/* Forgets the parent's counts in the child of a fork. The profiler has tables. */
void mw_resident_pages_forked(void);

#endif
