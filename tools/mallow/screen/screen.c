/* SPDX-License-Identifier: MIT
 * screen.c -- draws the live view with ncurses and handles its keys. */
#include "screen/screen.h"

#include <ctype.h>
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/text/resident_text.h"
#include "report/text/units.h"
#include "screen/detail.h"
#include "screen/draw.h"
#include "screen/watch.h"
#include "state/layout.h"

#define FILTER_BYTES 64
/* Lines above the rows, beside those of the sentence about all memory, and below the rows. */
#define HEAD_LINES 4
#define BOTTOM_LINES 1
/* Columns are left out on terminals narrower than these widths. */
#define WIDE 72
#define NARROW 44
/* Step of the left and right keys, and the farthest position, in characters. */
#define NAME_STEP 16
#define NAME_MOST 1600

typedef struct screen {
	mw_watch_t watch;
	mw_row_order_t order;
	char filter[FILTER_BYTES];
	bool is_typing; /* the user is typing the filter */
	bool is_paused;
	bool shows_help;
	bool has_utf8;
	int first;  /* first row that is shown */
	int chosen; /* row that Enter opens */
	mw_detail_t detail;
	int skipped; /* characters of the names that are scrolled out at the left */
	size_t row_count;
} screen_t;

/* Returns the number of lines that the sentence about all of the memory takes: none of CPU time. */
static int memory_lines(const screen_t *s) {
	const char *text = s->watch.memory;
	if (*text == '\0' || mw_columns() < NARROW)
		return 0;
	return mw_resident_line(text, (size_t)mw_columns() - 2) < strlen(text) ? 2 : 1;
}

static int top_lines(const screen_t *s) {
	return HEAD_LINES + memory_lines(s);
}

static void draw_memory(const screen_t *s) {
	const char *text = s->watch.memory;
	for (int i = 0; i < memory_lines(s); i++) {
		char line[MW_RESIDENT_TEXT_BYTES];
		size_t bytes = mw_resident_line(text, (size_t)mw_columns() - 2);
		snprintf(line, sizeof(line), "%.*s", (int)bytes, text);
		mw_put(1 + i, 1, mw_columns() - 1, line);
		text += bytes;
		text += strspn(text, " ");
	}
}

static void draw_title(const screen_t *s) {
	const mw_watch_t *w = &s->watch;
	char text[256], rate[48], mean[32], clock[16];
	time_t now = time(NULL);
	struct tm local;
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &local));
	if (w->is_cpu)
		snprintf(rate, sizeof(rate), "CPU time, %u Hz", (unsigned)w->mean_bytes);
	else
		snprintf(rate, sizeof(rate), "T = %s",
			 w->mean_bytes == 1
				 ? "1 (exact)"
				 : mw_bytes_text((double)w->mean_bytes, mean, sizeof(mean)));
	snprintf(text, sizeof(text), " %s (pid %d)  %s, %s  %s%s", w->program, w->target->pid,
		 w->ended    ? "ended"
		 : w->active ? "sampling"
			     : "sampling is off",
		 rate, clock, s->is_paused ? "  paused" : "");
	mw_attributes_on(A_REVERSE);
	mw_put_bar(0);
	mw_put(0, 0, mw_columns(), text);
	mw_attributes_off(A_REVERSE);
}

static void draw_sums(const screen_t *s) {
	const mw_watch_t *w = &s->watch;
	char live[32], rate[32], text[160];
	int y = top_lines(s) - 3;
	mw_bytes_text((double)w->live_bytes, live, sizeof(live));
	mw_bytes_text(w->alloc_bytes_per_s, rate, sizeof(rate));
	if (w->is_cpu)
		snprintf(text, sizeof(text), "%.0f%% of a processor", w->alloc_bytes_per_s / 1e7);
	else if (mw_columns() < NARROW)
		snprintf(text, sizeof(text), "%s", live);
	else if (mw_columns() < WIDE)
		snprintf(text, sizeof(text), "live %s   %s/s", live, rate);
	else
		snprintf(text, sizeof(text), "live %s   allocating %s/s", live, rate);
	mw_put(y, 1, mw_columns() - 1, text);
	int x = (int)strlen(text) + 4;
	if (mw_columns() - x > 4)
		mw_put_history(y, x, mw_columns() - x - 1, w->points, w->point_count, s->has_utf8);
	x = 1;
	if (s->is_typing || s->filter[0] != '\0') {
		snprintf(text, sizeof(text), "filter: %s%s", s->filter, s->is_typing ? "_" : "");
		mw_put(y + 1, 1, mw_columns() - 1, text);
		x += (int)strlen(text) + 3;
	}
	mw_put(y + 1, x, mw_columns() - x, w->message);
}

