/* SPDX-License-Identifier: MIT
 * selection.h -- what of a profile is to be shown: pprof's focus, ignore, hide and the others.
 * Layer: tools/view. */
#ifndef MW_TOOL_VIEW_SELECTION_H
#define MW_TOOL_VIEW_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"

/* What one row, node or frame stands for. */
typedef enum mw_granularity {
	MW_BY_FUNCTION,
	MW_BY_FILE_FUNCTION,
	MW_BY_FILE,
	MW_BY_LINE,
	MW_BY_ADDRESS,
} mw_granularity_t;

/* Zeroed selects everything.  The patterns match names of functions, source files and modules. */
typedef struct mw_selection {
	const char *focus;      /* only stacks that match */
	const char *ignore;     /* only stacks that do not */
	const char *hide;       /* frames that match are left out of the stacks */
	const char *show;       /* frames that do not match are */
	const char *show_from;  /* stacks begin at the outermost match; those without one go */
	const char *prune_from; /* stacks end at the match: its callees are left out */
	const char *retain;     /* frames whose function does not match are left out */
	const char *exclude;    /* frames whose function matches are */
	const char *tag_focus;  /* "key=value", "value", "16kb:64kb" */
	const char *tag_ignore;
	const char *thread;      /* id or name; "*": all */
	const char *tag_show;    /* labels whose key does not match are left out */
	const char *tag_hide;    /* labels whose key matches are */
	const char *tag_root;    /* keys whose values become the outermost frames */
	const char *tag_leaf;    /* likewise the innermost */
	const char *unit;        /* of numbers there; NULL: the one that fits */
	const char *trim_path;   /* beginnings of source files' names to cut off; colons between */
	const char *source_path; /* directories; a name is cut behind the first that is in it */
	bool no_inlines;         /* inlined functions count for what they were inlined into */
} mw_selection_t;

/* Whether its patterns are well-formed: to be asked before a profile is read for them. */
int mw_selection_check(const mw_selection_t *selection, mw_error_t *error);

/* Has it anything of that thread?  Else `others` names some of those that it has something of:
 * "main, worker"; "" if it tells no threads apart. */
bool mw_selection_knows_thread(const mw_profile_t *profile, const char *thread, char *others,
			       size_t size);

/* Changes `profile` in place. */
int mw_selection_apply(mw_profile_t *profile, const mw_selection_t *selection, mw_error_t *error);

/* Likewise; `boundary`, a number of samples from the first one, becomes how many of them are left.
 */
int mw_selection_apply_split(mw_profile_t *profile, const mw_selection_t *selection,
			     size_t *boundary, mw_error_t *error);

#endif
