/* SPDX-License-Identifier: MIT
 * pushed_symbols.c -- names that were pushed for a build: ranges of offsets in its file.
 * A row of symbols is found by its block.  Blocks have several sizes: a range is kept in the one or
 * two blocks of the least size that hold it, so that a question names one block of each size for
 * each offset, and the server reads few rows in front of the one it is about. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/memory.h"
#include "store/clickhouse/parts.h"

/* Blocks are of 1 KiB, 64 KiB, ..., 2^58 bytes. */
#define SIZES 9
#define LEAST_SHIFT 10
#define MORE_SHIFT 6
/* The size's number stands above the block's. */
#define SIZE_SHIFT 58

#define BODY_BYTES ((size_t)16 << 20)
#define ASKED_MAX 8192

static unsigned shift_of(unsigned size) {
	return LEAST_SHIFT + size * MORE_SHIFT;
}

static uint64_t block_of(uint64_t offset, unsigned size) {
	return (uint64_t)size << SIZE_SHIFT | offset >> shift_of(size);
}

/* Writes a range with its names into its block or blocks. */
static int write_range(mw_row_bytes_t *rows, const char *build_id, uint64_t attempt, uint64_t first,
		       uint64_t last, const mw_row_line_t *lines, size_t count) {
	unsigned size = 0;
	while (size < SIZES && (last >> shift_of(size)) - (first >> shift_of(size)) > 1)
		size++;
	if (size == SIZES || last < first)
		return -1;
	uint64_t blocks[2] = {block_of(first, size), block_of(last, size)};
	for (int i = 0; i < (blocks[0] == blocks[1] ? 1 : 2); i++) {
		mw_row_write_text(rows, build_id);
		mw_row_write_u64(rows, attempt);
		mw_row_write_u64(rows, blocks[i]);
		mw_row_write_u64(rows, first);
		mw_row_write_u64(rows, last);
		mw_clickhouse_write_lines(rows, lines, count);
	}
	return 0;
}

static int send_ranges(mw_clickhouse_t *self, const char *build_id, uint64_t attempt,
		       const mw_batch_t *batch, const uint64_t *ends, mw_error_t *error) {
	mw_row_bytes_t rows = {0};
	int result = 0;
	for (size_t i = 0; i < batch->location_count && result == 0; i++) {
		const mw_row_location_t *l = &batch->locations[i];
		if (write_range(&rows, build_id, attempt, l->offset, ends[i] - 1,
				batch->lines + l->line_first, l->line_count) != 0)
			result = mw_error_set(error,
					      "symbols: the range from %#" PRIx64 " to %#" PRIx64
					      " is empty, or too long for a file",
					      l->offset, ends[i]);
		if (result == 0 && (rows.length >= BODY_BYTES || i + 1 == batch->location_count)) {
			result = mw_clickhouse_insert(
				self, "symbols",
				"(build_id, attempt, block, first, last, functions, system_names, "
				"files, lines, start_lines)",
				&rows, error);
			rows.length = 0;
		}
	}
	mw_row_bytes_free(&rows);
	return result;
}

int mw_clickhouse_put_symbols(void *context, const char *build_id, const mw_batch_t *batch,
			      const uint64_t *ends, mw_error_t *error) {
	mw_clickhouse_t *self = context;
	struct timespec now;
	uint64_t attempt;
	if (build_id[0] == '\0' || strlen(build_id) > MW_IDENTITY_BYTES_MAX)
		return mw_error_set(error, "symbols: a build-id has 1 to %d bytes",
				    MW_IDENTITY_BYTES_MAX);
	if (mw_clickhouse_ready(self, error) != 0 || mw_clickhouse_random(&attempt, error) != 0 ||
	    send_ranges(self, build_id, attempt, batch, ends, error) != 0)
		return -1;
	mw_row_bytes_t row = {0};
	clock_gettime(CLOCK_REALTIME, &now);
	mw_row_write_text(&row, build_id);
	mw_row_write_u64(&row, attempt);
	mw_row_write_i64(&row, now.tv_sec * MW_SECOND_NS + now.tv_nsec);
	int result =
		mw_clickhouse_insert(self, "builds", "(build_id, attempt, pushed)", &row, error);
	mw_row_bytes_free(&row);
	return result;
}

/* A build, and the attempt whose symbols are its newest. */
typedef struct build {
	char *build_id;
	uint64_t attempt; /* 0 = no symbols were pushed */
} build_t;

static void add_build_ids(mw_sql_t *sql, const build_t *builds, size_t count) {
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			mw_sql_add(sql, ", ");
		mw_sql_add_literal(sql, builds[i].build_id, strlen(builds[i].build_id));
	}
}

