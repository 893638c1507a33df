/* SPDX-License-Identifier: MIT
 * stats_columns.c -- the columns of malloc_stats_print()'s tables: jemalloc's, in its order,
 * with its headings and widths (tests/jemalloc/print.sh compares). */
#include "compat/jemalloc/stats_columns.h"

#include <string.h>

#include "base/fmt.h"

typedef enum cell {
	LABEL,
	SIZE,
	INDEX,
	FIGURE, /* the row's figure */
	RATE,   /* the previous column's figure per second */
	BYTES,  /* the row's figure times the row's size in bytes */
	CLASS,  /* the size class's figure */
	PAGES,  /* the size class's figure in kernel pages */
	UTIL,   /* share of the slabs' blocks that are in use */
	REST,   /* pages of slabs that are neither active nor dirty */
} cell_t;

enum { LABEL_WIDTH = 21, TOTAL_WIDTH = 16 };

/* Contains no pointers, because the loader would write each pointer in every process. */
typedef struct column {
	uint8_t cell, width;
	char heading[19];
	char name[44];
} column_t;

#define CELL(kind, width, heading, name)                                                           \
	{ kind, width, heading, name }
/* The figure that has the heading as its name. */
#define NAMED(width, name) CELL(FIGURE, width, name, name)
/* The figure of the previous column per second. */
#define A_SECOND(width) CELL(RATE, width, "(#/sec)", "")
#define SIZE_AND_INDEX CELL(SIZE, 20, "size", ""), CELL(INDEX, 4, "ind", "")
/* The first columns of the tables of bins and of large sizes. `live`: name of the number of live
 * blocks. */
#define REQUESTS(live, rate_width)                                                                 \
	SIZE_AND_INDEX, CELL(BYTES, 13, "allocated", live), NAMED(13, "nmalloc"), A_SECOND(8),     \
		NAMED(13, "ndalloc"), A_SECOND(8), NAMED(13, "nrequests"), A_SECOND(rate_width)

static const column_t locks[] = {
	{FIGURE, 16, "n_lock_ops", "num_ops"},
	A_SECOND(8),
	{FIGURE, 16, "n_waiting", "num_wait"},
	A_SECOND(8),
	{FIGURE, 16, "n_spin_acq", "num_spin_acq"},
	A_SECOND(8),
	{FIGURE, 16, "n_owner_switch", "num_owner_switch"},
	A_SECOND(8),
	{FIGURE, 16, "total_wait_ns", "total_wait_time"},
	A_SECOND(10),
	{FIGURE, 16, "max_wait_ns", "max_wait_time"},
	{FIGURE, 12, "max_n_thds", "max_num_thds"},
};

static const column_t sizes[] = {
	{LABEL, LABEL_WIDTH, "", ""},
	NAMED(TOTAL_WIDTH, "allocated"),
	NAMED(16, "nmalloc"),
	A_SECOND(10),
	NAMED(16, "ndalloc"),
	A_SECOND(10),
	NAMED(16, "nrequests"),
	A_SECOND(10),
	{FIGURE, 16, "nfill", "nfills"},
	A_SECOND(10),
	{FIGURE, 16, "nflush", "nflushes"},
	A_SECOND(10),
};

static const column_t bins[] = {
	REQUESTS("curregs", 10),
	{CLASS, 9, "nshards", "nshards"},
	NAMED(13, "curregs"),
	NAMED(13, "curslabs"),
	NAMED(15, "nonfull_slabs"),
	{CLASS, 5, "regs", "nregs"},
	{PAGES, 4, "pgs", "slab_size"},
	{UTIL, 7, "util", ""},
	NAMED(13, "nfills"),
	A_SECOND(8),
	NAMED(13, "nflushes"),
	A_SECOND(8),
	NAMED(13, "nslabs"),
	NAMED(13, "nreslabs"),
	A_SECOND(8),
};

static const column_t large[] = {
	REQUESTS("curlextents", 8),
	NAMED(13, "curlextents"),
};

static const column_t extents[] = {
	SIZE_AND_INDEX,
	NAMED(13, "ndirty"),
	{FIGURE, 13, "dirty", "dirty_bytes"},
	NAMED(13, "nmuzzy"),
	{FIGURE, 13, "muzzy", "muzzy_bytes"},
	NAMED(13, "nretained"),
	{FIGURE, 13, "retained", "retained_bytes"},
	{FIGURE, 13, "ntotal", "ndirty+nmuzzy+nretained"},
	{FIGURE, 13, "total", "dirty_bytes+muzzy_bytes+retained_bytes"},
};

static const column_t slabs[] = {
	SIZE_AND_INDEX,
	NAMED(16, "npageslabs_huge"),
	NAMED(16, "nactive_huge"),
	NAMED(16, "ndirty_huge"),
	NAMED(20, "npageslabs_nonhuge"),
	NAMED(20, "nactive_nonhuge"),
	NAMED(20, "ndirty_nonhuge"),
	{REST, 20, "nretained_nonhuge", "nonhuge"},
};

static const column_t *columns_of(mw_table_t table, size_t *count) {
#define COLUMNS(name) (*count = sizeof(name) / sizeof *(name), (name))
	switch (table) {
	case MW_TABLE_LOCKS:
		return COLUMNS(locks);
	case MW_TABLE_SIZES:
		return COLUMNS(sizes);
	case MW_TABLE_BINS:
		return COLUMNS(bins);
	case MW_TABLE_LARGE:
		return COLUMNS(large);
	case MW_TABLE_EXTENTS:
		return COLUMNS(extents);
	case MW_TABLE_SLABS:
		break;
	}
	return COLUMNS(slabs);
#undef COLUMNS
}

