/* SPDX-License-Identifier: MIT
 * put_rows.c -- stores a profile: looks whether its number is there, sends what the day lacks of
 * its stacks and locations, then its samples, and at last its row of profiles, which makes it
 * count.
 * What an interrupted put leaves has an attempt number without a row of profiles. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "store/clickhouse/parts.h"

/* Rows are sent when they are as long as this. */
#define BODY_BYTES ((size_t)16 << 20)
/* Numbers of one question. */
#define ASKED_MAX 8192
/* Days of the type DateTime, with room for the hours of any time zone. */
#define FIRST_DAY 1
#define LAST_DAY 49699

/* A put on its way. */
typedef struct putting {
	mw_clickhouse_t *self;
	const mw_put_t *put;
	const mw_batch_t *batch;
	uint16_t day;
	uint32_t second;
	uint64_t attempt;
	mw_error_t *error;
} putting_t;

/* The server has the stack, the location, or the location with its names on this day. */
enum { KNOWN_STACK = 1, KNOWN_LOCATION, KNOWN_NAMES };

static uint64_t known_hash(const putting_t *p, uint64_t id, unsigned what) {
	const uint64_t key[2] = {id, (uint64_t)p->day << 8 | what};
	return mw_row_hash(0, key, sizeof(key)) | 1;
}

static uint64_t *known_slot(const mw_clickhouse_t *self, uint64_t hash) {
	size_t slot = (size_t)(hash >> 32) % MW_KNOWN_SLOTS;
	while (self->known[slot] != 0 && self->known[slot] != hash)
		slot = (slot + 1) % MW_KNOWN_SLOTS;
	return &self->known[slot];
}

static bool is_known(const putting_t *p, uint64_t id, unsigned what) {
	uint64_t hash = known_hash(p, id, what);
	return *known_slot(p->self, hash) == hash;
}

/* All are forgotten when the table is full: the server is asked again. */
static void set_known(const putting_t *p, uint64_t id, unsigned what) {
	mw_clickhouse_t *self = p->self;
	uint64_t hash = known_hash(p, id, what);
	if (self->known_count >= MW_KNOWN_SLOTS / 4 * 3) {
		memset(self->known, 0, MW_KNOWN_SLOTS * sizeof(*self->known));
		self->known_count = 0;
	}
	uint64_t *slot = known_slot(self, hash);
	self->known_count += *slot == 0;
	*slot = hash;
}

/* Sets *is_there if an earlier attempt has committed the profile. */
static int look_up(putting_t *p, bool *is_there) {
	mw_sql_t sql = {0};
	mw_answer_t answer;
	const mw_put_t *put = p->put;
	mw_sql_add(&sql,
		   "SELECT count() FROM profiles WHERE day = toDate(%u) AND service = ", p->day);
	mw_sql_add_literal(&sql, put->identity.service, strlen(put->identity.service));
	mw_sql_add(&sql,
		   " AND kind = %d AND ts = toDateTime(%" PRIu32 ") AND number = %" PRIu64
		   " FORMAT RowBinary",
		   put->kind, p->second, put->number);
	int result = mw_clickhouse_query(p->self, &sql, &answer, p->error);
	if (result == 0) {
		mw_row_input_t in = mw_row_input_of(answer.body, answer.length);
		*is_there = mw_row_read_u64(&in) > 0;
		if (in.is_broken)
			result = mw_clickhouse_bad_answer(p->self, p->error);
		mw_row_input_free(&in);
	}
	free(answer.body);
	return result;
}

/* Asks which of the numbers the server has, and marks these as known. */
static int ask_known(putting_t *p, const char *table, const char *column, const char *named,
		     const uint64_t *ids, size_t count) {
	mw_sql_t sql = {0};
	mw_answer_t answer;
	mw_sql_add(&sql, "SELECT %s, max(%s) FROM %s WHERE day = toDate(%u) AND %s IN (", column,
		   named, table, p->day, column);
	mw_sql_add_ids(&sql, ids, count);
	mw_sql_add(&sql, ") GROUP BY %s FORMAT RowBinary", column);
	int result = mw_clickhouse_query(p->self, &sql, &answer, p->error);
	if (result == 0) {
		mw_row_input_t in = mw_row_input_of(answer.body, answer.length);
		bool is_stack = strcmp(table, "stacks") == 0;
		while (mw_row_next(&in)) {
			uint64_t id = mw_row_read_u64(&in);
			bool has_names = mw_row_read_u8(&in) != 0;
			if (in.is_broken)
				break;
			set_known(p, id, is_stack ? KNOWN_STACK : KNOWN_LOCATION);
			if (!is_stack && has_names)
				set_known(p, id, KNOWN_NAMES);
		}
		if (in.is_broken)
			result = mw_clickhouse_bad_answer(p->self, p->error);
		mw_row_input_free(&in);
	}
	free(answer.body);
	return result;
}

