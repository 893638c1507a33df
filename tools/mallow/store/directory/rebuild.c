/* SPDX-License-Identifier: MIT
 * rebuild.c -- reads all files of a directory into a new index. */
#include "store/directory/rebuild.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "model/memory.h"
#include "store/directory/files.h"
#include "store/directory/index/index_rows.h"
#include "store/directory/kept_symbols.h"

/* A command that stores a profile needs much less time than this. */
#define ABANDONED_S 3600

typedef struct finishing {
	const char *root;
	mw_database_t *database;
} finishing_t;

static void finish_put(void *context, const char *path, const mw_file_name_t *name, int64_t age_s) {
	const finishing_t *f = context;
	(void)path;
	if (mw_index_has(f->database, name->number, name->kind))
		mw_files_move(f->root, name, NULL);
	else if (age_s > ABANDONED_S)
		mw_files_drop_incoming(f->root, name);
}

void mw_index_finish_puts(const char *root, mw_database_t *database) {
	finishing_t f = {root, database};
	mw_files_incoming(root, finish_put, &f);
	mw_files_drop_temporaries(root, "incoming", "", ABANDONED_S);
	mw_files_drop_temporaries(root, "symbols", "", ABANDONED_S);
}

typedef struct rebuilding {
	mw_database_t *database;
	size_t left_out;
} rebuilding_t;

static void enter_file(void *context, const char *path, const mw_file_name_t *name, int64_t age_s) {
	rebuilding_t *r = context;
	mw_stored_t stored;
	(void)age_s;
	if (mw_files_read(path, name, &stored, NULL) != 0) {
		r->left_out++;
		return;
	}
	mw_batch_t *batch = mw_batch_of(stored.profile, name->kind);
	mw_index_add(r->database, &stored.put, batch);
	mw_batch_free(batch);
	mw_stored_free(&stored);
}

static int fill(const char *root, const char *path, size_t *left_out, mw_error_t *error) {
	bool is_damaged, is_missing;
	rebuilding_t r = {.database =
				  mw_database_open(path, true, &is_damaged, &is_missing, error)};
	if (r.database == NULL)
		return -1;
	/* The file is thrown away if this does not end. */
	mw_database_run(r.database, "PRAGMA synchronous=OFF");
	mw_database_begin(r.database);
	mw_files_stored(root, enter_file, &r);
	mw_symbols_enter_all(r.database, root);
	int result = mw_database_end(r.database, path, error);
	mw_database_close(r.database);
	*left_out = r.left_out;
	return result;
}

int mw_index_rebuild(const char *root, const char *path, size_t *left_out, mw_error_t *error) {
	char *temporary;
	if (asprintf(&temporary, "%s.%ld.tmp", path, (long)getpid()) < 0)
		abort();
	/* Only commands that were killed have left files of this name: the caller has the lock. */
	mw_files_drop_temporaries(root, ".", strrchr(path, '/') + 1, 0);
	int result = fill(root, temporary, left_out, error);
	/* The undo log is the old file's: SQLite would undo with it what the new one holds. */
	if (result == 0)
		mw_database_remove_side_files(path);
	if (result == 0 && rename(temporary, path) != 0)
		result = mw_error_set(error, "%s: cannot rename: %s", temporary, strerror(errno));
	if (result != 0)
		unlink(temporary);
	free(temporary);
	return result;
}
