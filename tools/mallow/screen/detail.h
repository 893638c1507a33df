/* SPDX-License-Identifier: MIT
 * detail.h -- the opened row of the live view: its largest stack with source lines, and its
 * history.
 * Layer: screen.  Private to this folder. */
#ifndef MW_TOOL_SCREEN_DETAIL_H
#define MW_TOOL_SCREEN_DETAIL_H

#include "screen/watch.h"

typedef struct mw_detail {
	char *text;   /* text of the row; NULL = no row is open */
	char **lines; /* frames "function  file.c:12", the allocating function first */
	size_t line_count, capacity;
	int first; /* first frame that is shown */
	bool is_cpu;
} mw_detail_t;

/* Opens the row with this text, with the data of the watch's last update. */
void mw_detail_open(mw_detail_t *detail, const mw_watch_t *watch, const char *text);
void mw_detail_close(mw_detail_t *detail);

/* Draws `height` lines from the line `top` on.  `row` has the values; NULL = the row no longer
 * exists. */
void mw_detail_draw(mw_detail_t *detail, const mw_live_row_t *row, int top, int height,
		    bool has_utf8);

#endif
