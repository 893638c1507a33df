/* SPDX-License-Identifier: MIT
 * draw.h -- what the live views draw with, on ncurses.
 * Layer: tools/screen.  Private to this folder. */
#ifndef MW_TOOL_SCREEN_DRAW_H
#define MW_TOOL_SCREEN_DRAW_H

#include <stddef.h>
#include <stdint.h>

#define MW_REFRESH_MS 500
/* A look that costs more than a hundredth of that makes the next one wait, so that a view takes 1 %
 * of a core; but no longer than this. */
#define MW_REFRESH_MOST_MS 5000

/* Colours. */
enum { MW_PAIR_GROWN = 1, MW_PAIR_SHRUNK };

void mw_curses_start(void);
int64_t mw_now_ms(void); /* CLOCK_MONOTONIC */
/* Processor time of this process. */
int64_t mw_cpu_us(void);
/* When to look again after a look that took so much processor time; as mw_now_ms(). */
int64_t mw_next_look_ms(int64_t cost_us);

/* At most `columns` columns of a text, from `x`; what a terminal must not get is '?'. */
void mw_put(int y, int x, int columns, const char *text);
/* The same without the text's first `skipped` characters. */
void mw_put_from(int y, int x, int columns, const char *text, size_t skipped);
/* Bytes that were added or went, with their sign and colour; nothing for 0.  As mw_put_cell(). */
int mw_put_growth(int y, int x, int width, double bytes);
/* A number's column, right-aligned; returns where the next begins. */
int mw_put_cell(int y, int x, int width, const char *text);
/* In `buffer`, which it returns. */
const char *mw_bytes_text(double bytes, char *buffer, size_t size);

#endif
