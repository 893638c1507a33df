/* SPDX-License-Identifier: MIT
 * sql.c -- the text of a query. */
#include "store/clickhouse/sql.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

#define NAME_BYTES_MAX 64

static void make_room(mw_sql_t *sql, size_t more) {
	sql->text = mw_grow(sql->text, &sql->capacity, sql->length + more + 1, 1);
}

void mw_sql_add(mw_sql_t *sql, const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	make_room(sql, (size_t)length);
	va_start(arguments, format);
	vsnprintf(sql->text + sql->length, (size_t)length + 1, format, arguments);
	va_end(arguments);
	sql->length += (size_t)length;
}

/* The character behind a backslash that stands for the byte; 0 = the byte stands for itself. */
static char escape_of(char byte) {
	switch (byte) {
	case '\'':
	case '\\':
		return byte;
	case '\0':
		return '0';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	default:
		return '\0';
	}
}

void mw_sql_add_literal(mw_sql_t *sql, const char *bytes, size_t length) {
	if (length > MW_SQL_LITERAL_BYTES_MAX) {
		sql->is_refused = true;
		length = 0;
	}
	make_room(sql, 2 * length + 2);
	char *to = sql->text + sql->length;
	*to++ = '\'';
	for (size_t i = 0; i < length; i++) {
		char escape = escape_of(bytes[i]);
		if (escape != '\0')
			*to++ = '\\';
		*to++ = escape != '\0' ? escape : bytes[i];
	}
	*to++ = '\'';
	*to = '\0';
	sql->length = (size_t)(to - sql->text);
}

void mw_sql_add_ids(mw_sql_t *sql, const uint64_t *ids, size_t count) {
	if (count == 0)
		mw_sql_add(sql, "0");
	for (size_t i = 0; i < count; i++)
		mw_sql_add(sql, "%s%" PRIu64, i > 0 ? ", " : "", ids[i]);
}

void mw_sql_free(mw_sql_t *sql) {
	free(sql->text);
	*sql = (mw_sql_t){0};
}

bool mw_sql_is_name(const char *text) {
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char more[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t length = strspn(text, more);
	return strspn(text, first) > 0 && text[length] == '\0' && length <= NAME_BYTES_MAX;
}
