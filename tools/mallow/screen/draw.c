/* SPDX-License-Identifier: MIT
 * draw.c -- texts, cells and colours of the live views. */
#include "screen/draw.h"

#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <wchar.h>

#include "report/report.h"

/* At most `columns` columns of a text, from `x`; what a terminal must not get is '?'. */
void mw_put(int y, int x, int columns, const char *text) {
	wchar_t wide[512];
	size_t length = mbstowcs(wide, text, sizeof(wide) / sizeof(wide[0]) - 1);
	if (length == (size_t)-1) {
		for (length = 0; text[length] != '\0' && length < 511; length++)
			wide[length] =
				(unsigned char)text[length] < 0x80 ? (wchar_t)text[length] : L'?';
	}
	wide[length] = L'\0';
	int used = 0;
	size_t i = 0;
	for (; i < length; i++) {
		int width = wcwidth(wide[i]);
		if (width < 0) {
			wide[i] = L'?';
			width = 1;
		}
		if (used + width > columns)
			break;
		used += width;
	}
	if (columns > 0)
		mvaddnwstr(y, x, wide, (int)i);
}

const char *mw_bytes_text(double bytes, char *buffer, size_t size) {
	int64_t whole = bytes > 0x1p62    ? (int64_t)1 << 62
			: bytes < -0x1p62 ? -((int64_t)1 << 62)
					  : (int64_t)bytes;
	return mw_format_bytes(whole, buffer, size);
}

/* A number's column, right-aligned; returns where the next begins. */
int mw_put_cell(int y, int x, int width, const char *text) {
	char cell[48];
	snprintf(cell, sizeof(cell), "%*s", width, text);
	mw_put(y, x, COLS - x, cell);
	return x + width;
}

void mw_curses_start(void) {
	initscr();
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	if (getenv("NO_COLOR") == NULL && has_colors()) {
		start_color();
		use_default_colors();
		init_pair(MW_PAIR_GROWN, COLOR_RED, -1);
		init_pair(MW_PAIR_SHRUNK, COLOR_GREEN, -1);
	}
}

int64_t mw_now_ms(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
