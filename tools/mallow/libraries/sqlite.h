/* SPDX-License-Identifier: MIT
 * sqlite.h -- functions of SQLite 3, which keeps the index of a store.  Layer: libraries. */
#ifndef MW_TOOL_LIBRARIES_SQLITE_H
#define MW_TOOL_LIBRARIES_SQLITE_H

#include <sqlite3.h>

#include "model/error.h"

/* F(name): each function that is called, without its sqlite3_. */
#define MW_SQLITE_FUNCTIONS(F)                                                                     \
	F(bind_blob)                                                                               \
	F(bind_blob64)                                                                             \
	F(bind_double)                                                                             \
	F(bind_int)                                                                                \
	F(bind_int64)                                                                              \
	F(bind_null)                                                                               \
	F(bind_parameter_index)                                                                    \
	F(bind_text)                                                                               \
	F(bind_text64)                                                                             \
	F(busy_timeout)                                                                            \
	F(changes)                                                                                 \
	F(clear_bindings)                                                                          \
	F(close)                                                                                   \
	F(column_blob)                                                                             \
	F(column_bytes)                                                                            \
	F(column_count)                                                                            \
	F(column_double)                                                                           \
	F(column_int)                                                                              \
	F(column_int64)                                                                            \
	F(column_name)                                                                             \
	F(column_text)                                                                             \
	F(column_type)                                                                             \
	F(errmsg)                                                                                  \
	F(errstr)                                                                                  \
	F(exec)                                                                                    \
	F(extended_errcode)                                                                        \
	F(extended_result_codes)                                                                   \
	F(finalize)                                                                                \
	F(free)                                                                                    \
	F(interrupt)                                                                               \
	F(last_insert_rowid)                                                                       \
	F(open_v2)                                                                                 \
	F(prepare_v2)                                                                              \
	F(reset)                                                                                   \
	F(step)

typedef struct mw_sqlite {
#define MW_SQLITE_FIELD(name) __typeof__(sqlite3_##name) *name;
	MW_SQLITE_FUNCTIONS(MW_SQLITE_FIELD)
#undef MW_SQLITE_FIELD
} mw_sqlite_t;

/* All NULL until mw_sqlite_load() has returned 0. */
extern mw_sqlite_t mw_sqlite;

/* Loads the library, once for the process.  0, or -1 with an error that begins with `purpose`, such
 * as "cannot open the store", and says what to install. */
int mw_sqlite_load(const char *purpose, mw_error_t *error);

#endif
