/* SPDX-License-Identifier: MIT
 * json.h -- writes JSON row by row, because a view may have millions of rows.
 * Layer: view/common.  Private to view/. doc/reference/json.md describes the objects. */
#ifndef MW_TOOL_VIEW_COMMON_JSON_H
#define MW_TOOL_VIEW_COMMON_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "view/common/view.h"

/* Deepest nesting of objects and lists. */
enum { MW_JSON_DEPTH_MAX = 8 };

typedef struct mw_json {
	FILE *out;
	unsigned depth;
	char closers[MW_JSON_DEPTH_MAX];
	bool has_member[MW_JSON_DEPTH_MAX];
} mw_json_t;

/* Writes a string with quotes.  Bytes that are not UTF-8 and characters that change the order of a
 * line become '?'.  Control characters and '<' are escaped, because the text may stand in an HTML
 * script. */
void mw_view_json_text(FILE *out, const char *text);

/* Opens an object or list.  `key` is NULL inside lists; `opener` is '{' or '['. */
void mw_json_open(mw_json_t *json, const char *key, char opener);
void mw_json_close(mw_json_t *json);
void mw_json_add_text(mw_json_t *json, const char *key, const char *text);
void mw_json_add_number(mw_json_t *json, const char *key, int64_t number);
void mw_json_add_real(mw_json_t *json, const char *key, double number);
/* Written as a text, "0x1f". */
void mw_json_add_hex(mw_json_t *json, const char *key, uint64_t number);
/* Writes the member only if it is true. */
void mw_json_add_flag(mw_json_t *json, const char *key, bool is_set);

/* Opens the object of a view and writes the members that all views have. */
void mw_json_begin(mw_json_t *json, const mw_view_t *view);
/* Closes everything that is open. */
void mw_json_end(mw_json_t *json);

/* Writes the label's key, and its text or its number with unit, as members. */
void mw_json_add_label(mw_json_t *json, const mw_profile_t *profile, const mw_label_t *label);

/* Writes the list "labels" of a sample. */
void mw_json_add_labels(mw_json_t *json, const mw_profile_t *profile, const mw_sample_t *sample);

#endif
