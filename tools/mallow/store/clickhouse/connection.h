/* SPDX-License-Identifier: MIT
 * connection.h -- one ClickHouse server: sends queries and rows over HTTP, and gets rows back.
 * Layer: store.  What all files of this folder share. */
#ifndef MW_TOOL_STORE_CLICKHOUSE_CONNECTION_H
#define MW_TOOL_STORE_CLICKHOUSE_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/sql.h"
#include "store/profile_store.h"

/* Slots for numbers that the server is known to have.  256 Ki slots are 2 MiB: enough for all
 * stacks and locations of the 200 processes of a host. */
#define MW_KNOWN_SLOTS ((size_t)1 << 18)

typedef struct mw_clickhouse {
	char *address;         /* "http://host:8123", as mallow's messages name it */
	char *database;        /* mw_sql_is_name() holds */
	char *user, *password; /* NULL = none */
	double timeout_seconds;
	bool may_create;
	bool is_ready; /* the database was seen to have our tables */
	/* Days of the last range that was asked for: where its stacks are. */
	int64_t first_day, last_day;
	uint64_t *known; /* hashes; 0 = a free slot.  NULL until the first put */
	size_t known_count;
	/* The last request has failed and may succeed later: the server was not reached, or is
	 * busy.  It may have done its work all the same. */
	bool may_retry;
	struct mw_client *client; /* http/client.h; NULL until the first request */
} mw_clickhouse_t;

/* What came of a request. */
typedef struct mw_answer {
	char *body; /* length bytes, and NUL behind them; the caller frees it */
	size_t length;
	int code; /* ClickHouse's number of the failure; 0 = there is none */
} mw_answer_t;

/* Numbers of failures that are not failures to all callers. */
enum { MW_CLICKHOUSE_NO_TABLE = 60, MW_CLICKHOUSE_NO_DATABASE = 81 };

/* Reads clickhouse://[USER@]HOST:PORT/DATABASE or clickhouses://, which is over TLS. */
int mw_clickhouse_parse(const char *url, const mw_store_options_t *options, mw_clickhouse_t *out,
			mw_error_t *error);
void mw_clickhouse_release(mw_clickhouse_t *self);

/* Sends a query that changes nothing.  Frees `sql` in any case. */
int mw_clickhouse_query(mw_clickhouse_t *self, mw_sql_t *sql, mw_answer_t *out, mw_error_t *error);
/* Sends a query that changes something, and has no rows as its answer.  It is sent once. */
int mw_clickhouse_do(mw_clickhouse_t *self, mw_sql_t *sql, mw_error_t *error);
int mw_clickhouse_create_database(mw_clickhouse_t *self, mw_error_t *error);
/* Adds rows to a table.  `columns` is "(a, b)".  They are sent once: whoever sends them again gives
 * them another attempt. */
int mw_clickhouse_insert(mw_clickhouse_t *self, const char *table, const char *columns,
			 const mw_row_bytes_t *rows, mw_error_t *error);
/* Says that an answer is not what was requested. */
int mw_clickhouse_bad_answer(const mw_clickhouse_t *self, mw_error_t *error);

/* A random number, never 0. */
int mw_clickhouse_random(uint64_t *out, mw_error_t *error);

#endif
