/* SPDX-License-Identifier: MIT
 * json.h -- JSON, written as it comes: a view may have millions of rows.
 * Layer: tools/view.  Private to this folder.  What the objects hold: doc/json.md. */
#ifndef MW_TOOL_VIEW_JSON_H
#define MW_TOOL_VIEW_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "view/view.h"

/* Objects and lists within each other. */
enum { MW_JSON_DEPTH_MAX = 8 };

typedef struct mw_json {
	FILE *out;
	unsigned depth;
	char closers[MW_JSON_DEPTH_MAX];
	bool has_member[MW_JSON_DEPTH_MAX];
} mw_json_t;

/* The length of the UTF-8 character at `text`, or 0: it is none. */
size_t mw_utf8_length(const char *text);

/* A string, quotes included.  Bytes that are not UTF-8 become '?', '<' an escape (the text may
 * stand in an HTML script). */
void mw_view_json_text(FILE *out, const char *text);

/* `key` is NULL within lists.  `opener` is '{' or '['. */
void mw_json_open(mw_json_t *json, const char *key, char opener);
void mw_json_close(mw_json_t *json);
void mw_json_add_text(mw_json_t *json, const char *key, const char *text);
void mw_json_add_number(mw_json_t *json, const char *key, int64_t number);
void mw_json_add_hex(mw_json_t *json, const char *key, uint64_t number); /* a text, "0x1f" */
/* Only what is true is written. */
void mw_json_add_flag(mw_json_t *json, const char *key, bool is_set);

/* Opens the object of a view with the members that all of them have. */
void mw_json_begin(mw_json_t *json, const mw_view_t *view);
/* Closes all that is open. */
void mw_json_end(mw_json_t *json);

/* Members: the label's key, its text or its number with unit. */
void mw_json_add_label(mw_json_t *json, const mw_profile_t *profile, const mw_label_t *label);

/* The list "labels" of a sample. */
void mw_json_add_labels(mw_json_t *json, const mw_profile_t *profile, const mw_sample_t *sample);

#endif
