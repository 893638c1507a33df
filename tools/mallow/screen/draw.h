/* SPDX-License-Identifier: MIT
 * draw.h -- drawing functions of the live views, on ncurses.
 * Layer: screen.  Private to this folder. */
#ifndef MW_TOOL_SCREEN_DRAW_H
#define MW_TOOL_SCREEN_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"

#define MW_REFRESH_MS 500
/* Longest time between two updates.  The time is longer than MW_REFRESH_MS if an update takes
 * more than a hundredth of it, so that a view takes 1 % of a core. */
#define MW_REFRESH_MOST_MS 5000

/* Colour pairs. */
enum { MW_PAIR_GROWN = 1, MW_PAIR_SHRUNK };

/* Loads ncurses and takes the terminal over.  0, or -1 with `error` set; then the functions below
 * that draw may not be called. */
int mw_curses_start(mw_error_t *error);
/* Gives the terminal back. */
void mw_curses_end(void);
int mw_columns(void); /* of the terminal */
int mw_lines(void);
/* Text that is drawn between them has the attributes, such as A_BOLD. */
void mw_attributes_on(unsigned attributes);
void mw_attributes_off(unsigned attributes);
void mw_screen_clear(void);
void mw_screen_show(void); /* what was drawn since mw_screen_clear() */
/* Waits for a key for `wait_ms` at most.  Returns its character or KEY_ number; ERR: none came. */
int mw_read_key(int64_t wait_ms);

int64_t mw_now_ms(void); /* CLOCK_MONOTONIC in milliseconds */
/* Returns the processor time of this process in microseconds. */
int64_t mw_cpu_us(void);
/* Returns the time of the next update (mw_now_ms()) after an update that took `cost_us`
 * microseconds of processor time. */
int64_t mw_next_refresh_ms(int64_t cost_us);

/* Returns the first row to show of a list of `count` rows, where `first` was shown first before:
 * the chosen row is visible, and no row is hidden while rows of the screen are empty. */
int mw_first_row(int first, int chosen, int height, size_t count);
/* Fills a line with blanks. */
void mw_put_bar(int y);
/* Reverses the colours of a line that is drawn. */
void mw_reverse_row(int y);
/* Draws at most `columns` columns of a text from `x`.  Unsafe characters become '?'. */
void mw_put(int y, int x, int columns, const char *text);
/* As mw_put(), without the first `skipped` characters of the text. */
void mw_put_from(int y, int x, int columns, const char *text, size_t skipped);
/* Draws a growth in bytes with sign and colour; nothing for 0.  Arguments and result as for
 * mw_put_cell(). */
int mw_put_growth(int y, int x, int width, double bytes);
/* Draws a number right-aligned in its column.  Returns the start of the next column. */
int mw_put_cell(int y, int x, int width, const char *text);
/* Draws the last `columns` values as a line of bars, the newest at the right. */
void mw_put_history(int y, int x, int columns, const int64_t *points, size_t count, bool has_utf8);
/* Formats bytes into `buffer` and returns it. */
const char *mw_bytes_text(double bytes, char *buffer, size_t size);

#endif
