/* SPDX-License-Identifier: MIT
 * picture.h -- what the name of an output file asks for.
 * Layer: cmd. */
#ifndef MW_CMD_PICTURE_H
#define MW_CMD_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"

typedef struct mw_picture mw_picture_t;

/* What the name asks for when `view` was asked for; NULL: plain text.  The others take NULL. */
const mw_picture_t *mw_picture_find(const char *path, const char *view);
/* By the ending alone, without the dot; NULL: there is no such. */
const mw_picture_t *mw_picture_of_format(const char *format, const char *view);
/* The view that makes it, or NULL: whichever was asked for. */
const char *mw_picture_view(const mw_picture_t *picture);
bool mw_picture_is_json(const mw_picture_t *picture);
/* One that the view writes as it is, without graphviz. */
bool mw_picture_is_svg(const mw_picture_t *picture);
bool mw_picture_is_profile(const mw_picture_t *picture);

/* Writes a view's text to a file, through graphviz's dot where it is a picture. */
int mw_picture_write(const mw_picture_t *picture, const char *path, const char *text, size_t length,
		     mw_error_t *error);

#endif
