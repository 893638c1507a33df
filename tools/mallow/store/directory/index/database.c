/* SPDX-License-Identifier: MIT
 * database.c -- opens the index, and runs statements. */
#include "store/directory/index/database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libraries/sqlite.h"
#include "model/memory.h"

/* Changes when the tables change; an index of another version is made anew from the files. */
#define VERSION 1
#define BUSY_MS 20000
#define STATEMENTS_MAX 64

/* What is stored of an instance at a time is one row of `profiles`, with its sums; `samples` has
 * its stacks.  A day stands in stacks and locations as the last one that uses them, so that they
 * can be removed with it. */
static const char tables[] =
	"CREATE TABLE series(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, service, instance,"
	" host, version, build_id);"
	"CREATE TABLE tags(series INTEGER, key, value, PRIMARY KEY(series, key)) WITHOUT ROWID;"
	"CREATE TABLE profiles(id INTEGER PRIMARY KEY, number INTEGER, kind INTEGER,"
	" series INTEGER, time INTEGER, day INTEGER, duration INTEGER, period INTEGER,"
	" v0 INTEGER, v1 INTEGER, v2 INTEGER, v3 INTEGER, UNIQUE(number, kind));"
	"CREATE INDEX profiles_time ON profiles(kind, time);"
	"CREATE INDEX profiles_series ON profiles(series, kind, time);"
	"CREATE TABLE samples(profile INTEGER PRIMARY KEY, rows BLOB);"
	"CREATE TABLE stacks(id INTEGER PRIMARY KEY, frames BLOB, day INTEGER);"
	"CREATE TABLE locations(id INTEGER PRIMARY KEY, build_id, path, place INTEGER,"
	" flags INTEGER, lines BLOB, day INTEGER);"
	"CREATE TABLE symbols(build_id, first INTEGER, past INTEGER, lines BLOB,"
	" PRIMARY KEY(build_id, first)) WITHOUT ROWID;"
	"CREATE INDEX series_service ON series(service);";

struct mw_database {
	sqlite3 *handle;
	int failure; /* extended code of the first failed call; 0 = none */
	int last_failure;
	char message[256];
	struct {
		const char *sql;
		sqlite3_stmt *statement;
	} statements[STATEMENTS_MAX];
	size_t statement_count;
};

static void note_failure(mw_database_t *d, int code) {
	if (d->failure != 0 || code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE)
		return;
	d->failure = d->last_failure = code;
	const char *message = mw_sqlite.errmsg(d->handle);
	snprintf(d->message, sizeof(d->message), "%s", message != NULL ? message : "");
}

sqlite3_stmt *mw_database_prepare_once(mw_database_t *d, const char *sql) {
	sqlite3_stmt *statement = NULL;
	if (d->failure == 0)
		note_failure(d, mw_sqlite.prepare_v2(d->handle, sql, -1, &statement, NULL));
	return statement;
}

sqlite3_stmt *mw_database_prepare(mw_database_t *d, const char *sql) {
	for (size_t i = 0; i < d->statement_count; i++)
		if (strcmp(d->statements[i].sql, sql) == 0) {
			mw_sqlite.reset(d->statements[i].statement);
			return d->failure == 0 ? d->statements[i].statement : NULL;
		}
	sqlite3_stmt *statement = mw_database_prepare_once(d, sql);
	if (statement != NULL && d->statement_count < STATEMENTS_MAX) {
		d->statements[d->statement_count].sql = sql;
		d->statements[d->statement_count++].statement = statement;
	}
	return statement;
}

void mw_database_finish(sqlite3_stmt *statement) {
	if (statement != NULL)
		mw_sqlite.finalize(statement);
}

void mw_bind_number(sqlite3_stmt *statement, int at, int64_t value) {
	if (statement != NULL)
		mw_sqlite.bind_int64(statement, at, value);
}

void mw_bind_text(sqlite3_stmt *statement, int at, const char *text) {
	if (statement != NULL)
		mw_sqlite.bind_text(statement, at, text, -1, SQLITE_STATIC);
}

void mw_bind_bytes(sqlite3_stmt *statement, int at, const void *bytes, size_t length) {
	if (statement != NULL)
		mw_sqlite.bind_blob64(statement, at, length > 0 ? bytes : "", length,
				      SQLITE_STATIC);
}

bool mw_database_step(mw_database_t *d, sqlite3_stmt *statement) {
	if (statement == NULL || d->failure != 0)
		return false;
	int code = mw_sqlite.step(statement);
	note_failure(d, code);
	if (code == SQLITE_ROW)
		return true;
	mw_sqlite.reset(statement);
	return false;
}

void mw_database_run(mw_database_t *d, const char *sql) {
	if (d->failure == 0)
		note_failure(d, mw_sqlite.exec(d->handle, sql, NULL, NULL, NULL));
}

const char *mw_column_text(sqlite3_stmt *statement, int column) {
	const unsigned char *text = mw_sqlite.column_text(statement, column);
	return text != NULL ? (const char *)text : "";
}

int64_t mw_database_row(mw_database_t *d) {
	return mw_sqlite.last_insert_rowid(d->handle);
}

void mw_database_begin(mw_database_t *d) {
	mw_database_run(d, "BEGIN IMMEDIATE");
}

void mw_database_begin_reading(mw_database_t *d) {
	mw_database_run(d, "BEGIN");
}

void mw_database_end_reading(mw_database_t *d) {
	if (d->failure == 0)
		mw_database_run(d, "COMMIT");
	else
		mw_database_undo(d);
}

void mw_database_undo(mw_database_t *d) {
	/* Fails if the failure has undone the transaction already. */
	mw_sqlite.exec(d->handle, "ROLLBACK", NULL, NULL, NULL);
}