/* ---- values ---- */

uint64_t mw_table_figure(const char *prefix, const char *name) {
	uint64_t sum = 0;
	for (size_t length; *name; name += length + (name[length] == '+')) {
		char whole[128];
		length = strcspn(name, "+");
		mw_fmt(whole, sizeof whole, "%s%.*s", prefix, (int)length, name);
		sum += mw_print_figure(whole);
	}
	return sum;
}

uint64_t mw_table_rate(uint64_t count, uint64_t uptime_ns) {
	static const uint64_t second_ns = 1000000000;
	if (uptime_ns == 0)
		return 0;
	return uptime_ns < second_ns ? count : count / (uptime_ns / second_ns);
}

/* Writes a share with three digits after the point; 1 is written without them. */
static void print_share(char *text, size_t room, uint64_t part, uint64_t whole) {
	uint64_t thousandths = whole == 0 ? 1000 : part * 1000 / whole;
	if (part > whole && whole != 0)
		mw_fmt_copy(text, room, " race"); /* the two figures were read at different times */
	else if (thousandths == 1000)
		mw_fmt_copy(text, room, "1");
	else
		mw_fmt(text, room, part == 0 ? "0" : "0.%03lu", (unsigned long)thousandths);
}

static uint64_t figure_of(const mw_table_row_t *row, const char *name) {
	uint64_t figure = mw_table_figure(row->prefix, name);
	return row->also ? figure + mw_table_figure(row->also, name) : figure;
}

static uint64_t rest_of(const mw_table_row_t *row, const char *kind) {
	char name[32];
	uint64_t pages[3];
	static const char parts[3][12] = {"npageslabs_", "nactive_", "ndirty_"};
	for (size_t i = 0; i < 3; i++) {
		mw_fmt(name, sizeof name, "%s%s", parts[i], kind);
		pages[i] = figure_of(row, name);
	}
	uint64_t all =
		pages[0] * mw_print_figure("arenas.hugepage") / mw_print_figure("arenas.page");
	return all - pages[1] - pages[2];
}

static uint64_t number_in(const column_t *column, const mw_table_row_t *row, uint64_t before) {
	switch ((cell_t)column->cell) {
	case SIZE:
		return row->size;
	case INDEX:
		return row->index;
	case FIGURE:
		return figure_of(row, column->name);
	case RATE:
		return mw_table_rate(before, row->uptime_ns);
	case BYTES:
		return row->size * figure_of(row, column->name);
	case CLASS:
		return mw_table_figure(row->sizes, column->name);
	case PAGES:
		return mw_table_figure(row->sizes, column->name) / mw_print_figure("arenas.page");
	case REST:
		return rest_of(row, column->name);
	case LABEL:
	case UTIL:
		break;
	}
	return 0;
}

/* ---- lines ---- */

static void add_cell(mw_table_line_t *line, const char *text, size_t width, bool left) {
	size_t length = strlen(text), pad = length < width ? width - length : 0;
	if (line->length + length + pad >= sizeof line->text)
		return;
	char *end = line->text + line->length;
	memset(end, ' ', pad + length);
	memcpy(left ? end : end + pad, text, length);
	line->length += pad + length;
}

void mw_table_add_label(mw_table_line_t *line, const char *label) {
	add_cell(line, label, LABEL_WIDTH, true);
}

void mw_table_add_total(mw_table_line_t *line, const char *label, uint64_t figure) {
	char text[24] = "";
	if (*label)
		mw_fmt(text, sizeof text, "%lu", (unsigned long)figure);
	mw_table_add_label(line, label);
	add_cell(line, text, TOTAL_WIDTH, false);
}

void mw_table_add_heading(mw_table_line_t *line, mw_table_t table, const char *label) {
	size_t count;
	const column_t *column = columns_of(table, &count);
	/* The label stands where the first column begins. */
	if (label)
		add_cell(line, label, 0, true);
	size_t taken = label ? strlen(label) : 0;
	for (size_t i = 0; i < count; i++) {
		size_t width = column[i].width;
		add_cell(line, column[i].heading, width > taken ? width - taken : 0, false);
		taken = 0;
	}
}

void mw_table_add_row(mw_table_line_t *line, mw_table_t table, const mw_table_row_t *row) {
	size_t count;
	const column_t *column = columns_of(table, &count);
	uint64_t number = 0;
	for (size_t i = 0; i < count; i++) {
		char text[24];
		if (column[i].cell == LABEL) {
			add_cell(line, row->label, column[i].width, true);
			continue;
		}
		if (column[i].cell == UTIL) {
			print_share(text, sizeof text, figure_of(row, "curregs"),
				    figure_of(row, "curslabs") *
					    mw_table_figure(row->sizes, "nregs"));
		} else {
			number = number_in(&column[i], row, number);
			mw_fmt(text, sizeof text, "%lu", (unsigned long)number);
		}
		add_cell(line, text, column[i].width, false);
	}
}

void mw_table_end_line(mw_table_line_t *line, const mw_printer_t *out) {
	mw_print_text(out, "%.*s\n", (int)line->length, line->text);
	line->length = 0;
}
