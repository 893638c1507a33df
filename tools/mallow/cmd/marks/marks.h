/* SPDX-License-Identifier: MIT
 * marks.h -- saved profiles of a process to compare with: `mallow mark`, --since, --alive-at.
 * Layer: cmd/marks.  The folder's door. moments.h reads the options that name a time of the past.
 * A mark is a profile.proto without names in $XDG_CACHE_HOME/mallow/marks (or
 * ~/.cache).  A process has at most 16 marks; a mark is kept for at most a week. */
#ifndef MW_TOOL_CMD_MARKS_MARKS_H
#define MW_TOOL_CMD_MARKS_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/state/state_file.h"
#include "model/error.h"
#include "model/profile.h"

enum { MW_MARK_NAME_BYTES = 40 };

typedef struct mw_mark_file {
	char *path;
	int64_t time_ns; /* CLOCK_REALTIME */
	char name[MW_MARK_NAME_BYTES];
} mw_mark_file_t;

/* True if the name has only letters, digits, '-' and '_', and at least one letter, so that it is
 * neither a time nor a duration. */
bool mw_mark_name_is_good(const char *name);

/* Saves the profile as a mark of the snapshot's process.  `name` may be "". */
int mw_mark_write(const mw_snapshot_t *snapshot, const char *name, const mw_profile_t *profile,
		  mw_error_t *error);

/* Returns the marks of the snapshot's process, ordered by time.  The caller frees them with
 * mw_marks_free(). */
mw_mark_file_t *mw_marks_of(const mw_snapshot_t *snapshot, size_t *count);
void mw_marks_free(mw_mark_file_t *marks, size_t count);

/* Finds the mark that WHEN of `option` ("since") names, of a live process or state file: the
 * newest mark of that name.  If WHEN is a time, the nearest mark, if it is at most 2 s plus a
 * tenth of the elapsed time away.  The caller frees *path; NULL = there is no such mark, only
 * the time. */
int mw_mark_find(const char *target, const char *option, const char *when, char **path,
		 int64_t *time_ns, mw_error_t *error);

#endif
