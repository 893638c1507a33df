/* SPDX-License-Identifier: MIT
 * clickhouse.h -- a store in ClickHouse, version 18.16 or later, over its HTTP interface.
 * Layer: store.  The folder's door: mw_clickhouse_backend (store/backend.h), and what only this
 * kind of store has.  Read schema.c first, then put_rows.c, questions.c; connection.h has what they
 * share, sql.h and row_binary.h make queries and rows. */
#ifndef MW_TOOL_STORE_CLICKHOUSE_CLICKHOUSE_H
#define MW_TOOL_STORE_CLICKHOUSE_CLICKHOUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/error.h"
#include "store/backend.h"

#define MW_STORE_CLICKHOUSE "clickhouse://"
#define MW_STORE_CLICKHOUSE_TLS "clickhouses://"

/* In a cluster the rows of table T are in tables T_local of its servers. */
#define MW_CLICKHOUSE_LOCAL "_local"

extern const mw_backend_t mw_clickhouse_backend;

typedef struct mw_clickhouse_layout {
	/* Name in the servers' configuration (remote_servers); NULL = one server. */
	const char *cluster;
	/* Tables with copies on several servers, by the servers' macros {shard} and {replica}; a
	 * ZooKeeper or ClickHouse Keeper is needed. */
	bool is_replicated;
} mw_clickhouse_layout_t;

/* Makes the tables on the URL's server, unless they exist.  A cluster needs it on each server. */
int mw_clickhouse_init(const char *url, const mw_store_options_t *options,
		       const mw_clickhouse_layout_t *layout, mw_error_t *error);

/* Adds up the samples of whole hours, for questions about all services over long times.  Hours that
 * were added up before are left alone unless profiles came since.  Returns in *made how many hours
 * were added up.  It may be interrupted, and run by several at once. */
int mw_clickhouse_add_hours(const char *url, const mw_store_options_t *options, int64_t from_ns,
			    int64_t until_ns, uint64_t *made, mw_error_t *error);

#endif
