/* SPDX-License-Identifier: MIT
 * sql.h -- the text of a query, and the one way by which foreign text gets into it.
 * Layer: store. */
#ifndef MW_TOOL_STORE_CLICKHOUSE_SQL_H
#define MW_TOOL_STORE_CLICKHOUSE_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Longest text that becomes a literal: more than any text of an identity. */
#define MW_SQL_LITERAL_BYTES_MAX 4096

/* A zeroed one is empty. */
typedef struct mw_sql {
	char *text; /* ends with NUL; NULL as long as nothing was added */
	size_t length, capacity;
	bool is_refused; /* a literal was too long: the query is not sent */
} mw_sql_t;

/* Adds text of the program's own and numbers.  No argument is a text that somebody else has
 * written: mw_sql_add_literal() is for these. */
void mw_sql_add(mw_sql_t *sql, const char *format, ...) MW_PRINTF(2, 3);
/* Adds bytes as a literal in quotes.  Longer ones than MW_SQL_LITERAL_BYTES_MAX become '' and set
 * is_refused. */
void mw_sql_add_literal(mw_sql_t *sql, const char *bytes, size_t length);
/* Adds "1, 2, 3"; "0" stands for no numbers at all, since no id is 0. */
void mw_sql_add_ids(mw_sql_t *sql, const uint64_t *ids, size_t count);
void mw_sql_free(mw_sql_t *sql);

/* True for a name that may stand in a query without quotes. */
bool mw_sql_is_name(const char *text);

#endif
