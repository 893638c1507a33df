/* SPDX-License-Identifier: MIT
 * cleanup.h -- removes state files of killed processes.
 * Layer: prof/store. The file of a live process has a lock (state/layout.h) and is kept, in every
 * pid namespace. Another file is removed if it is too old, if it is not among the newest, or if the
 * newer ones take too much memory: the option stale_bytes, or a quarter of the file system. One
 * call handles at most 4096 names and 256 files of dead processes. The caller holds the control
 * lock. */
#ifndef MW_PROF_STORE_CLEANUP_H
#define MW_PROF_STORE_CLEANUP_H

#include <stdbool.h>
#include <stdint.h>

/* Sets the limits: at most `files` files (half as many of forked children), up to an age and a
 * total size. Called before the first cleanup. Defaults: a day, 64 files, 256 MiB. */
void mw_cleanup_configure(uint64_t age_seconds, unsigned files, uint64_t total_bytes);
/* Returns whether a live process holds the file of this name. */
bool mw_cleanup_is_held(int directory, const char *name);
/* Cleans an open directory of state files; keeps `own_name`. */
void mw_cleanup_run(int directory, const char *own_name);
/* Called when the file system is full: removes the files of dead processes that were updated first,
 * until those removed held `bytes`. Returns the number of removed files. */
unsigned mw_cleanup_make_room(int directory, const char *own_name, uint64_t bytes);

#endif