/* Sends the rows, and begins new ones. */
static int send_rows(putting_t *p, const char *table, const char *columns, mw_row_bytes_t *rows) {
	if (rows->length == 0)
		return 0;
	int result = mw_clickhouse_insert(p->self, table, columns, rows, p->error);
	rows->length = 0;
	return result;
}

static unsigned what_of(const mw_row_location_t *l) {
	return l->line_count > 0 ? KNOWN_NAMES : KNOWN_LOCATION;
}

void mw_clickhouse_write_lines(mw_row_bytes_t *out, const mw_row_line_t *lines, size_t count) {
	mw_row_write_count(out, count);
	for (size_t i = 0; i < count; i++)
		mw_row_write_text(out, lines[i].function);
	mw_row_write_count(out, count);
	for (size_t i = 0; i < count; i++)
		mw_row_write_text(out, lines[i].system_name);
	mw_row_write_count(out, count);
	for (size_t i = 0; i < count; i++)
		mw_row_write_text(out, lines[i].file);
	mw_row_write_count(out, count);
	for (size_t i = 0; i < count; i++)
		mw_row_write_i64(out, lines[i].line);
	mw_row_write_count(out, count);
	for (size_t i = 0; i < count; i++)
		mw_row_write_i64(out, lines[i].start_line);
}

static void write_location(const putting_t *p, const mw_row_location_t *l, mw_row_bytes_t *rows) {
	mw_row_write_u16(rows, p->day);
	mw_row_write_u64(rows, l->id);
	mw_row_write_u8(rows, l->line_count > 0);
	mw_row_write_text(rows, l->build_id);
	mw_row_write_text(rows, l->path);
	mw_row_write_u64(rows, l->offset);
	mw_row_write_u32(rows, l->flags);
	mw_clickhouse_write_lines(rows, p->batch->lines + l->line_first, l->line_count);
}

static void write_stack(const putting_t *p, const mw_row_stack_t *stack, mw_row_bytes_t *rows) {
	mw_row_write_u16(rows, p->day);
	mw_row_write_u64(rows, stack->id);
	mw_row_write_count(rows, stack->depth);
	for (uint32_t i = 0; i < stack->depth; i++)
		mw_row_write_u64(rows, p->batch->frames[stack->frame_first + i]);
}

static int send_locations(putting_t *p) {
	const mw_batch_t *batch = p->batch;
	mw_row_bytes_t rows = {0};
	uint64_t *asked = mw_xcalloc(ASKED_MAX, sizeof(*asked));
	size_t count = 0;
	int result = 0;
	for (size_t i = 0; i <= batch->location_count && result == 0; i++) {
		bool is_end = i == batch->location_count;
		if (!is_end && !is_known(p, batch->locations[i].id, what_of(&batch->locations[i])))
			asked[count++] = batch->locations[i].id;
		if (count == ASKED_MAX || (is_end && count > 0)) {
			result = ask_known(p, "locations", "location", "named", asked, count);
			count = 0;
		}
	}
	static const char columns[] = "(day, location, named, build_id, path, offset, flags, "
				      "functions, system_names, files, lines, start_lines)";
	size_t first = 0;
	for (size_t i = 0; i < batch->location_count && result == 0; i++) {
		const mw_row_location_t *l = &batch->locations[i];
		if (!is_known(p, l->id, what_of(l)))
			write_location(p, l, &rows);
		if (rows.length < BODY_BYTES && i + 1 < batch->location_count)
			continue;
		result = send_rows(p, "locations", columns, &rows);
		for (; first <= i && result == 0; first++)
			set_known(p, batch->locations[first].id, what_of(&batch->locations[first]));
	}
	mw_row_bytes_free(&rows);
	free(asked);
	return result;
}

static int send_stacks(putting_t *p) {
	const mw_batch_t *batch = p->batch;
	mw_row_bytes_t rows = {0};
	uint64_t *asked = mw_xcalloc(ASKED_MAX, sizeof(*asked));
	size_t count = 0, first = 0;
	int result = 0;
	for (size_t i = 0; i <= batch->stack_count && result == 0; i++) {
		bool is_end = i == batch->stack_count;
		if (!is_end && !is_known(p, batch->stacks[i].id, KNOWN_STACK))
			asked[count++] = batch->stacks[i].id;
		if (count == ASKED_MAX || (is_end && count > 0)) {
			result = ask_known(p, "stacks", "stack", "toUInt8(0)", asked, count);
			count = 0;
		}
	}
	for (size_t i = 0; i < batch->stack_count && result == 0; i++) {
		if (!is_known(p, batch->stacks[i].id, KNOWN_STACK))
			write_stack(p, &batch->stacks[i], &rows);
		if (rows.length < BODY_BYTES && i + 1 < batch->stack_count)
			continue;
		result = send_rows(p, "stacks", "(day, stack, locations)", &rows);
		for (; first <= i && result == 0; first++)
			set_known(p, batch->stacks[first].id, KNOWN_STACK);
	}
	mw_row_bytes_free(&rows);
	free(asked);
	return result;
}