/* A star marks the column by which rows are sorted. */
static int put_heading(int y, int x, int width, const char *name, bool is_order) {
	char text[16];
	snprintf(text, sizeof(text), "%s%s", name, is_order ? "*" : "");
	return mw_put_cell(y, x, width, text);
}

static void draw_heading(const screen_t *s) {
	static const char *const folds[MW_FOLD_COUNT] = {"STACK", "FUNCTION",
							 "FUNCTION AND CALLEES", "MODULE"};
	static const char *const names[2][4] = {{"LIVE", "LIVE%", "GROWTH", "ALLOC/s"},
						{"TIME", "TIME%", "SINCE MARK", "NOW"}};
	const char *const *columns = names[s->watch.is_cpu];
	mw_attributes_on(A_BOLD);
	int y = top_lines(s) - 1,
	    x = put_heading(y, 0, 10, columns[0], s->order == MW_ROWS_BY_LIVE);
	if (mw_columns() >= WIDE)
		x = put_heading(y, x, 7, columns[1], false);
	if (mw_columns() >= WIDE)
		x = put_heading(y, x, 12, columns[2], s->order == MW_ROWS_BY_GROWTH);
	if (mw_columns() >= NARROW)
		x = put_heading(y, x, 12, columns[3], s->order == MW_ROWS_BY_RATE);
	mw_put(y, x + 2, mw_columns() - x - 2, folds[s->watch.fold]);
	mw_attributes_off(A_BOLD);
}

/* The columns of CPU time: in all, of all, since the mark, and of a processor in the last
 * seconds. */
static int put_times(int y, const mw_live_row_t *row, double share) {
	char text[48];
	int64_t since_ns = row->live_bytes - row->marked_bytes;
	int x = mw_put_cell(y, 0, 10, mw_format_nanoseconds(row->live_bytes, text, sizeof(text)));
	if (mw_columns() >= WIDE) {
		snprintf(text, sizeof(text), "%.1f%%", share);
		x = mw_put_cell(y, x, 7, text);
		x = mw_put_cell(y, x, 12,
				since_ns > 0 ? mw_format_nanoseconds(since_ns, text, sizeof(text))
					     : "");
	}
	snprintf(text, sizeof(text), "%.1f%%", row->alloc_bytes_per_s / 1e7);
	if (mw_columns() >= NARROW)
		x = mw_put_cell(y, x, 12, row->alloc_bytes_per_s < 1e6 ? "" : text);
	return x;
}

static int put_bytes(int y, const mw_live_row_t *row, double share) {
	char text[48];
	double growth = (double)row->live_bytes - (double)row->marked_bytes;
	int x = mw_put_cell(y, 0, 10, mw_bytes_text((double)row->live_bytes, text, sizeof(text)));
	if (mw_columns() >= WIDE) {
		snprintf(text, sizeof(text), "%.1f%%", share);
		x = mw_put_cell(y, x, 7, text);
		x = mw_put_growth(y, x, 12, growth);
	}
	if (mw_columns() >= NARROW)
		x = mw_put_cell(y, x, 12,
				row->alloc_bytes_per_s < 1 ? ""
							   : mw_bytes_text(row->alloc_bytes_per_s,
									   text, sizeof(text)));
	return x;
}

static void draw_row(const screen_t *s, int y, const mw_live_row_t *row) {
	double share = s->watch.live_bytes > 0
			       ? 100 * (double)row->live_bytes / (double)s->watch.live_bytes
			       : 0;
	int x = s->watch.is_cpu ? put_times(y, row, share) : put_bytes(y, row, share);
	mw_put_from(y, x + 2, mw_columns() - x - 2, row->text, (size_t)s->skipped);
}

