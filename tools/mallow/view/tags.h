/* SPDX-License-Identifier: MIT
 * tags.h -- chooses samples by their labels.
 * Layer: tools/view.  Private to this folder. */
#ifndef MW_TOOL_VIEW_TAGS_H
#define MW_TOOL_VIEW_TAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"
#include "model/profile.h"

typedef struct mw_tag_filter mw_tag_filter_t;

/* Each text may be NULL.  "key=" before a text restricts it to the labels of that key.  A range of
 * numbers ("64kb", "64kb:", ":1mb", "1kb:4kb") chooses by number; else the comma-separated patterns
 * must all match "key:value" of some label (with a key: one must match its value). */
int mw_tag_filter_make(const char *focus, const char *ignore, const char *thread,
		       mw_tag_filter_t **out, mw_error_t *error);
void mw_tag_filter_free(mw_tag_filter_t *filter);
bool mw_tag_filter_keeps(const mw_tag_filter_t *filter, const mw_profile_t *profile,
			 const mw_sample_t *sample);

/* The label's value as people read it, or in `unit` ("kB", ...; "minimum" and "auto": the largest
 * that fits; NULL: for people).  Returns `buffer`, or the label's text. */
const char *mw_tag_value(const mw_profile_t *profile, const mw_label_t *label, const char *unit,
			 char *buffer, size_t size);

enum { MW_TAG_BYTES = 64 };
/* The same, and where nothing would be left of it in that unit, in one that fits. */
const char *mw_tag_text(const mw_profile_t *profile, const mw_label_t *label, const char *unit,
			char buffer[MW_TAG_BYTES]);

/* tagshow, taghide: leaves out the labels whose key does not match, or does. */
int mw_tags_keep(mw_profile_t *profile, const char *show, const char *hide, mw_error_t *error);

/* tagroot, tagleaf: the values of labels as frames around each stack, of the keys between commas;
 * the first key of `root` is the outermost frame, the last one of `leaf` the innermost. */
void mw_tags_to_frames(mw_profile_t *profile, const char *root, const char *leaf, const char *unit);

#endif
