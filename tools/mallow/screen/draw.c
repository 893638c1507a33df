/* SPDX-License-Identifier: MIT
 * draw.c -- draws texts, cells and colours of the live views. */
#include "screen/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <wchar.h>

#include "libraries/terminals.h"
#include "model/text.h"
#include "report/text/units.h"

static WINDOW *screen; /* the whole terminal */

/* Draws at most `columns` columns of a text from `x`, after skipping characters.  Unsafe
 * characters become '?'. */
void mw_put_from(int y, int x, int columns, const char *text, size_t skipped) {
	wchar_t wide[2048];
	size_t length = mbstowcs(wide, text, sizeof(wide) / sizeof(wide[0]) - 1);
	if (length == (size_t)-1) {
		for (length = 0; text[length] != '\0' && length < 2047; length++)
			wide[length] =
				(unsigned char)text[length] < 0x80 ? (wchar_t)text[length] : L'?';
	}
	wide[length] = L'\0';
	int used = 0;
	size_t first = skipped < length ? skipped : length, i = first;
	for (; i < length; i++) {
		int width = wcwidth(wide[i]);
		if (width < 0 || mw_text_is_order((uint32_t)wide[i])) {
			wide[i] = L'?';
			width = 1;
		}
		if (used + width > columns)
			break;
		used += width;
	}
	if (columns > 0 && mw_ncurses.wmove(screen, y, x) == OK)
		mw_ncurses.waddnwstr(screen, wide + first, (int)(i - first));
}

int mw_first_row(int first, int chosen, int height, size_t count) {
	int last = (int)count - height;
	if (first <= chosen - height)
		first = chosen - height + 1;
	if (first > last)
		first = last;
	if (first > chosen)
		first = chosen;
	return first > 0 ? first : 0;
}

void mw_put_bar(int y) {
	if (mw_ncurses.wmove(screen, y, 0) == OK)
		mw_ncurses.whline(screen, ' ', mw_columns());
}

void mw_reverse_row(int y) {
	if (mw_ncurses.wmove(screen, y, 0) == OK)
		mw_ncurses.wchgat(screen, -1, A_REVERSE, 0, NULL);
}

void mw_put(int y, int x, int columns, const char *text) {
	mw_put_from(y, x, columns, text, 0);
}

const char *mw_bytes_text(double bytes, char *buffer, size_t size) {
	int64_t whole = bytes > 0x1p62    ? (int64_t)1 << 62
			: bytes < -0x1p62 ? -((int64_t)1 << 62)
					  : (int64_t)bytes;
	return mw_format_bytes(whole, buffer, size);
}

/* Draws a number right-aligned in its column.  Returns the start of the next column. */
int mw_put_cell(int y, int x, int width, const char *text) {
	char cell[48];
	snprintf(cell, sizeof(cell), "%*s", width, text);
	mw_put(y, x, mw_columns() - x, cell);
	return x + width;
}

int mw_put_growth(int y, int x, int width, double bytes) {
	char text[48] = "+";
	mw_bytes_text(bytes, text + 1, sizeof(text) - 1);
	int pair = bytes > 0 ? MW_PAIR_GROWN : bytes < 0 ? MW_PAIR_SHRUNK : 0;
	mw_attributes_on((unsigned)mw_ncurses.COLOR_PAIR(pair));
	x = mw_put_cell(y, x, width, bytes > 0 ? text : bytes < 0 ? text + 1 : "");
	mw_attributes_off((unsigned)mw_ncurses.COLOR_PAIR(pair));
	return x;
}

int mw_curses_start(mw_error_t *error) {
	if (mw_ncurses_load(error) != 0)
		return -1;
	screen = mw_ncurses.initscr();
	mw_ncurses.cbreak();
	mw_ncurses.noecho();
	mw_ncurses.keypad(screen, TRUE);
	mw_ncurses.set_escdelay(50);
	mw_ncurses.curs_set(0);
	if (getenv("NO_COLOR") == NULL && mw_ncurses.has_colors()) {
		mw_ncurses.start_color();
		mw_ncurses.use_default_colors();
		mw_ncurses.init_pair(MW_PAIR_GROWN, COLOR_RED, -1);
		mw_ncurses.init_pair(MW_PAIR_SHRUNK, COLOR_GREEN, -1);
	}
	return 0;
}

void mw_curses_end(void) {
	mw_ncurses.endwin();
}

int mw_columns(void) {
	return mw_ncurses.getmaxx(screen);
}

int mw_lines(void) {
	return mw_ncurses.getmaxy(screen);
}

void mw_attributes_on(unsigned attributes) {
	mw_ncurses.wattron(screen, (int)attributes);
}

void mw_attributes_off(unsigned attributes) {
	mw_ncurses.wattroff(screen, (int)attributes);
}

void mw_screen_clear(void) {
	mw_ncurses.werase(screen);
}

void mw_screen_show(void) {
	mw_ncurses.wrefresh(screen);
}

int mw_read_key(int64_t wait_ms) {
	mw_ncurses.wtimeout(screen, wait_ms > 0 ? (int)wait_ms : 0);
	return mw_ncurses.wgetch(screen);
}

int64_t mw_now_ms(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t mw_cpu_us(void) {
	struct timespec used;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

int64_t mw_next_refresh_ms(int64_t cost_us) {
	int64_t wait_ms = cost_us * 100 / 1000;
	wait_ms = wait_ms < MW_REFRESH_MS ? MW_REFRESH_MS : wait_ms;
	return mw_now_ms() + (wait_ms > MW_REFRESH_MOST_MS ? MW_REFRESH_MOST_MS : wait_ms);
}

void mw_put_history(int y, int x, int columns, const int64_t *points, size_t count, bool has_utf8) {
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	size_t first = columns > 0 && count > (size_t)columns ? count - (size_t)columns : 0;
	int64_t most = 1;
	for (size_t i = first; i < count; i++)
		most = points[i] > most ? points[i] : most;
	for (size_t i = first; i < count && columns > 0; i++) {
		int level = points[i] <= 0 ? 0 : (int)((double)points[i] / (double)most * 7.999);
		if (mw_ncurses.wmove(screen, y, x + (int)(i - first)) == OK)
			mw_ncurses.waddnstr(screen, (has_utf8 ? blocks : ascii)[level], -1);
	}
}
