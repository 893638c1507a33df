/* SPDX-License-Identifier: MIT
 * index_rows.c -- writes the rows of the index. */
#include "store/directory/index/index_rows.h"

#include <stdlib.h>
#include <string.h>

#include "libraries/sqlite.h"
#include "model/memory.h"
#include "store/directory/files.h"
#include "store/directory/index/encode.h"

bool mw_index_has(mw_database_t *d, uint64_t number, mw_kind_t kind) {
	sqlite3_stmt *s =
		mw_database_prepare(d, "SELECT 1 FROM profiles WHERE number=?1 AND kind=?2");
	mw_bind_number(s, 1, (int64_t)number);
	mw_bind_number(s, 2, kind);
	bool found = mw_database_step(d, s);
	if (found)
		mw_sqlite.reset(s);
	return found;
}

static void add_text(mw_bytes_t *key, const char *text) {
	size_t length = strlen(text) + 1;
	key->bytes = mw_grow(key->bytes, &key->capacity, key->length + length, 1);
	memcpy(key->bytes + key->length, text, length);
	key->length += length;
}

/* All texts of an identity, each with its NUL: equal identities have equal keys. */
static mw_bytes_t key_of(const mw_identity_t *identity) {
	mw_bytes_t key = {.length = 0};
	add_text(&key, identity->service);
	add_text(&key, identity->instance);
	add_text(&key, identity->host);
	add_text(&key, identity->version);
	add_text(&key, identity->build_id);
	for (size_t i = 0; i < identity->tag_count; i++) {
		add_text(&key, identity->tags[i].key);
		add_text(&key, identity->tags[i].value);
	}
	return key;
}

