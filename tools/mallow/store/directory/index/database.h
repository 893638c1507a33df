/* SPDX-License-Identifier: MIT
 * database.h -- the index of a directory: an SQLite database, its tables, and its statements.
 * Layer: store/directory/index.  The folder's door: index_rows.h writes rows,
 * query.h and matching.h read them, encode.h has their bytes.  Private to store/directory.
 * A failure of SQLite is kept in the database: the caller goes on until mw_database_failed() or the
 * end of a transaction, and asks then. */
#ifndef MW_TOOL_STORE_DIRECTORY_INDEX_DATABASE_H
#define MW_TOOL_STORE_DIRECTORY_INDEX_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"

typedef struct mw_database mw_database_t;

/* Opens the file, or makes a new one with the tables if `may_write`.  NULL: `error` says why;
 * *is_damaged: it is no index of this version, or cannot be read; *is_missing: there is no file. */
mw_database_t *mw_database_open(const char *path, bool may_write, bool *is_damaged,
				bool *is_missing, mw_error_t *error);
void mw_database_close(mw_database_t *database); /* NULL is allowed */
/* Removes the undo log and other files of a database that is not there any more. */
void mw_database_remove_side_files(const char *path);

/* Returns the statement, ready to be bound; equal texts are prepared once.  `sql` is a literal, or
 * stays as long as the database.  NULL after a failure. */
sqlite3_stmt *mw_database_prepare(mw_database_t *database, const char *sql);
/* Likewise, of a text that is used once: the caller calls mw_database_finish(). */
sqlite3_stmt *mw_database_prepare_once(mw_database_t *database, const char *sql);
void mw_database_finish(sqlite3_stmt *statement); /* NULL is allowed */

/* Bind parameter `at`, counted from 1.  The bytes stay valid until the statement's last step.  A
 * NULL statement is allowed. */
void mw_bind_number(sqlite3_stmt *statement, int at, int64_t value);
void mw_bind_text(sqlite3_stmt *statement, int at, const char *text);
void mw_bind_bytes(sqlite3_stmt *statement, int at, const void *bytes, size_t length);

/* Runs to the next row.  False: there is none, or the statement failed. */
bool mw_database_step(mw_database_t *database, sqlite3_stmt *statement);
/* Runs a statement that has no rows. */
void mw_database_run(mw_database_t *database, const char *sql);
/* Number of the row that was inserted last. */
int64_t mw_database_row(mw_database_t *database);
/* Text of a column, never NULL, valid until the next step. */
const char *mw_column_text(sqlite3_stmt *statement, int column);

/* Begins to write; ends with all that was written since, or nothing. */
void mw_database_begin(mw_database_t *database);
/* 0: everything was written.  -1: something failed since the beginning, and nothing was. */
int mw_database_end(mw_database_t *database, const char *path, mw_error_t *error);
void mw_database_undo(mw_database_t *database);

/* All questions until the end see one state of the index, and its file is locked once. */
void mw_database_begin_reading(mw_database_t *database);
void mw_database_end_reading(mw_database_t *database);

/* -1 with `error` if a call failed since the last question. */
int mw_database_failed(mw_database_t *database, const char *path, mw_error_t *error);
/* Whether the last call that failed did so because the file is damaged. */
bool mw_database_is_damaged(const mw_database_t *database);
/* Whether it failed because the path leads to another file now. */
bool mw_database_is_replaced(const mw_database_t *database);
/* Whether the call may succeed later. */
bool mw_database_may_retry(const mw_database_t *database);

#endif
