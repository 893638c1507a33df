/* SPDX-License-Identifier: MIT
 * tags.h -- selects samples by their labels.
 * Layer: view/select.  Private to view/. */
#ifndef MW_TOOL_VIEW_SELECT_TAGS_H
#define MW_TOOL_VIEW_SELECT_TAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"
#include "model/profile.h"

typedef struct mw_tag_filter mw_tag_filter_t;

/* Makes a filter.  Each text may be NULL. "key=" before a text restricts it to labels of that
 * key.  A range of numbers ("64kb", "64kb:", ":1mb", "1kb:4kb") selects by number.  Otherwise
 * the patterns, separated by commas, must all match "key:value" of some label; with a key, one
 * of them must match its value. */
int mw_tag_filter_make(const char *focus, const char *ignore, const char *thread,
		       mw_tag_filter_t **out, mw_error_t *error);
void mw_tag_filter_free(mw_tag_filter_t *filter);
bool mw_tag_filter_keeps(const mw_tag_filter_t *filter, const mw_profile_t *profile,
			 const mw_sample_t *sample);

/* True if the profile has samples of the thread.  Otherwise `others` names some of its threads:
 * "main, worker"; "" if the profile has no threads. */
bool mw_selection_knows_thread(const mw_profile_t *profile, const char *thread, char *others,
			       size_t size);

/* Writes the names of the sample types that have values with labels of this key, with commas
 * between, or "". Returns `buffer`. */
const char *mw_tag_types(const mw_profile_t *profile, const char *key, char *buffer, size_t size);

/* Formats the label's value for people or in `unit` ("kB", ...; "minimum" and "auto" = the
 * largest that fits; NULL = for people).  Returns `buffer` or the label's text. */
const char *mw_tag_value(const mw_profile_t *profile, const mw_label_t *label, const char *unit,
			 char *buffer, size_t size);

enum { MW_TAG_BYTES = 64 };
/* As mw_tag_value(), but in a unit that fits if the value would be 0 in `unit`. */
const char *mw_tag_text(const mw_profile_t *profile, const mw_label_t *label, const char *unit,
			char buffer[MW_TAG_BYTES]);

/* tagshow and taghide: removes labels whose key does not match `show` or matches `hide`. */
int mw_tags_keep(mw_profile_t *profile, const char *show, const char *hide, mw_error_t *error);

/* tagroot and tagleaf: adds the values of labels as frames at both ends of each stack.  `root`
 * and `leaf` are keys, separated by commas.  The first key of `root` becomes the outermost
 * frame, the last key of `leaf` the innermost. */
void mw_tags_to_frames(mw_profile_t *profile, const char *root, const char *leaf, const char *unit);

#endif
