/* SPDX-License-Identifier: MIT
 * selection.h -- selects the part of a profile that is shown: pprof's focus, ignore, hide and
 * other options.
 * Layer: view/select.  The folder's door. selection.c applies the options in pprof's order with
 * pattern.h (regular expressions), tags.h (labels) and source_paths.h. drop_frames.h and
 * wrappers.h remove the allocator's and wrappers' frames before any option applies. */
#ifndef MW_TOOL_VIEW_SELECT_SELECTION_H
#define MW_TOOL_VIEW_SELECT_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"
#include "view/select/pattern.h"

/* Meaning of one row, node or frame. */
typedef enum mw_granularity {
	MW_BY_FUNCTION,
	MW_BY_FILE_FUNCTION,
	MW_BY_FILE,
	MW_BY_LINE,
	MW_BY_ADDRESS,
} mw_granularity_t;

/* A zeroed selection selects everything.  Patterns match names of functions, source files and
 * modules. */
typedef struct mw_selection {
	const char *focus;  /* keeps only stacks that match */
	const char *ignore; /* removes stacks that match */
	const char *hide;   /* removes frames that match */
	const char *show;   /* removes frames that do not match */
	/* Stacks begin at the outermost match; stacks without a match are removed. */
	const char *show_from;
	const char *prune_from; /* stacks end at the match: its callees are removed */
	const char *retain;     /* removes frames whose function does not match */
	const char *exclude;    /* removes frames whose function matches */
	const char *tag_focus;  /* "key=value", "value", "16kb:64kb" */
	const char *tag_ignore;
	const char *thread;   /* id or name; "*" = all */
	const char *tag_show; /* removes labels whose key does not match */
	const char *tag_hide; /* removes labels whose key matches */
	const char *tag_root; /* keys whose values become outermost frames */
	const char *tag_leaf; /* keys whose values become innermost frames */
	const char *unit;     /* unit of numbers in these frames; NULL = a unit that fits */
	/* Prefixes to remove from names of source files, separated by ':'. */
	const char *trim_path;
	/* Directories; a name is cut after the first directory that contains it. */
	const char *source_path;
	/* Adds inlined functions to the function that they were inlined into. */
	bool no_inlines;
} mw_selection_t;

/* Checks that all patterns are valid, before a profile is read.  Returns 0, or -1 with `error`
 * filled in. */
int mw_selection_check(const mw_selection_t *selection, mw_error_t *error);

/* Applies the selection to `profile` in place. */
int mw_selection_apply(mw_profile_t *profile, const mw_selection_t *selection, mw_error_t *error);

/* As mw_selection_apply().  `*boundary` is a number of samples counted from the first; it
 * becomes the number of them that are left. */
int mw_selection_apply_split(mw_profile_t *profile, const mw_selection_t *selection,
			     size_t *boundary, mw_error_t *error);

/* True if --focus with this pattern keeps stacks with this location.  The pattern is searched in
 * its functions, inlined ones included, their files, and the module. */
bool mw_location_matches(const mw_profile_t *profile, uint32_t location,
			 const mw_pattern_t *pattern);

#endif