static void draw_help(const screen_t *s) {
	static const char *const lines[] = {
		"s      sort by live bytes, by growth, or by bytes allocated a second; by time,",
		"       by time since the mark, or by the time of the last seconds",
		"f      fold by stack, function, function and callees, module",
		"w      wrappers (callers of malloc such as xmalloc, std::): hidden, or shown",
		"/      show only stacks that match, as --focus does; Escape: all",
		"m      mark: GROWTH counts from now",
		"space  pause",
		"o      sampling off, or on again",
		"- +    half as many samples, twice as many",
		"up, down, page up, page down, home, end: choose a row; left, right: the names",
		"Enter  the row's largest stack with source lines, and its history; Escape: back",
		"q      quit; ? back",
	};
	for (int i = 0; i < (int)(sizeof(lines) / sizeof(lines[0])); i++)
		if (top_lines(s) + i < mw_lines() - BOTTOM_LINES)
			mw_put(top_lines(s) + i, 2, mw_columns() - 2, lines[i]);
}

static void draw_rows(screen_t *s) {
	const mw_live_row_t *const *rows = mw_rows_sorted(s->watch.rows, s->order, &s->row_count);
	int height = mw_lines() - top_lines(s) - BOTTOM_LINES;
	if (s->chosen >= (int)s->row_count)
		s->chosen = (int)s->row_count - 1;
	if (s->chosen < 0)
		s->chosen = 0;
	s->first = mw_first_row(s->first, s->chosen, height, s->row_count);
	for (int i = 0; i < height && (size_t)(s->first + i) < s->row_count; i++)
		draw_row(s, top_lines(s) + i, rows[s->first + i]);
	if (s->row_count > 0 && height > 0)
		mw_reverse_row(top_lines(s) + s->chosen - s->first);
	if (s->row_count == 0)
		mw_put(top_lines(s), 2, mw_columns() - 2,
		       s->filter[0] != '\0' ? "nothing matches this"
		       : s->watch.active    ? "no samples yet"
					    : "no samples; o switches sampling on");
}

static void draw_detail(screen_t *s) {
	const mw_live_row_t *const *rows = mw_rows_sorted(s->watch.rows, s->order, &s->row_count);
	const mw_live_row_t *row = NULL;
	for (size_t i = 0; i < s->row_count && row == NULL; i++)
		if (strcmp(rows[i]->text, s->detail.text) == 0)
			row = rows[i];
	mw_attributes_on(A_BOLD);
	mw_put(top_lines(s) - 1, 1, mw_columns() - 1, s->detail.text);
	mw_attributes_off(A_BOLD);
	mw_detail_draw(&s->detail, row, top_lines(s), mw_lines() - top_lines(s) - BOTTOM_LINES,
		       s->has_utf8);
}

static void draw(screen_t *s) {
	mw_screen_clear();
	draw_title(s);
	draw_memory(s);
	draw_sums(s);
	if (s->detail.text == NULL || s->shows_help)
		draw_heading(s);
	if (s->shows_help)
		draw_help(s);
	else if (s->detail.text != NULL)
		draw_detail(s);
	else
		draw_rows(s);
	mw_attributes_on(A_REVERSE);
	mw_put_bar(mw_lines() - 1);
	static const char keys[] =
		" q quit  Enter open  s sort  f fold  / filter  m mark  o on/off  ? help";
	/* The help lists the other keys. */
	mw_put(mw_lines() - 1, 0, mw_columns(),
	       mw_columns() < (int)sizeof(keys) - 1 ? " q quit  ? help" : keys);
	mw_attributes_off(A_REVERSE);
	mw_screen_show();
}

static void type_filter(screen_t *s, int key) {
	size_t length = strlen(s->filter);
	if (key == 27)
		s->filter[0] = '\0';
	if (key == 27 || key == '\n' || key == KEY_ENTER)
		s->is_typing = false;
	else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && length > 0)
		s->filter[length - 1] = '\0';
	else if (key < 256 && isprint(key) && length + 1 < FILTER_BYTES)
		s->filter[length] = (char)key, s->filter[length + 1] = '\0';
	mw_watch_filter(&s->watch, s->filter);
}

static void change_rate(screen_t *s, bool finer) {
	uint64_t mean = s->watch.mean_bytes;
	/* A rate of samples per second, or a distance between two. */
	mean = finer != s->watch.is_cpu ? mean / 2 : mean * 2;
	if (s->watch.is_cpu && mean > MW_CPU_HZ_MAX)
		return;
	if (mean >= 1 && mean <= MW_STATE_MEAN_BYTES_MAX)
		mw_watch_set_mean(&s->watch, mean);
}