static int build_order(const void *a, const void *b) {
	return strcmp(((const build_t *)a)->build_id, ((const build_t *)b)->build_id);
}

/* Sets the attempt of each of some builds, which are sorted. */
static int read_builds(mw_clickhouse_t *self, build_t *builds, size_t count, mw_error_t *error) {
	mw_sql_t sql = {0};
	mw_answer_t answer;
	mw_sql_add(&sql,
		   "SELECT build_id, argMax(attempt, pushed) FROM builds WHERE build_id IN (");
	add_build_ids(&sql, builds, count);
	mw_sql_add(&sql, ") GROUP BY build_id FORMAT RowBinary");
	int result = mw_clickhouse_query(self, &sql, &answer, error);
	mw_row_input_t in = mw_row_input_of(answer.body, answer.length);
	while (result == 0 && mw_row_next(&in)) {
		size_t text = mw_row_read_text(&in);
		uint64_t attempt = mw_row_read_u64(&in);
		build_t key = {.build_id = (char *)(uintptr_t)mw_row_text(&in, text)};
		build_t *build = bsearch(&key, builds, count, sizeof(*builds), build_order);
		if (build != NULL && !in.is_broken)
			build->attempt = attempt;
	}
	if (result == 0 && in.is_broken)
		result = mw_clickhouse_bad_answer(self, error);
	mw_row_input_free(&in);
	free(answer.body);
	return result;
}

/* Makes a sorted list of different builds.  A build-id that is longer than any is left out. */
static build_t *sort_builds(const char *const *build_ids, size_t *count) {
	build_t *builds = mw_xcalloc(*count, sizeof(*builds));
	size_t kept = 0, last = 0;
	for (size_t i = 0; i < *count; i++)
		if (build_ids[i][0] != '\0' && strlen(build_ids[i]) <= MW_IDENTITY_BYTES_MAX)
			builds[kept++].build_id = mw_xstrdup(build_ids[i]);
	qsort(builds, kept, sizeof(*builds), build_order);
	for (size_t i = 1; i < kept; i++) {
		if (strcmp(builds[last].build_id, builds[i].build_id) == 0)
			free(builds[i].build_id);
		else
			builds[++last] = builds[i];
	}
	*count = kept > 0 ? last + 1 : 0;
	return builds;
}

static void free_builds(build_t *builds, size_t count) {
	for (size_t i = 0; i < count; i++)
		free(builds[i].build_id);
	free(builds);
}

int mw_clickhouse_has_symbols(void *context, const char *const *build_ids, size_t count, bool *has,
			      mw_error_t *error) {
	mw_clickhouse_t *self = context;
	size_t build_count = count;
	if (mw_clickhouse_ready(self, error) != 0)
		return -1;
	build_t *builds = sort_builds(build_ids, &build_count);
	int result = 0;
	for (size_t i = 0; i < build_count && result == 0; i += ASKED_MAX)
		result = read_builds(self, builds + i,
				     build_count - i < ASKED_MAX ? build_count - i : ASKED_MAX,
				     error);
	for (size_t i = 0; i < count; i++) {
		build_t key = {.build_id = (char *)(uintptr_t)build_ids[i]};
		build_t *build = bsearch(&key, builds, build_count, sizeof(*builds), build_order);
		has[i] = build != NULL && build->attempt != 0;
	}
	free_builds(builds, build_count);
	return result;
}

/* Locations that wait for names, those of one build at a time. */
typedef struct naming {
	mw_clickhouse_t *self;
	const mw_batch_t *from;
	mw_batch_t *to;
	/* Locations of the build by their offset, and for each the next that has no name yet. */
	const mw_row_location_t **wanted;
	size_t *next;
	size_t count;
	mw_error_t *error;
} naming_t;

static int offset_order(const void *a, const void *b) {
	const mw_row_location_t *const *left = a, *const *right = b;
	return ((*left)->offset > (*right)->offset) - ((*left)->offset < (*right)->offset);
}

/* Returns the first location from `i` on that has no name yet, and shortens the way to it. */
static size_t next_unnamed(const naming_t *n, size_t i) {
	size_t end = i;
	while (n->next[end] != end)
		end = n->next[end];
	while (n->next[i] != end) {
		size_t next = n->next[i];
		n->next[i] = end;
		i = next;
	}
	return end;
}

