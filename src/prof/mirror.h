/* SPDX-License-Identifier: MIT
 * mirror.h -- the shared mapping of the state file: written, never read back.
 * Layer: prof.  Its blocks are reserved before they are touched; when the file system has no more,
 * the mirror stops growing (MW_STATE_FILE_FULL) and the profile goes on in the image alone.  The
 * mapping's address lies in a page that the kernel wipes in the child of any fork, also one made
 * without the library's handlers: a child cannot write into its parent's file. */
#ifndef MW_PROF_MIRROR_H
#define MW_PROF_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "state/layout.h"

/* A file that was just created and is still empty.  `path` is NULL for one without a name. */
typedef struct mw_mirror_file {
	int file;
	const char *path;
	uint64_t device, inode; /* of the path, to know it again */
} mw_mirror_file_t;

/* Sizes, maps and fills the file from the image, its magic last, and publishes it: from then on
 * twins have a second side.  The caller holds the control lock; `freeze` and `thaw` are called
 * around the copying, during which nobody may write to the image. */
mw_result_t mw_mirror_attach(const mw_mirror_file_t *target, void (*freeze)(void),
			     void (*thaw)(void));
/* In the child of a fork: lets go of the parent's file. */
void mw_mirror_drop(void);
bool mw_mirror_exists(void);
/* True in a child that was forked without the library's handlers. */
bool mw_mirror_was_wiped(void);

/* Makes the first `bytes` of a section writable, if the file system agrees. */
void mw_mirror_reach(mw_state_section_id_t section, uint64_t bytes);
/* Widens a section's window with the image's; with the gate closed. */
void mw_mirror_widen(mw_state_section_id_t section, uint64_t bytes);
/* `bytes` at `start` of a section; NULL when they are not mirrored. */
char *mw_mirror_range(mw_state_section_id_t section, uint64_t start, uint64_t bytes);

#endif
