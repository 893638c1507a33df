/* SPDX-License-Identifier: MIT
 * matching.c -- makes the statement that selects profiles. */
#include "store/directory/index/matching.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libraries/sqlite.h"
#include "model/memory.h"

/* Keys of a condition that are columns of `series`. */
static bool is_column(const char *key) {
	static const char *const columns[] = {"instance", "host", "version", "build_id"};
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (strcmp(columns[i], key) == 0)
			return true;
	return false;
}

/* Binds the parameters in the order in which text_of() has written them. */
static void bind(sqlite3_stmt *s, const mw_range_t *range) {
	int at = 1;
	if (range->by != NULL && !is_column(range->by))
		mw_bind_text(s, at++, range->by);
	mw_bind_number(s, at++, range->kind);
	mw_bind_number(s, at++, range->from_ns);
	mw_bind_number(s, at++, range->until_ns);
	if (range->service != NULL)
		mw_bind_text(s, at++, range->service);
	for (size_t i = 0; i < range->where_count; i++) {
		if (!is_column(range->where[i].key))
			mw_bind_text(s, at++, range->where[i].key);
		mw_bind_text(s, at++, range->where[i].value);
	}
}

/* The statement's text holds no text of the user's: all are bound. */
static char *text_of(const mw_range_t *range, bool only_newest, const char *order) {
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	if (out == NULL)
		abort();
	fputs("SELECT p.id, p.time, p.v0, p.v1, p.v2, p.v3, ", out);
	if (range->by == NULL)
		fputs("s.service", out);
	else if (is_column(range->by))
		fprintf(out, "s.%s", range->by);
	else
		fputs("coalesce((SELECT value FROM tags t WHERE t.series = s.id AND t.key=?), '')",
		      out);
	fputs(" AS name, s.service || char(10) || s.instance, s.host, s.version", out);
	/* Of rows with equal service and instance, SQLite takes all columns from the one with the
	 * greatest value of max(). */
	if (only_newest)
		fputs(", max(printf('%020d %016x', p.time, p.number))", out);
	fputs(" FROM profiles p JOIN series s ON s.id = p.series"
	      " WHERE p.kind=? AND p.time>=? AND p.time<?",
	      out);
	if (range->service != NULL)
		fputs(" AND s.service=?", out);
	for (size_t i = 0; i < range->where_count; i++) {
		if (is_column(range->where[i].key))
			fprintf(out, " AND s.%s=?", range->where[i].key);
		else
			fputs(" AND coalesce((SELECT value FROM tags t WHERE t.series = s.id"
			      " AND t.key=?), '')=?",
			      out);
	}
	if (only_newest)
		fputs(" GROUP BY s.service, s.instance", out);
	fprintf(out, " ORDER BY %s", order);
	fclose(out);
	return text;
}

sqlite3_stmt *mw_matching(mw_database_t *d, const mw_range_t *range, bool only_newest,
			  const char *order) {
	char *text = text_of(range, only_newest, order);
	sqlite3_stmt *s = mw_database_prepare_once(d, text);
	free(text);
	bind(s, range);
	return s;
}

void mw_matching_add(sqlite3_stmt *row, int64_t totals[MW_VALUES]) {
	for (int k = 0; k < MW_VALUES; k++)
		totals[k] = mw_row_sum(totals[k], mw_sqlite.column_int64(row, MW_COLUMN_V0 + k));
}
