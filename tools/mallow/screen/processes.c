/* SPDX-License-Identifier: MIT
 * processes.c -- the live view of all processes: memory in use, growth, allocation rate. */
#include <curses.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/file/open_state_file.h"
#include "formats/state/state_file.h"
#include "live/process/process.h"
#include "live/state_places.h"
#include "model/memory.h"
#include "screen/draw.h"
#include "screen/screen.h"

/* Lines above and below the rows.  Columns are left out on terminals narrower than the widths
 * below. */
#define TOP_LINES 2
#define BOTTOM_LINES 1
#define WIDE 72
#define NARROW 44

typedef enum order { BY_LIVE, BY_GROWTH, BY_RATE } order_t;

typedef struct process {
	int pid;
	uint64_t start_ticks; /* start time, which with the pid identifies the process */
	uint64_t created_ns;  /* creation time of the state file; execve() creates a new file */
	char program[64];
	int64_t live_bytes, marked_bytes, alloc_bytes;
	double alloc_bytes_per_s;
	uint64_t resident_bytes;
	bool active, seen;
} process_t;

typedef struct list {
	process_t *items;
	size_t count, capacity;
	order_t order;
	/* Pid of the process under the cursor, which keeps the cursor when rows move. */
	int chosen_pid;
	int first; /* first row that is shown */
	int64_t looked_ms;
	mw_places_t places; /* result of the last search for processes */
	unsigned looks;
} list_t;

/* Updates between two searches for new processes: three seconds.  A search reads the mappings of
 * every process of the machine, and would be most of the cost of this command. */
#define LOOKS_A_SEARCH 6

static process_t *find(list_t *l, int pid, uint64_t start_ticks) {
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].pid == pid && l->items[i].start_ticks == start_ticks)
			return &l->items[i];
	return NULL;
}

static void take_snapshot(list_t *l, const mw_place_t *place, const mw_snapshot_t *snapshot,
			  double seconds) {
	const mw_state_live_t *live = &snapshot->live;
	process_t *p = find(l, place->pid, place->start_ticks);
	if (p == NULL) {
		l->items = mw_grow(l->items, &l->capacity, l->count + 1, sizeof(*l->items));
		p = &l->items[l->count++];
		*p = (process_t){.pid = place->pid, .start_ticks = place->start_ticks};
	}
	if (p->created_ns != snapshot->header.created_realtime_ns) {
		p->created_ns = snapshot->header.created_realtime_ns;
		p->marked_bytes = live->live_bytes;
		p->alloc_bytes = live->alloc_bytes;
	}
	int pid = mw_place_process(place);
	if (pid <= 0 || !mw_process_title(pid, p->program, sizeof(p->program)))
		snprintf(p->program, sizeof(p->program), "%.63s", snapshot->header.program);
	if (seconds > 0)
		p->alloc_bytes_per_s = (double)(live->alloc_bytes - p->alloc_bytes) / seconds;
	p->live_bytes = live->live_bytes;
	p->alloc_bytes = live->alloc_bytes;
	p->resident_bytes = live->resident_bytes;
	p->active = live->active != 0;
	p->seen = true;
}

static void drop_unseen(list_t *l) {
	size_t left = 0;
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].seen)
			l->items[left++] = l->items[i];
	l->count = left;
}

static void search(list_t *l) {
	mw_places_release(&l->places);
	mw_places_add_all(&l->places);
}

static void look(list_t *l) {
	int64_t now_ms = mw_now_ms();
	double seconds = l->looked_ms > 0 ? (double)(now_ms - l->looked_ms) / 1e3 : 0;
	if (l->looks++ % LOOKS_A_SEARCH == 0)
		search(l);
	for (size_t i = 0; i < l->count; i++)
		l->items[i].seen = false;
	for (size_t i = 0; i < l->places.count; i++) {
		mw_place_t *place = &l->places.items[i];
		mw_snapshot_t *snapshot;
		place->alive = place->alive && mw_state_file_is_held_at(place->path);
		if (!place->alive || mw_snapshot_read(place->path, 0, &snapshot, NULL) != 0)
			continue;
		take_snapshot(l, place, snapshot, seconds);
		mw_snapshot_free(snapshot);
	}
	drop_unseen(l);
	l->looked_ms = now_ms;
}

static double weight_of(const process_t *p, order_t order) {
	return order == BY_LIVE     ? (double)p->live_bytes
	       : order == BY_GROWTH ? (double)p->live_bytes - (double)p->marked_bytes
				    : p->alloc_bytes_per_s;
}

static int compare_rows(const void *a, const void *b, void *order) {
	double x = weight_of(a, *(const order_t *)order), y = weight_of(b, *(const order_t *)order);
	if (x != y)
		return x < y ? 1 : -1;
	return ((const process_t *)a)->pid - ((const process_t *)b)->pid;
}

static int chosen_row(const list_t *l) {
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].pid == l->chosen_pid)
			return (int)i;
	return 0;
}

static void draw_title(const list_t *l) {
	char text[160], bytes[32], clock[16];
	double live = 0;
	for (size_t i = 0; i < l->count; i++)
		live += (double)l->items[i].live_bytes;
	time_t now = time(NULL);
	struct tm local;
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &local));
	snprintf(text, sizeof(text), " %zu process%s with mallow, live %s  %s", l->count,
		 l->count == 1 ? "" : "es", mw_bytes_text(live, bytes, sizeof(bytes)), clock);
	mw_attributes_on(A_REVERSE);
	mw_put_bar(0);
	mw_put(0, 0, mw_columns(), text);
	mw_attributes_off(A_REVERSE);
}

