/* SPDX-License-Identifier: MIT
 * state_file.h -- creates, names and removes the state file, which holds the published copy.
 * Layer: prof/store. Tries <dir>/mallow-<uid>/<pid>.<start_ticks>.<pid_namespace> in /dev/shm,
 * then in $XDG_RUNTIME_DIR, then a memfd, which has no name. A directory that other users may
 * write to, or that is a symlink, is passed over. The caller holds the control lock. */
#ifndef MW_PROF_STORE_STATE_FILE_H
#define MW_PROF_STORE_STATE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* At start-up: copies what later calls need of the environment. */
void mw_state_file_configure(const char *session, const char *unused_options);
/* Fills in what the header says of the process.  Without the lock, by who writes a dump before
 * there is a file: the values are the same. */
void mw_state_file_describe(void);
/* Creates and attaches a file.  `freeze` and `thaw`: see mw_published_attach(). */
mw_result_t mw_state_file_create(void (*freeze)(void), void (*thaw)(void));
/* Returns whether nobody but root has ever been able to open this process's file: root's process
 * made it, or one that may do more than its user, whose file has no name. */
bool mw_state_file_is_roots(void);
/* Called while mw_published_is_full(): completes the copy, at the cost of files of dead processes,
 * the oldest first. If there is still too little room, the next call is due after 1, 2, 4, ...
 * 64 s. `freeze` and `thaw`: see mw_published_attach(). */
void mw_state_file_complete(void (*freeze)(void), void (*thaw)(void));
/* Without the lock. */
bool mw_state_file_completion_is_due(void);
/* Removes the file's name, if this process made it. */
void mw_state_file_remove(void);
/* In the child of a fork: the name so far is the parent's. */
void mw_state_file_forked(uint32_t parent_pid);

#ifdef MW_TESTING
/* Stands for /dev/shm; NULL: /dev/shm again. */
void mw_state_file_set_root(const char *root);
#endif

#endif
