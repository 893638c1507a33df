/* SPDX-License-Identifier: MIT
 * kept_symbols.h -- names that were pushed for a build: symbols/BUILD-ID.pb.gz, and in the index.
 * Layer: store/directory.  Private to the folder.
 * The file is a profile.proto without samples.  Each of its locations begins at an offset of the
 * build's file, and ends where the next one begins; one without functions is a gap. */
#ifndef MW_TOOL_STORE_DIRECTORY_KEPT_SYMBOLS_H
#define MW_TOOL_STORE_DIRECTORY_KEPT_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "store/directory/index/database.h"
#include "store/row_batch.h"

/* As has_symbols() and put_symbols() of mw_backend_t. */
void mw_symbols_known(mw_database_t *database, const char *const *build_ids, size_t count,
		      bool *has);
int mw_symbols_write(const char *root, const char *build_id, const mw_batch_t *batch,
		     const uint64_t *ends, mw_error_t *error);
void mw_symbols_add(mw_database_t *database, const char *build_id, const mw_batch_t *batch,
		    const uint64_t *ends);

/* Enters all files of symbols in an index that has none. */
void mw_symbols_enter_all(mw_database_t *database, const char *root);

#endif