static void write_values(mw_row_bytes_t *rows, const int64_t values[MW_VALUES]) {
	for (int i = 0; i < MW_VALUES; i++)
		mw_row_write_i64(rows, values[i]);
}

static int send_samples(putting_t *p) {
	const mw_batch_t *batch = p->batch;
	mw_row_bytes_t rows = {0};
	int result = 0;
	for (size_t i = 0; i < batch->sample_count && result == 0; i++) {
		mw_row_write_u16(&rows, p->day);
		mw_row_write_u32(&rows, p->second);
		mw_row_write_text(&rows, p->put->identity.service);
		mw_row_write_u8(&rows, (uint8_t)p->put->kind);
		mw_row_write_u64(&rows, p->attempt);
		mw_row_write_u64(&rows, batch->samples[i].stack);
		write_values(&rows, batch->samples[i].values);
		if (rows.length >= BODY_BYTES || i + 1 == batch->sample_count)
			result = send_rows(p, "samples",
					   "(day, ts, service, kind, attempt, stack, now_count, "
					   "now_amount, since_count, since_amount)",
					   &rows);
	}
	mw_row_bytes_free(&rows);
	return result;
}

/* Makes the profile count. */
static int commit(putting_t *p) {
	const mw_put_t *put = p->put;
	const mw_identity_t *who = &put->identity;
	mw_row_bytes_t row = {0};
	int64_t totals[MW_VALUES] = {0};
	for (size_t i = 0; i < p->batch->sample_count; i++)
		for (int v = 0; v < MW_VALUES; v++)
			totals[v] = mw_row_sum(totals[v], p->batch->samples[i].values[v]);
	mw_row_write_u16(&row, p->day);
	mw_row_write_u32(&row, p->second);
	mw_row_write_i64(&row, put->time_ns);
	mw_row_write_u64(&row, put->number);
	mw_row_write_u64(&row, p->attempt);
	mw_row_write_text(&row, who->service);
	mw_row_write_u8(&row, (uint8_t)put->kind);
	mw_row_write_text(&row, who->instance);
	mw_row_write_text(&row, who->host);
	mw_row_write_text(&row, who->version);
	mw_row_write_text(&row, who->build_id);
	mw_row_write_count(&row, who->tag_count);
	for (size_t i = 0; i < who->tag_count; i++)
		mw_row_write_text(&row, who->tags[i].key);
	mw_row_write_count(&row, who->tag_count);
	for (size_t i = 0; i < who->tag_count; i++)
		mw_row_write_text(&row, who->tags[i].value);
	mw_row_write_i64(&row, put->duration_ns);
	mw_row_write_i64(&row, put->period);
	mw_row_write_u32(&row, (uint32_t)p->batch->sample_count);
	write_values(&row, totals);
	int result =
		send_rows(p, "profiles",
			  "(day, ts, time, number, attempt, service, kind, instance, host, "
			  "version, build_id, tag_keys, tag_values, duration, period, samples, "
			  "now_count, now_amount, since_count, since_amount)",
			  &row);
	mw_row_bytes_free(&row);
	return result;
}

static int send_all(putting_t *p) {
	if (send_locations(p) != 0 || send_stacks(p) != 0 || send_samples(p) != 0)
		return -1;
	return commit(p);
}

int mw_clickhouse_put(void *context, const mw_put_t *put, const mw_batch_t *batch, bool *may_retry,
		      mw_error_t *error) {
	mw_clickhouse_t *self = context;
	int64_t second = put->time_ns / MW_SECOND_NS, day = second / MW_DAY_SECONDS;
	putting_t p = {.self = self,
		       .put = put,
		       .batch = batch,
		       .day = (uint16_t)day,
		       .second = (uint32_t)second,
		       .error = error};
	bool is_there = false;
	*may_retry = false;
	if (put->time_ns < 0 || day < FIRST_DAY || day > LAST_DAY)
		return mw_error_set(error,
				    "a profile of the time %" PRId64 " s since 1970 is not stored; "
				    "allowed: 1970-01-02 to 2106-01-27; set the host's clock",
				    second);
	if (self->known == NULL)
		self->known = mw_xcalloc(MW_KNOWN_SLOTS, sizeof(*self->known));
	self->may_retry = false;
	int result = mw_clickhouse_ready(self, error);
	if (result == 0)
		result = mw_clickhouse_random(&p.attempt, error);
	if (result == 0)
		result = look_up(&p, &is_there);
	if (result == 0 && !is_there)
		result = send_all(&p);
	*may_retry = result != 0 && self->may_retry;
	return result;
}
