/* SPDX-License-Identifier: MIT
 * output_file.h -- chooses an output's format by the name of its file.
 * Layer: cmd/profile. */
#ifndef MW_TOOL_CMD_PROFILE_OUTPUT_FILE_H
#define MW_TOOL_CMD_PROFILE_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"

typedef struct mw_picture mw_picture_t;

/* Finds the picture for a file's name if `view` was requested; NULL = plain text.  The other
 * functions accept NULL. */
const mw_picture_t *mw_picture_find(const char *path, const char *view);
/* Finds a picture by the ending alone, without the dot; NULL = there is none. */
const mw_picture_t *mw_picture_of_format(const char *format, const char *view);
/* Returns the view that makes the picture; NULL = the requested view. */
const char *mw_picture_view(const mw_picture_t *picture);
bool mw_picture_is_json(const mw_picture_t *picture);
/* True if the view writes the picture itself, without graphviz. */
bool mw_picture_is_svg(const mw_picture_t *picture);
/* True if graphviz draws what the view writes. */
bool mw_picture_is_drawn(const mw_picture_t *picture);
bool mw_picture_is_profile(const mw_picture_t *picture);

/* Writes a view's text to a file; a picture of a graph is drawn by graphviz's dot. */
int mw_picture_write(const mw_picture_t *picture, const char *path, const char *text, size_t length,
		     mw_error_t *error);

#endif
