/* SPDX-License-Identifier: MIT
 * stale.h -- removes the state files that killed processes left behind.
 * Layer: prof.  A file goes by its age, when it is not among the newest, or when those before it
 * hold enough already (options stale_*).  Work is bounded: at most 4096 names and 256 files of the
 * dead at a time.  The caller holds the control lock. */
#ifndef MW_PROF_STALE_H
#define MW_PROF_STALE_H

#include <stdint.h>

/* What is kept: the newest `files` (of forked children half of them), up to an age and a total
 * size. Before the first cleaning; without it a day, 64 and 256 MiB. */
void mw_stale_configure(uint64_t age_seconds, unsigned files, uint64_t total_bytes);
/* Cleans an open directory of state files; `own_name` is left alone. */
void mw_stale_clean(int directory, const char *own_name);

#endif
