/* SPDX-License-Identifier: MIT
 * stored_stacks.c -- reads stacks and locations.
 * A profile sends all its stacks and locations on its day, so that they are looked for on the day
 * of the newest profile first: the index of one day is read faster than that of all days. */
#include <inttypes.h>
#include <stdlib.h>

#include "model/memory.h"
#include "store/clickhouse/parts.h"

/* Numbers of one question: the stacks of most answers.  Each question reads much of the day's
 * table. */
#define ASKED_MAX 65536

/* Columns of a location. */
#define LOCATION_COLUMNS                                                                           \
	"location, build_id, path, offset, flags, functions, system_names, files, lines, "         \
	"start_lines"
/* The same, of several rows of one location one with names. */
#define ONE_LOCATION_COLUMNS                                                                       \
	"location, argMax(build_id, named), argMax(path, named), argMax(offset, named), "          \
	"argMax(flags, named), argMax(functions, named), argMax(system_names, named), "            \
	"argMax(files, named), argMax(lines, named), argMax(start_lines, named)"

static mw_row_line_t *line_at(mw_read_lines_t *out, size_t i) {
	size_t capacity = out->capacity;
	out->lines = mw_grow(out->lines, &out->capacity, i + 1, sizeof(*out->lines));
	if (out->capacity != capacity)
		out->texts = mw_grow(out->texts, &out->text_capacity, 3 * out->capacity,
				     sizeof(*out->texts));
	return &out->lines[i];
}

/* Reads an array of texts.  An answer with arrays of different lengths is broken. */
static void read_texts(mw_row_input_t *in, mw_read_lines_t *out, size_t which) {
	size_t count = mw_row_read_count(in, 1);
	if (which == 0)
		out->count = count;
	if (count != out->count)
		in->is_broken = true;
	for (size_t i = 0; i < count && !in->is_broken; i++) {
		line_at(out, i);
		out->texts[3 * i + which] = mw_row_read_text(in);
	}
}

static void read_numbers(mw_row_input_t *in, mw_read_lines_t *out, bool is_start) {
	size_t count = mw_row_read_count(in, sizeof(int64_t));
	if (count != out->count)
		in->is_broken = true;
	for (size_t i = 0; i < count && !in->is_broken; i++)
		*(is_start ? &out->lines[i].start_line : &out->lines[i].line) = mw_row_read_i64(in);
}

void mw_clickhouse_read_lines(mw_row_input_t *in, mw_read_lines_t *out) {
	for (size_t which = 0; which < 3; which++)
		read_texts(in, out, which);
	read_numbers(in, out, false);
	read_numbers(in, out, true);
	if (in->is_broken || out->count > UINT32_MAX) {
		in->is_broken = true;
		out->count = 0;
	}
	/* Texts have their places when all of them were read. */
	for (size_t i = 0; i < out->count; i++) {
		out->lines[i].function = mw_row_text(in, out->texts[3 * i]);
		out->lines[i].system_name = mw_row_text(in, out->texts[3 * i + 1]);
		out->lines[i].file = mw_row_text(in, out->texts[3 * i + 2]);
	}
}

void mw_clickhouse_free_lines(mw_read_lines_t *lines) {
	free(lines->lines);
	free(lines->texts);
	*lines = (mw_read_lines_t){0};
}

/* Sends a query and has `read` take each row. */
static int read_rows(mw_clickhouse_t *self, mw_sql_t *sql, mw_batch_t *batch,
		     void (*read)(mw_row_input_t *in, mw_batch_t *batch, mw_read_lines_t *lines),
		     mw_error_t *error) {
	mw_answer_t answer;
	mw_read_lines_t lines = {0};
	int result = mw_clickhouse_query(self, sql, &answer, error);
	mw_row_input_t in = mw_row_input_of(answer.body, answer.length);
	while (result == 0 && mw_row_next(&in))
		read(&in, batch, &lines);
	if (result == 0 && in.is_broken)
		result = mw_clickhouse_bad_answer(self, error);
	mw_clickhouse_free_lines(&lines);
	mw_row_input_free(&in);
	free(answer.body);
	return result;
}

static void read_stack(mw_row_input_t *in, mw_batch_t *batch, mw_read_lines_t *lines) {
	(void)lines;
	uint64_t id = mw_row_read_u64(in);
	size_t depth = mw_row_read_count(in, sizeof(uint64_t));
	if (depth > MW_READ_DEPTH_MAX)
		in->is_broken = true;
	if (in->is_broken)
		return;
	uint64_t *locations = mw_xcalloc(depth, sizeof(*locations));
	for (size_t i = 0; i < depth; i++)
		locations[i] = mw_row_read_u64(in);
	mw_batch_add_stack(batch, id, locations, depth);
	free(locations);
}

static void read_location(mw_row_input_t *in, mw_batch_t *batch, mw_read_lines_t *lines) {
	mw_row_location_t location = {.id = mw_row_read_u64(in)};
	size_t build_id = mw_row_read_text(in), path = mw_row_read_text(in);
	location.offset = mw_row_read_u64(in);
	location.flags = mw_row_read_u32(in);
	mw_clickhouse_read_lines(in, lines);
	if (in->is_broken)
		return;
	location.build_id = mw_row_text(in, build_id);
	location.path = mw_row_text(in, path);
	location.line_count = (uint32_t)lines->count;
	mw_batch_add_location(batch, &location, lines->lines);
}

/* Numbers to ask for. */
typedef struct numbers {
	uint64_t *ids;
	size_t count;
} numbers_t;