static int64_t add_series(mw_database_t *d, const mw_identity_t *identity, const mw_bytes_t *key) {
	sqlite3_stmt *s = mw_database_prepare(
		d, "INSERT INTO series(key, service, instance, host, version, build_id)"
		   " VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
	mw_bind_bytes(s, 1, key->bytes, key->length);
	mw_bind_text(s, 2, identity->service);
	mw_bind_text(s, 3, identity->instance);
	mw_bind_text(s, 4, identity->host);
	mw_bind_text(s, 5, identity->version);
	mw_bind_text(s, 6, identity->build_id);
	mw_database_step(d, s);
	int64_t number = mw_database_row(d);
	for (size_t i = 0; i < identity->tag_count; i++) {
		s = mw_database_prepare(d, "INSERT INTO tags VALUES(?1, ?2, ?3)");
		mw_bind_number(s, 1, number);
		mw_bind_text(s, 2, identity->tags[i].key);
		mw_bind_text(s, 3, identity->tags[i].value);
		mw_database_step(d, s);
	}
	return number;
}

static int64_t series_of(mw_database_t *d, const mw_identity_t *identity) {
	mw_bytes_t key = key_of(identity);
	sqlite3_stmt *s = mw_database_prepare(d, "SELECT id FROM series WHERE key=?1");
	mw_bind_bytes(s, 1, key.bytes, key.length);
	int64_t number;
	if (mw_database_step(d, s)) {
		number = mw_sqlite.column_int64(s, 0);
		mw_sqlite.reset(s);
	} else {
		number = add_series(d, identity, &key);
	}
	free(key.bytes);
	return number;
}

static void add_stacks(mw_database_t *d, const mw_batch_t *batch, int64_t day) {
	mw_bytes_t frames = {.length = 0};
	for (size_t i = 0; i < batch->stack_count; i++) {
		const mw_row_stack_t *stack = &batch->stacks[i];
		sqlite3_stmt *s = mw_database_prepare(
			d, "INSERT INTO stacks VALUES(?1, ?2, ?3) ON CONFLICT(id)"
			   " DO UPDATE SET day=excluded.day WHERE day < excluded.day");
		frames.length = 0;
		mw_encode_frames(&frames, batch->frames + stack->frame_first, stack->depth);
		mw_bind_number(s, 1, (int64_t)stack->id);
		mw_bind_bytes(s, 2, frames.bytes, frames.length);
		mw_bind_number(s, 3, day);
		mw_database_step(d, s);
	}
	free(frames.bytes);
}

/* A location that is known without names gets them from a later profile. */
static void add_locations(mw_database_t *d, const mw_batch_t *batch, int64_t day) {
	mw_bytes_t lines = {.length = 0};
	for (size_t i = 0; i < batch->location_count; i++) {
		const mw_row_location_t *l = &batch->locations[i];
		sqlite3_stmt *s = mw_database_prepare(
			d, "INSERT INTO locations VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
			   " ON CONFLICT(id) DO UPDATE SET day=max(day, excluded.day),"
			   " lines=CASE WHEN length(lines) = 0 THEN excluded.lines ELSE lines END"
			   " WHERE day < excluded.day"
			   " OR (length(lines) = 0 AND length(excluded.lines) > 0)");
		lines.length = 0;
		mw_encode_lines(&lines, batch, l);
		mw_bind_number(s, 1, (int64_t)l->id);
		mw_bind_text(s, 2, l->build_id);
		mw_bind_text(s, 3, l->path);
		mw_bind_number(s, 4, (int64_t)l->offset);
		mw_bind_number(s, 5, l->flags);
		mw_bind_bytes(s, 6, lines.bytes, lines.length);
		mw_bind_number(s, 7, day);
		mw_database_step(d, s);
	}
	free(lines.bytes);
}

static void add_samples(mw_database_t *d, const mw_batch_t *batch, int64_t profile) {
	mw_bytes_t rows = {.length = 0};
	mw_encode_samples(&rows, batch);
	sqlite3_stmt *s = mw_database_prepare(d, "INSERT INTO samples VALUES(?1, ?2)");
	mw_bind_number(s, 1, profile);
	mw_bind_bytes(s, 2, rows.bytes, rows.length);
	mw_database_step(d, s);
	free(rows.bytes);
}

static void bind_totals(sqlite3_stmt *s, int first, const mw_batch_t *batch) {
	int64_t totals[MW_VALUES] = {0};
	for (size_t i = 0; i < batch->sample_count; i++)
		for (int k = 0; k < MW_VALUES; k++)
			totals[k] = mw_row_sum(totals[k], batch->samples[i].values[k]);
	for (int k = 0; k < MW_VALUES; k++)
		mw_bind_number(s, first + k, totals[k]);
}

void mw_index_add(mw_database_t *d, const mw_put_t *put, const mw_batch_t *batch) {
	int64_t day = mw_day_of(put->time_ns);
	if (mw_index_has(d, put->number, put->kind))
		return;
	int64_t series = series_of(d, &put->identity);
	sqlite3_stmt *s = mw_database_prepare(
		d, "INSERT INTO profiles(number, kind, series, time, day, duration, period,"
		   " v0, v1, v2, v3) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
	const int64_t numbers[] = {(int64_t)put->number, put->kind,  series, put->time_ns, day,
				   put->duration_ns,     put->period};
	enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };
	for (int i = 0; i < NUMBERS; i++)
		mw_bind_number(s, i + 1, numbers[i]);
	bind_totals(s, NUMBERS + 1, batch);
	mw_database_step(d, s);
	add_samples(d, batch, mw_database_row(d));
	add_stacks(d, batch, day);
	add_locations(d, batch, day);
}

void mw_index_drop_day(mw_database_t *d, int64_t day) {
	static const char *const statements[] = {
		"DELETE FROM samples WHERE profile IN (SELECT id FROM profiles WHERE day=?1)",
		"DELETE FROM profiles WHERE day=?1",
	};
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		sqlite3_stmt *s = mw_database_prepare(d, statements[i]);
		mw_bind_number(s, 1, day);
		mw_database_step(d, s);
	}
	/* Stacks whose last day is before the first one that is left. */
	mw_database_run(d, "DELETE FROM stacks WHERE day <"
			   " coalesce((SELECT min(day) FROM profiles), 9223372036854775807)");
	mw_database_run(d, "DELETE FROM locations WHERE day <"
			   " coalesce((SELECT min(day) FROM profiles), 9223372036854775807)");
	mw_database_run(d, "DELETE FROM tags WHERE series NOT IN (SELECT series FROM profiles)");
	mw_database_run(d, "DELETE FROM series WHERE id NOT IN (SELECT series FROM profiles)");
}
