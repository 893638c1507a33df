/* SPDX-License-Identifier: MIT
 * draw.h -- what the live views draw with, on ncurses.
 * Layer: tools/screen.  Private to this folder. */
#ifndef MW_TOOL_SCREEN_DRAW_H
#define MW_TOOL_SCREEN_DRAW_H

#include <stddef.h>
#include <stdint.h>

#define MW_REFRESH_MS 500

/* Colours. */
enum { MW_PAIR_GROWN = 1, MW_PAIR_SHRUNK };

void mw_curses_start(void);
int64_t mw_now_ms(void); /* CLOCK_MONOTONIC */

/* At most `columns` columns of a text, from `x`; what a terminal must not get is '?'. */
void mw_put(int y, int x, int columns, const char *text);
/* A number's column, right-aligned; returns where the next begins. */
int mw_put_cell(int y, int x, int width, const char *text);
/* In `buffer`, which it returns. */
const char *mw_bytes_text(double bytes, char *buffer, size_t size);

#endif