static int by_number(const void *a, const void *b) {
	const uint64_t *left = a, *right = b;
	return (*left > *right) - (*left < *right);
}

/* Sorts them, and removes those that occur twice. */
static void sort_numbers(numbers_t *numbers) {
	size_t kept = 0;
	qsort(numbers->ids, numbers->count, sizeof(*numbers->ids), by_number);
	for (size_t i = 0; i < numbers->count; i++)
		if (kept == 0 || numbers->ids[kept - 1] != numbers->ids[i])
			numbers->ids[kept++] = numbers->ids[i];
	numbers->count = kept;
}

/* Adds a query for some stacks or locations.  On one day few are there twice, and the first is
 * taken; on many days most are, and the server takes one. */
static void add_query(mw_sql_t *sql, const mw_clickhouse_t *self, bool is_stack, int64_t first_day,
		      const uint64_t *ids, size_t count) {
	const char *column = is_stack ? "stack" : "location";
	bool is_one_day = first_day == self->last_day;
	const char *columns = is_one_day ? "stack, locations" : "stack, any(locations)";
	if (!is_stack)
		columns = is_one_day ? LOCATION_COLUMNS : ONE_LOCATION_COLUMNS;
	mw_sql_add(sql,
		   "SELECT %s FROM %ss WHERE day >= toDate(%" PRId64 ") AND day <= toDate(%" PRId64
		   ") AND %s IN (",
		   columns, column, first_day, self->last_day, column);
	mw_sql_add_ids(sql, ids, count);
	mw_sql_add(sql, ")");
	if (!is_one_day)
		mw_sql_add(sql, " GROUP BY %s", column);
	else if (!is_stack)
		mw_sql_add(sql, " ORDER BY named DESC");
	mw_sql_add(sql, " FORMAT RowBinary");
}

/* Reads stacks or locations of some days into `batch`. */
static int read_days(mw_clickhouse_t *self, const numbers_t *numbers, bool is_stack,
		     int64_t first_day, mw_batch_t *batch, mw_error_t *error) {
	for (size_t i = 0; i < numbers->count; i += ASKED_MAX) {
		mw_sql_t sql = {0};
		size_t count = numbers->count - i < ASKED_MAX ? numbers->count - i : ASKED_MAX;
		add_query(&sql, self, is_stack, first_day, numbers->ids + i, count);
		if (read_rows(self, &sql, batch, is_stack ? read_stack : read_location, error) != 0)
			return -1;
	}
	return 0;
}

/* Reads all of them, those of the last day first. */
static int read_numbered(mw_clickhouse_t *self, numbers_t *numbers, bool is_stack,
			 mw_batch_t *batch, mw_error_t *error) {
	sort_numbers(numbers);
	if (read_days(self, numbers, is_stack, self->last_day, batch, error) != 0)
		return -1;
	size_t kept = 0;
	for (size_t i = 0; i < numbers->count; i++)
		if (is_stack ? mw_batch_stack(batch, numbers->ids[i]) == NULL
			     : mw_batch_location(batch, numbers->ids[i]) == NULL)
			numbers->ids[kept++] = numbers->ids[i];
	numbers->count = kept;
	if (self->first_day >= self->last_day)
		return 0;
	return read_days(self, numbers, is_stack, self->first_day, batch, error);
}

static int read_stacks(mw_clickhouse_t *self, mw_batch_t *batch, mw_error_t *error) {
	numbers_t numbers = {.ids = mw_xcalloc(batch->sample_count, sizeof(*numbers.ids))};
	for (size_t i = 0; i < batch->sample_count; i++)
		if (mw_batch_stack(batch, batch->samples[i].stack) == NULL)
			numbers.ids[numbers.count++] = batch->samples[i].stack;
	int result = read_numbered(self, &numbers, true, batch, error);
	free(numbers.ids);
	return result;
}

int mw_clickhouse_stacks(void *context, mw_batch_t *batch, mw_error_t *error) {
	mw_clickhouse_t *self = context;
	if (mw_clickhouse_ready(self, error) != 0 || read_stacks(self, batch, error) != 0)
		return -1;
	numbers_t numbers = {.ids = mw_xcalloc(batch->frame_count, sizeof(*numbers.ids))};
	for (size_t i = 0; i < batch->frame_count; i++)
		if (mw_batch_location(batch, batch->frames[i]) == NULL)
			numbers.ids[numbers.count++] = batch->frames[i];
	mw_batch_t *found = mw_batch_new();
	int result = read_numbered(self, &numbers, false, found, error);
	if (result == 0)
		result = mw_clickhouse_add_named(self, found, batch, false, error);
	mw_batch_free(found);
	free(numbers.ids);
	return result;
}

int mw_clickhouse_names(void *context, mw_batch_t *batch, mw_error_t *error) {
	mw_clickhouse_t *self = context;
	mw_sql_t sql = {0};
	if (mw_clickhouse_ready(self, error) != 0)
		return -1;
	mw_batch_t *found = mw_batch_new();
	mw_sql_add(&sql,
		   "SELECT " ONE_LOCATION_COLUMNS " FROM locations WHERE named = 1 OR build_id "
		   "GLOBAL IN (SELECT build_id FROM builds) GROUP BY location "
		   "FORMAT RowBinary");
	int result = read_rows(self, &sql, found, read_location, error);
	if (result == 0)
		result = mw_clickhouse_add_named(self, found, batch, true, error);
	mw_batch_free(found);
	return result;
}
