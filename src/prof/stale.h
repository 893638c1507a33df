/* SPDX-License-Identifier: MIT
 * stale.h -- removes the state files that killed processes left behind.
 * Layer: prof.  A file goes when it is a day old, when it is not among the newest 64 (of forked
 * children: 32), or when those before it hold 256 MiB already.  Work is bounded: at most 4096 names
 * and 256 files of the dead at a time.  The caller holds the control lock. */
#ifndef MW_PROF_STALE_H
#define MW_PROF_STALE_H

/* Cleans an open directory of state files; `own_name` is left alone. */
void mw_stale_clean(int directory, const char *own_name);

#endif