/* Names those within the range. */
static void name_range(naming_t *n, uint64_t first, uint64_t last, const mw_read_lines_t *lines) {
	size_t low = 0, high = n->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (n->wanted[middle]->offset < first)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = next_unnamed(n, low); i < n->count && n->wanted[i]->offset <= last;
	     i = next_unnamed(n, i)) {
		mw_row_location_t location = *n->wanted[i];
		location.line_count = (uint32_t)lines->count;
		mw_batch_add_location(n->to, &location, lines->lines);
		n->next[i] = i + 1;
	}
}

static int read_ranges(naming_t *n, const build_t *build, const uint64_t *blocks, size_t count) {
	mw_sql_t sql = {0};
	mw_answer_t answer;
	mw_read_lines_t lines = {0};
	mw_sql_add(&sql, "SELECT first, last, functions, system_names, files, lines, start_lines "
			 "FROM symbols WHERE build_id = ");
	mw_sql_add_literal(&sql, build->build_id, strlen(build->build_id));
	mw_sql_add(&sql, " AND attempt = %" PRIu64 " AND block IN (", build->attempt);
	mw_sql_add_ids(&sql, blocks, count);
	mw_sql_add(&sql, ") FORMAT RowBinary");
	int result = mw_clickhouse_query(n->self, &sql, &answer, n->error);
	mw_row_input_t in = mw_row_input_of(answer.body, answer.length);
	while (result == 0 && mw_row_next(&in)) {
		uint64_t first = mw_row_read_u64(&in), last = mw_row_read_u64(&in);
		mw_clickhouse_read_lines(&in, &lines);
		if (!in.is_broken && lines.count > 0)
			name_range(n, first, last, &lines);
	}
	if (result == 0 && in.is_broken)
		result = mw_clickhouse_bad_answer(n->self, n->error);
	mw_clickhouse_free_lines(&lines);
	mw_row_input_free(&in);
	free(answer.body);
	return result;
}

/* Names the wanted locations of a build; they are sorted by their offset. */
static int name_build(naming_t *n, const build_t *build) {
	uint64_t *blocks = mw_xcalloc(n->count * SIZES, sizeof(*blocks));
	size_t count = 0;
	int result = 0;
	for (unsigned size = 0; size < SIZES; size++)
		for (size_t i = 0; i < n->count; i++) {
			uint64_t block = block_of(n->wanted[i]->offset, size);
			if (count == 0 || blocks[count - 1] != block)
				blocks[count++] = block;
		}
	for (size_t i = 0; i < count && result == 0; i += ASKED_MAX)
		result = read_ranges(n, build, blocks + i,
				     count - i < ASKED_MAX ? count - i : ASKED_MAX);
	free(blocks);
	return result;
}

/* Takes the locations of a build, and names them. */
static int name_locations(naming_t *n, const build_t *build) {
	n->count = 0;
	for (size_t i = 0; i < n->from->location_count; i++)
		if (strcmp(n->from->locations[i].build_id, build->build_id) == 0)
			n->wanted[n->count++] = &n->from->locations[i];
	qsort(n->wanted, n->count, sizeof(*n->wanted), offset_order);
	for (size_t i = 0; i <= n->count; i++)
		n->next[i] = i;
	return name_build(n, build);
}

int mw_clickhouse_add_named(mw_clickhouse_t *self, const mw_batch_t *from, mw_batch_t *to,
			    bool named, mw_error_t *error) {
	size_t count = from->location_count, build_count = count;
	naming_t n = {.self = self, .from = from, .to = to, .error = error};
	const char **build_ids = mw_xcalloc(count, sizeof(*build_ids));
	for (size_t i = 0; i < count; i++)
		build_ids[i] = from->locations[i].build_id;
	build_t *builds = sort_builds(build_ids, &build_count);
	int result = 0;
	for (size_t i = 0; i < build_count && result == 0; i += ASKED_MAX)
		result = read_builds(self, builds + i,
				     build_count - i < ASKED_MAX ? build_count - i : ASKED_MAX,
				     error);
	n.wanted = mw_xcalloc(count, sizeof(*n.wanted));
	n.next = mw_xcalloc(count + 1, sizeof(*n.next));
	for (size_t i = 0; i < build_count && result == 0; i++)
		if (builds[i].attempt != 0)
			result = name_locations(&n, &builds[i]);
	/* Those that have got names are there already. */
	for (size_t i = 0; i < count && result == 0; i++)
		if (!named || from->locations[i].line_count > 0)
			mw_batch_add_location(to, &from->locations[i],
					      from->lines + from->locations[i].line_first);
	free_builds(builds, build_count);
	free(build_ids);
	free(n.wanted);
	free(n.next);
	return result;
}
