/* SPDX-License-Identifier: MIT
 * test_sql.c -- literals keep every text within its quotes; rows that are read may be anything. */
#include "model/memory.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/sql.h"
#include "test.h"

static uint64_t random_state = 88172645463325252;

static uint64_t random_number(void) {
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state >> 8;
}

/* Reads a literal as ClickHouse does: a backslash takes the next character with it, two quotes are
 * one quote.  Returns the length of what it stands for, and sets *end behind it. */
static size_t read_literal(const char *text, char *out, const char **end) {
	static const char names[] = "btrnf0", meanings[] = "\b\t\r\n\f\0";
	size_t length = 0;
	CHECK(*text == '\'');
	for (text++; *text != '\''; text++) {
		CHECK(*text != '\0');
		if (*text != '\\') {
			out[length++] = *text;
			continue;
		}
		text++;
		const char *name = *text != '\0' ? strchr(names, *text) : NULL;
		out[length++] = name != NULL ? meanings[name - names] : *text;
	}
	CHECK(text[1] != '\'');
	*end = text + 1;
	return length;
}

static void check_literal(const char *bytes, size_t length) {
	static char got[MW_SQL_LITERAL_BYTES_MAX];
	const char *end;
	mw_sql_t sql = {0};
	mw_sql_add(&sql, "SELECT ");
	mw_sql_add_literal(&sql, bytes, length);
	mw_sql_add(&sql, " FROM t");
	CHECK(!sql.is_refused);
	CHECK_EQ(strlen(sql.text), sql.length);
	CHECK_EQ(read_literal(sql.text + 7, got, &end), length);
	CHECK(memcmp(got, bytes, length) == 0);
	CHECK_STR(end, " FROM t");
	mw_sql_free(&sql);
}

static void literals(void) {
	static const char alphabet[] = "'\"\\`;-\n\t\r\b\f%s0bnx/*\xff\xc3\x28";
	char bytes[64];
	for (int round = 0; round < 200000; round++) {
		size_t length = random_number() % sizeof(bytes);
		for (size_t i = 0; i < length; i++)
			bytes[i] = round % 2 == 0 ? alphabet[random_number() % sizeof(alphabet)]
						  : (char)random_number();
		check_literal(bytes, length);
	}
}

static void long_literals(void) {
	size_t length = (size_t)1 << 20;
	char *bytes = mw_xcalloc(length, 1);
	memset(bytes, '\'', length);
	check_literal(bytes, MW_SQL_LITERAL_BYTES_MAX);
	mw_sql_t sql = {0};
	mw_sql_add_literal(&sql, bytes, length);
	CHECK(sql.is_refused);
	CHECK_STR(sql.text, "''");
	mw_sql_free(&sql);
	free(bytes);
}

static void names(void) {
	static const char *const wrong[] = {"", "1a", "a b", "a;b", "a'", "a`", "a-b", "\xc3\xa4"};
	char longest[66];
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(!mw_sql_is_name(wrong[i]));
	CHECK(mw_sql_is_name("mallow_2") && mw_sql_is_name("_"));
	memset(longest, 'a', sizeof(longest));
	longest[65] = '\0';
	CHECK(!mw_sql_is_name(longest));
	longest[64] = '\0';
	CHECK(mw_sql_is_name(longest));
}

static void rows_there_and_back(void) {
	mw_row_bytes_t out = {0};
	mw_row_write_u8(&out, 200);
	mw_row_write_u16(&out, 65535);
	mw_row_write_u32(&out, 4000000000);
	mw_row_write_i64(&out, INT64_MIN);
	mw_row_write_text(&out, "a'\n");
	mw_row_write_count(&out, 300);
	for (size_t i = 0; i < 300; i++)
		mw_row_write_u64(&out, i);
	for (size_t length = 0; length <= out.length; length++) {
		mw_row_input_t in = mw_row_input_of(out.bytes, length);
		mw_row_read_u8(&in);
		mw_row_read_u8(&in);
		mw_row_read_u8(&in);
		uint32_t number = mw_row_read_u32(&in);
		int64_t least = mw_row_read_i64(&in);
		size_t text = mw_row_read_text(&in), count = mw_row_read_count(&in, 8);
		uint64_t last = 0;
		for (size_t i = 0; i < count; i++)
			last = mw_row_read_u64(&in);
		CHECK_EQ(in.is_broken, length < out.length);
		if (length == out.length) {
			CHECK_EQ(number, 4000000000);
			CHECK(least == INT64_MIN);
			CHECK_STR(mw_row_text(&in, text), "a'\n");
			CHECK_EQ(last, 299);
			CHECK(!mw_row_next(&in));
		}
		mw_row_input_free(&in);
	}
	mw_row_bytes_free(&out);
}

/* Whatever is read stays within the input, and ends. */
static void hostile_rows(void) {
	unsigned char bytes[40];
	for (int round = 0; round < 300000; round++) {
		size_t length = random_number() % sizeof(bytes), rows = 0;
		for (size_t i = 0; i < length; i++)
			bytes[i] = round % 2 == 0 ? (unsigned char)random_number()
						  : (unsigned char)(0xf0 | random_number());
		mw_row_input_t in = mw_row_input_of(bytes, length);
		while (mw_row_next(&in)) {
			size_t text = mw_row_read_text(&in), count = mw_row_read_count(&in, 8);
			CHECK(count <= length / 8);
			CHECK(strlen(mw_row_text(&in, text)) <= length);
			CHECK(in.at <= in.end);
			CHECK(rows++ <= length);
		}
		mw_row_input_free(&in);
	}
}

int main(void) {
	RUN(literals);
	RUN(long_literals);
	RUN(names);
	RUN(rows_there_and_back);
	RUN(hostile_rows);
	return 0;
}