int mw_database_end(mw_database_t *d, const char *path, mw_error_t *error) {
	mw_database_run(d, "COMMIT");
	if (mw_database_failed(d, path, error) == 0)
		return 0;
	mw_database_undo(d);
	return -1;
}

bool mw_database_is_damaged(const mw_database_t *d) {
	int code = d->last_failure & 0xff;
	return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

bool mw_database_is_replaced(const mw_database_t *d) {
	return d->last_failure == SQLITE_READONLY_DBMOVED;
}

bool mw_database_may_retry(const mw_database_t *d) {
	int code = d->last_failure & 0xff;
	return mw_database_is_replaced(d) || code == SQLITE_BUSY || code == SQLITE_LOCKED ||
	       code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_NOMEM;
}

int mw_database_failed(mw_database_t *d, const char *path, mw_error_t *error) {
	if (d->failure == 0)
		return 0;
	int code = d->failure & 0xff;
	d->failure = 0;
	if (code == SQLITE_BUSY)
		return mw_error_set(error, "%s: other commands have kept it busy for %d s", path,
				    BUSY_MS / 1000);
	return mw_error_set(error, "%s: %s", path, d->message);
}

/* Says whether the tables are those of this version; makes them in a new file. */
static bool has_tables(mw_database_t *d, bool is_new) {
	sqlite3_stmt *version = mw_database_prepare(d, "PRAGMA user_version");
	bool found = mw_database_step(d, version);
	int64_t number = found ? mw_sqlite.column_int64(version, 0) : -1;
	if (version != NULL)
		mw_sqlite.reset(version);
	if (!is_new)
		return number == VERSION;
	mw_database_begin(d);
	mw_database_run(d, tables);
	mw_database_run(d, "PRAGMA user_version=1");
	mw_database_run(d, "COMMIT");
	return d->failure == 0;
}

static void set_up(mw_database_t *d) {
	mw_sqlite.extended_result_codes(d->handle, 1);
	mw_sqlite.busy_timeout(d->handle, BUSY_MS);
	/* The file may be another user's. */
	mw_database_run(d, "PRAGMA trusted_schema=OFF");
	mw_database_run(d, "PRAGMA cell_size_check=ON");
	mw_database_run(d, "PRAGMA cache_size=-65536");
}

/* Files beside the database that SQLite reads before anything else. */
static const char *const side_files[] = {"-journal", "-wal", "-shm"};
enum { SIDE_FILES = sizeof(side_files) / sizeof(side_files[0]) };

static char *side_path(const char *path, size_t i) {
	char *side;
	if (asprintf(&side, "%s%s", path, side_files[i]) < 0)
		abort();
	return side;
}

void mw_database_remove_side_files(const char *path) {
	for (size_t i = 0; i < SIDE_FILES; i++) {
		char *side = side_path(path, i);
		unlink(side);
		free(side);
	}
}

/* Whether SQLite may be given these files.  It would wait for the writer of a pipe.  An undo log
 * that was left behind names a file that SQLite removes when it has undone the changes: one of
 * another user is not read if that could have an effect. */
static bool has_safe_side_files(const char *path, bool may_write) {
	bool is_safe = true;
	for (size_t i = 0; i < SIDE_FILES; i++) {
		struct stat info;
		char *side = side_path(path, i);
		if (lstat(side, &info) == 0)
			is_safe &= S_ISREG(info.st_mode) &&
				   (!may_write || info.st_uid == geteuid() || info.st_uid == 0);
		free(side);
	}
	return is_safe;
}

/* Looks at the files before SQLite opens them.  False: `error` says why. */
static bool is_openable(const char *path, bool may_write, bool *is_damaged, bool *is_missing,
			mw_error_t *error) {
	struct stat info;
	*is_damaged = false;
	*is_missing = lstat(path, &info) != 0 && errno == ENOENT;
	if (*is_missing && !may_write)
		mw_error_set(error, "%s: there is no such file", path);
	else if (!*is_missing && !S_ISREG(info.st_mode))
		mw_error_set(error, "%s: this is no regular file; a store's index is one", path);
	else if (!*is_missing && !has_safe_side_files(path, may_write))
		*is_damaged = mw_error_set(error, "%s: what is beside it was left by another user",
					   path) != 0;
	else
		return true;
	return false;
}

mw_database_t *mw_database_open(const char *path, bool may_write, bool *is_damaged,
				bool *is_missing, mw_error_t *error) {
	if (!is_openable(path, may_write, is_damaged, is_missing, error) ||
	    mw_sqlite_load("cannot open the store", error) != 0)
		return NULL;
	mw_database_t *d = mw_xcalloc(1, sizeof(*d));
	int flags = may_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
	flags |= *is_missing ? SQLITE_OPEN_CREATE : 0;
	/* Who may write into the folder does not choose which file elsewhere is written. */
	flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
	int code = mw_sqlite.open_v2(path, &d->handle, flags, NULL);
	note_failure(d, code);
	if (d->failure == 0)
		set_up(d);
	bool is_known = d->failure == 0 && has_tables(d, *is_missing);
	if (is_known && d->failure == 0)
		return d;
	*is_damaged = d->failure == 0 || mw_database_is_damaged(d);
	if (mw_database_failed(d, path, error) == 0)
		mw_error_set(error, "%s: an index of another version of mallow", path);
	mw_database_close(d);
	return NULL;
}

void mw_database_close(mw_database_t *d) {
	if (d == NULL)
		return;
	for (size_t i = 0; i < d->statement_count; i++)
		mw_sqlite.finalize(d->statements[i].statement);
	mw_sqlite.close(d->handle);
	free(d);
}