static void draw_heading(const list_t *l) {
	mw_attributes_on(A_BOLD);
	int x = mw_put_cell(1, 0, 8, "PID");
	x = mw_put_cell(1, x, 11, l->order == BY_LIVE ? "LIVE*" : "LIVE");
	if (mw_columns() >= WIDE)
		x = mw_put_cell(1, x, 12, l->order == BY_GROWTH ? "GROWTH*" : "GROWTH");
	if (mw_columns() >= NARROW)
		x = mw_put_cell(1, x, 12, l->order == BY_RATE ? "ALLOC/s*" : "ALLOC/s");
	if (mw_columns() >= WIDE)
		x = mw_put_cell(1, x, 12, "RESIDENT");
	mw_put(1, x + 2, mw_columns() - x - 2, "PROGRAM");
	mw_attributes_off(A_BOLD);
}

static void draw_row(int y, const process_t *p, bool chosen) {
	char text[96];
	double growth = (double)p->live_bytes - (double)p->marked_bytes;
	if (chosen)
		mw_attributes_on(A_REVERSE);
	mw_put_bar(y);
	snprintf(text, sizeof(text), "%d", p->pid);
	int x = mw_put_cell(y, 0, 8, text);
	x = mw_put_cell(y, x, 11, mw_bytes_text((double)p->live_bytes, text, sizeof(text)));
	if (mw_columns() >= WIDE)
		x = mw_put_growth(y, x, 12, growth);
	if (mw_columns() >= NARROW)
		x = mw_put_cell(y, x, 12,
				p->alloc_bytes_per_s < 1
					? ""
					: mw_bytes_text(p->alloc_bytes_per_s, text, sizeof(text)));
	if (mw_columns() >= WIDE)
		x = mw_put_cell(y, x, 12,
				mw_bytes_text((double)p->resident_bytes, text, sizeof(text)));
	snprintf(text, sizeof(text), "%.47s%s", p->program, p->active ? "" : " (sampling is off)");
	mw_put(y, x + 2, mw_columns() - x - 2, text);
	if (chosen)
		mw_attributes_off(A_REVERSE);
}

static void draw(list_t *l) {
	int height = mw_lines() - TOP_LINES - BOTTOM_LINES, chosen;
	if (l->count > 1)
		qsort_r(l->items, l->count, sizeof(*l->items), compare_rows, &l->order);
	chosen = chosen_row(l);
	l->first = mw_first_row(l->first, chosen, height, l->count);
	mw_screen_clear();
	draw_title(l);
	draw_heading(l);
	for (int i = 0; i < height && (size_t)(l->first + i) < l->count; i++)
		draw_row(TOP_LINES + i, &l->items[l->first + i], l->first + i == chosen);
	if (l->count == 0)
		mw_put(TOP_LINES, 2, mw_columns() - 2, "no process runs mallow");
	mw_attributes_on(A_REVERSE);
	mw_put_bar(mw_lines() - 1);
	static const char keys[] = " q quit  up down Enter: one process  s sort  m mark";
	mw_put(mw_lines() - 1, 0, mw_columns(),
	       mw_columns() < (int)sizeof(keys) - 1 ? " q quit  s sort" : keys);
	mw_attributes_off(A_REVERSE);
	mw_screen_show();
}

static void move_cursor(list_t *l, int rows) {
	int row = chosen_row(l) + rows;
	if (l->count == 0)
		return;
	row = row < 0 ? 0 : row >= (int)l->count ? (int)l->count - 1 : row;
	l->chosen_pid = l->items[row].pid;
}

/* Shows one process until the user leaves it.  If the process has ended, nothing is shown. */
static void show_chosen(const list_t *l, const mw_symbolize_options_t *symbols) {
	char text[16];
	mw_target_t target;
	mw_symbolize_options_t options = *symbols;
	if (l->count == 0)
		return;
	options.pid = (uint32_t)l->items[chosen_row(l)].pid;
	snprintf(text, sizeof(text), "%u", options.pid);
	if (mw_target_resolve(text, &target, NULL) != 0)
		return;
	mw_screen_run(&target, &options, false, NULL);
	mw_target_release(&target);
	mw_screen_show();
}

/* Handles a key.  False: the user quits. */
static bool take_key(list_t *l, int key, const mw_symbolize_options_t *symbols) {
	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case 's':
		l->order = l->order == BY_RATE ? BY_LIVE : l->order + 1;
		break;
	case 'm':
		for (size_t i = 0; i < l->count; i++)
			l->items[i].marked_bytes = l->items[i].live_bytes;
		break;
	case KEY_UP:
		move_cursor(l, -1);
		break;
	case KEY_DOWN:
		move_cursor(l, 1);
		break;
	case KEY_PPAGE:
		move_cursor(l, -(mw_lines() - TOP_LINES - BOTTOM_LINES));
		break;
	case KEY_NPAGE:
		move_cursor(l, mw_lines() - TOP_LINES - BOTTOM_LINES);
		break;
	case '\n':
	case KEY_ENTER:
		show_chosen(l, symbols);
		break;
	default:
		break;
	}
	return true;
}

int mw_screen_run_all(const mw_symbolize_options_t *symbols, mw_error_t *error) {
	list_t l = {.items = NULL};
	setlocale(LC_CTYPE, "");
	if (mw_curses_start(error) != 0)
		return -1;
	int64_t next_ms = 0;
	for (bool go_on = true; go_on;) {
		if (mw_now_ms() >= next_ms) {
			int64_t before_us = mw_cpu_us();
			look(&l);
			next_ms = mw_next_refresh_ms(mw_cpu_us() - before_us);
		}
		draw(&l);
		int64_t left_ms = next_ms - mw_now_ms();
		int key = mw_read_key(left_ms);
		if (key != ERR)
			go_on = take_key(&l, key, symbols);
	}
	mw_curses_end();
	free(l.items);
	mw_places_release(&l.places);
	return 0;
}