static void scroll_rows(screen_t *s, int key) {
	int page = mw_lines() - top_lines(s) - BOTTOM_LINES;
	if (key == KEY_LEFT || key == KEY_RIGHT) {
		s->skipped += key == KEY_LEFT ? -NAME_STEP : NAME_STEP;
		s->skipped = s->skipped < 0 ? 0 : s->skipped > NAME_MOST ? NAME_MOST : s->skipped;
		return;
	}
	int *at = s->detail.text != NULL ? &s->detail.first : &s->chosen;
	int end = s->detail.text != NULL ? (int)s->detail.line_count : (int)s->row_count;
	*at += key == KEY_DOWN    ? 1
	       : key == KEY_UP    ? -1
	       : key == KEY_NPAGE ? page
	       : key == KEY_PPAGE ? -page
	       : key == KEY_END   ? end
				  : -*at;
}

static void open_chosen(screen_t *s) {
	const mw_live_row_t *const *rows = mw_rows_sorted(s->watch.rows, s->order, &s->row_count);
	if (s->chosen < (int)s->row_count)
		mw_detail_open(&s->detail, &s->watch, rows[s->chosen]->text);
}

/* Handles a key in an opened row.  False: the key belongs to the view. */
static bool take_detail_key(screen_t *s, int key) {
	if (s->detail.text == NULL)
		return false;
	bool closes = key == 27 || key == 'q' || key == '\n' || key == KEY_ENTER || key == 'f';
	if (closes)
		mw_detail_close(&s->detail);
	return closes && key != 'f';
}

/* Handles a key.  False: the user quits. */
static bool take_key(screen_t *s, int key) {
	if (s->is_typing) {
		type_filter(s, key);
		return true;
	}
	if (take_detail_key(s, key))
		return true;
	switch (key) {
	case '\n':
	case KEY_ENTER:
		open_chosen(s);
		break;
	case 'q':
	case 'Q':
		return false;
	case 's':
		s->order = s->order == MW_ROWS_BY_LIVE     ? MW_ROWS_BY_GROWTH
			   : s->order == MW_ROWS_BY_GROWTH ? MW_ROWS_BY_RATE
							   : MW_ROWS_BY_LIVE;
		break;
	case 'f':
		s->skipped = 0;
		mw_watch_fold(&s->watch, (s->watch.fold + 1) % MW_FOLD_COUNT);
		break;
	case 'w':
		mw_watch_toggle_wrappers(&s->watch);
		break;
	case '/':
		s->is_typing = true;
		break;
	case 27:
		s->filter[0] = '\0';
		mw_watch_filter(&s->watch, s->filter);
		break;
	case 'm':
		mw_watch_mark(&s->watch);
		snprintf(s->watch.message, sizeof(s->watch.message), "growth counts from now");
		break;
	case ' ':
		s->is_paused = !s->is_paused;
		break;
	case 'o':
		mw_watch_toggle(&s->watch);
		break;
	case '+':
	case '-':
		change_rate(s, key == '+');
		break;
	case '?':
	case 'h':
		s->shows_help = !s->shows_help;
		break;
	case KEY_UP:
	case KEY_DOWN:
	case KEY_PPAGE:
	case KEY_NPAGE:
	case KEY_HOME:
	case KEY_END:
	case KEY_LEFT:
	case KEY_RIGHT:
		scroll_rows(s, key);
		break;
	default:
		break;
	}
	return true;
}

int mw_screen_run(const mw_target_t *target, const mw_symbolize_options_t *symbols, bool is_cpu,
		  mw_error_t *error) {
	screen_t s = {.order = is_cpu ? MW_ROWS_BY_RATE : MW_ROWS_BY_LIVE};
	setlocale(LC_CTYPE, "");
	s.has_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	if (mw_watch_begin(&s.watch, target, symbols, is_cpu, error) != 0)
		return -1;
	if (mw_curses_start(error) != 0) {
		mw_watch_end(&s.watch);
		return -1;
	}
	int64_t next_ms = mw_now_ms() + MW_REFRESH_MS;
	for (bool go_on = true; go_on;) {
		draw(&s);
		int64_t left_ms = next_ms - mw_now_ms();
		int key = mw_read_key(left_ms);
		if (key != ERR)
			go_on = take_key(&s, key);
		if (mw_now_ms() < next_ms)
			continue;
		int64_t before_us = mw_cpu_us();
		if (!s.is_paused && !s.watch.ended)
			mw_watch_refresh(&s.watch);
		next_ms = mw_next_refresh_ms(mw_cpu_us() - before_us);
	}
	mw_curses_end();
	mw_detail_close(&s.detail);
	mw_watch_end(&s.watch);
	return 0;
}
