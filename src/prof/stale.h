/* SPDX-License-Identifier: MIT
 * stale.h -- removes the state files that killed processes left behind.
 * Layer: prof.  A file stays until it is a day old, and while it is among the newest 64 or as long
 * as all together hold less than 256 MiB.  Work is bounded: at most 256 names at a time.  The
 * caller holds the control lock. */
#ifndef MW_PROF_STALE_H
#define MW_PROF_STALE_H

/* Cleans an open directory of state files; `own_name` is left alone. */
void mw_stale_clean(int directory, const char *own_name);

#endif
