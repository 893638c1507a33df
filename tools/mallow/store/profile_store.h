/* SPDX-License-Identifier: MIT
 * profile_store.h -- a store: profiles of many processes over time, in a directory or in
 * ClickHouse. Layer: store.  The folder's door.  kind.h says which sample types are stored,
 * row_batch.h takes a profile apart into rows and makes one of rows, backend.h is what directory/
 * and clickhouse/ implement, and what questions are asked (cmd/store).
 *
 * A put is counted once: the caller gives it a random number, and a put of a number that the store
 * has already succeeds without a change.  A put that was interrupted is not counted.
 * A store is used by one thread; several processes may use it at once. */
#ifndef MW_TOOL_STORE_PROFILE_STORE_H
#define MW_TOOL_STORE_PROFILE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"
#include "store/identity.h"
#include "store/kind.h"

#define MW_STORE_DIRECTORY "dir://"

/* One profile to be stored. */
typedef struct mw_put {
	mw_identity_t identity;
	mw_kind_t kind;
	/* Random, chosen once for each profile and kept in all attempts to store it. */
	uint64_t number;
	int64_t time_ns;     /* end of the time that the profile covers (CLOCK_REALTIME) */
	int64_t duration_ns; /* since the last push; 0 = not known */
	int64_t period;      /* mean bytes or nanoseconds between samples; 0 = not known */
	/* Values of `kind` are taken from it, types by name; samples since the last push only. */
	const mw_profile_t *profile;
} mw_put_t;

typedef struct mw_store mw_store_t;

typedef struct mw_store_options {
	const char *user;     /* NULL = none, or the one in the URL */
	const char *password; /* NULL = none.  Never part of a URL */
	double timeout_seconds;
} mw_store_options_t;

/* Stands for the store that the environment variable MALLOW_STORE names. */
#define MW_STORE_DEFAULT "store:"

/* True for dir:///PATH and clickhouse://[USER@]HOST:PORT/DATABASE, perhaps with more behind. */
bool mw_store_is_url(const char *text);

/* True for SCHEME://USER:PASSWORD@...  Such a URL is refused, and is in no message. */
bool mw_store_url_has_password(const char *url);

/* Opens a store, which is made if it does not exist and `may_create` is set.  Returns 0: the caller
 * calls mw_store_close(). */
int mw_store_open(const char *url, const mw_store_options_t *options, bool may_create,
		  mw_store_t **out, mw_error_t *error);
void mw_store_close(mw_store_t *store); /* NULL is allowed */

/* Stores a profile.  Returns 0 when the profile is counted, by this call or an earlier one.
 * -1 with *may_retry: the store could not be reached, or is busy. */
int mw_store_put(mw_store_t *store, const mw_put_t *put, bool *may_retry, mw_error_t *error);

/* Removes all profiles of a day (days since 1970, UTC).  Returns 0 also if there are none. */
int mw_store_drop_day(mw_store_t *store, int64_t day, mw_error_t *error);

#endif
