/* SPDX-License-Identifier: MIT
 * store_directory.c -- a store in a directory: files of profiles, and their index. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/memory.h"
#include "store/directory/files.h"
#include "store/directory/index/database.h"
#include "store/directory/index/index_rows.h"
#include "store/directory/index/query.h"
#include "store/directory/kept_symbols.h"
#include "store/directory/rebuild.h"
#include "store/directory/store_directory.h"

typedef struct directory {
	char *root;
	char *index;
	char *lock;
	mw_database_t *database;
	bool may_write;
} directory_t;

static char *join(const char *root, const char *name) {
	char *path;
	if (asprintf(&path, "%s/%s", root, name) < 0)
		abort();
	return path;
}

/* Keeps the index from being made anew (LOCK_SH), or others from using it meanwhile (LOCK_EX).
 * Returns the descriptor, or -1. */
static int lock(const directory_t *d, int how) {
	int fd = open(d->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	int result = fd;
	if (fd >= 0 && flock(fd, how) != 0) {
		close(fd);
		result = -1;
	}
	return result;
}

static void unlock(int fd) {
	if (fd >= 0)
		close(fd);
}

/* Opens the index.  *is_lost: it is missing or damaged, and can be made anew. */
static int open_index(directory_t *d, bool *is_lost, mw_error_t *error) {
	bool is_damaged, is_missing;
	mw_database_close(d->database);
	/* A missing index is made by the files, not empty. */
	bool exists = access(d->index, F_OK) == 0;
	d->database =
		exists ? mw_database_open(d->index, d->may_write, &is_damaged, &is_missing, error)
		       : NULL;
	*is_lost = d->database == NULL && (!exists || is_damaged || is_missing);
	return d->database != NULL ? 0 : -1;
}

static int make_anew(directory_t *d, mw_error_t *error) {
	bool is_lost;
	size_t left_out = 0;
	int fd = lock(d, LOCK_EX);
	if (fd < 0)
		return mw_error_set(error,
				    "%s: the index is missing or damaged, and the folder cannot "
				    "be written to: %s",
				    d->root, strerror(errno));
	/* Another command may have done it. */
	int result = open_index(d, &is_lost, error);
	if (result != 0 && is_lost) {
		result = mw_index_rebuild(d->root, d->index, &left_out, error);
		if (result == 0)
			result = open_index(d, &is_lost, error);
	}
	unlock(fd);
	return result;
}

static void close_directory(void *self) {
	directory_t *d = self;
	mw_database_close(d->database);
	free(d->root);
	free(d->index);
	free(d->lock);
	free(d);
}

/* Links of the directory's own folders would lead what is written to a place that their maker
 * chose. */
static int check_folders(const char *root, mw_error_t *error) {
	static const char *const names[] = {"profiles", "incoming", "symbols", "index.sqlite"};
	int result = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && result == 0; i++) {
		struct stat info;
		char *path = join(root, names[i]);
		if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
			result = mw_error_set(error, "%s: it is a link; a store has none", path);
		free(path);
	}
	return result;
}

/* Makes or finds the directory, whose path has no links then. */
static int find_root(directory_t *d, const char *root, bool may_create, mw_error_t *error) {
	if (may_create && mw_files_create(root, error) != 0)
		return -1;
	d->root = realpath(root, NULL);
	char *profiles = d->root != NULL ? join(d->root, "profiles") : NULL;
	int result = 0;
	if (profiles == NULL || access(profiles, F_OK) != 0)
		result = mw_error_set(error, "%s: no store there: %s", root, strerror(errno));
	free(profiles);
	return result == 0 ? check_folders(d->root, error) : -1;
}

static int open_directory(const char *url, const mw_store_options_t *options, bool may_create,
			  void **self, mw_error_t *error) {
	const char *root = url + strlen(MW_STORE_DIRECTORY);
	bool is_lost;
	(void)options;
	if (root[0] != '/')
		return mw_error_set(error, "%s: a directory is written dir:///PATH", url);
	directory_t *d = mw_xcalloc(1, sizeof(*d));
	int result = find_root(d, root, may_create, error);
	if (result == 0) {
		d->index = join(d->root, "index.sqlite");
		d->lock = join(d->root, "lock");
	}
	d->may_write = access(root, W_OK) == 0;
	if (result == 0 && open_index(d, &is_lost, error) != 0)
		result = is_lost ? make_anew(d, error) : -1;
	if (result == 0 && may_create)
		mw_index_finish_puts(d->root, d->database);
	if (result != 0)
		close_directory(d);
	else
		*self = d;
	return result;
}

/* Removes a damaged index: open_index() finds the file that is damaged inside whole. */
static bool remove_index(directory_t *d) {
	int fd = lock(d, LOCK_EX);
	if (fd < 0)
		return false;
	mw_database_close(d->database);
	d->database = NULL;
	unlink(d->index);
	unlock(fd);
	return true;
}

/* After a failure: makes a damaged index anew, and opens the one that another command has made
 * since.  True: the caller tries once more. */
static bool is_mended(directory_t *d, mw_error_t *error) {
	bool is_removed = mw_database_is_damaged(d->database) && remove_index(d);
	return (is_removed || mw_database_is_replaced(d->database)) && make_anew(d, error) == 0;
}

static int enter(directory_t *d, const mw_put_t *put, const mw_batch_t *batch,
		 const mw_file_name_t *name, mw_error_t *error) {
	mw_database_begin(d->database);
	mw_index_add(d->database, put, batch);
	int result = mw_database_end(d->database, d->index, error);
	if (result != 0)
		mw_files_drop_incoming(d->root, name);
	return result;
}

static int put_once(directory_t *d, const mw_put_t *put, const mw_batch_t *batch, bool *may_retry,
		    mw_error_t *error) {
	const mw_file_name_t name = mw_file_name_of(put);
	int fd = lock(d, LOCK_SH);
	*may_retry = true;
	if (fd < 0)
		return mw_error_set(error, "%s: cannot lock: %s", d->lock, strerror(errno));
	int result = mw_files_write(d->root, &name, put, batch, error);
	if (result == 0) {
		result = enter(d, put, batch, &name, error);
		*may_retry = result == 0 || mw_database_may_retry(d->database);
	}
	/* The index has it: if the file cannot be moved now, the next put moves it. */
	if (result == 0)
		mw_files_move(d->root, &name, NULL);
	unlock(fd);
	return result;
}

static int put_profile(void *self, const mw_put_t *put, const mw_batch_t *batch, bool *may_retry,
		       mw_error_t *error) {
	directory_t *d = self;
	if (put->time_ns < 0)
		return mw_error_set(error, "%s: the profile's time is before 1970", d->root);
	int result = put_once(d, put, batch, may_retry, error);
	if (result != 0 && is_mended(d, error))
		result = put_once(d, put, batch, may_retry, error);
	return result;
}

/* The files go first: as long as one is there, the index names the day, and the next command drops
 * it.  On a full disk that also makes room for the undo log of the index.  No profile is on its way
 * to the day's folder meanwhile. */
static int drop_once(directory_t *d, int64_t day, mw_error_t *error) {
	int fd = lock(d, LOCK_EX);
	if (fd < 0)
		return mw_error_set(error, "%s: cannot lock: %s", d->lock, strerror(errno));
	int result = mw_files_drop_day(d->root, day, error);
	if (result == 0) {
		mw_database_begin(d->database);
		mw_index_drop_day(d->database, day);
		result = mw_database_end(d->database, d->index, error);
	}
	unlock(fd);
	return result;
}

static int drop_day(void *self, int64_t day, mw_error_t *error) {
	directory_t *d = self;
	int result = drop_once(d, day, error);
	if (result != 0 && is_mended(d, error))
		result = drop_once(d, day, error);
	return result;
}

static mw_database_t *begin_question(directory_t *d) {
	mw_database_begin_reading(d->database);
	return d->database;
}

/* Ends a question: -1 if it failed.  A damaged index is made anew for the next one. */
static int end_question(directory_t *d, mw_error_t *error) {
	mw_database_end_reading(d->database);
	if (mw_database_failed(d->database, d->index, error) == 0)
		return 0;
	is_mended(d, NULL);
	return -1;
}

static int get_samples(void *self, const mw_range_t *range, mw_sum_t sum, int value, size_t most,
		       mw_batch_t *batch, int64_t other[MW_VALUES], mw_counted_t *counted,
		       mw_error_t *error) {
	directory_t *d = self;
	mw_query_samples(begin_question(d), range, sum, batch, counted);
	mw_batch_cut(batch, value, most, other);
	return end_question(d, error);
}

static int get_stacks(void *self, mw_batch_t *batch, mw_error_t *error) {
	directory_t *d = self;
	mw_query_stacks(begin_question(d), batch);
	return end_question(d, error);
}

static int get_timeline(void *self, const mw_range_t *range, int64_t step_ns, mw_point_t **points,
			size_t *count, mw_error_t *error) {
	directory_t *d = self;
	*points = mw_query_timeline(begin_question(d), range, step_ns, count);
	return end_question(d, error);
}

static int get_services(void *self, const mw_range_t *range, mw_service_row_t **services,
			size_t *count, mw_error_t *error) {
	directory_t *d = self;
	*services = mw_query_services(begin_question(d), range, count);
	return end_question(d, error);
}

static int get_names(void *self, mw_batch_t *batch, mw_error_t *error) {
	directory_t *d = self;
	mw_query_names(begin_question(d), batch);
	return end_question(d, error);
}

static int get_holders(void *self, const mw_range_t *range, const uint64_t *locations,
		       size_t location_count, mw_service_row_t **services, size_t *count,
		       mw_error_t *error) {
	directory_t *d = self;
	*services = mw_query_holders(begin_question(d), range, locations, location_count, count);
	return end_question(d, error);
}

static int has_symbols(void *self, const char *const *build_ids, size_t count, bool *has,
		       mw_error_t *error) {
	directory_t *d = self;
	mw_symbols_known(begin_question(d), build_ids, count, has);
	return end_question(d, error);
}

static int put_symbols_once(directory_t *d, const char *build_id, const mw_batch_t *batch,
			    const uint64_t *ends, mw_error_t *error) {
	int fd = lock(d, LOCK_SH);
	if (fd < 0)
		return mw_error_set(error, "%s: cannot lock: %s", d->lock, strerror(errno));
	int result = mw_symbols_write(d->root, build_id, batch, ends, error);
	if (result == 0) {
		mw_database_begin(d->database);
		mw_symbols_add(d->database, build_id, batch, ends);
		result = mw_database_end(d->database, d->index, error);
	}
	unlock(fd);
	return result;
}

static int put_symbols(void *self, const char *build_id, const mw_batch_t *batch,
		       const uint64_t *ends, mw_error_t *error) {
	directory_t *d = self;
	int result = put_symbols_once(d, build_id, batch, ends, error);
	if (result != 0 && is_mended(d, error))
		result = put_symbols_once(d, build_id, batch, ends, error);
	return result;
}

const mw_backend_t mw_directory_backend = {
	.open = open_directory,
	.close = close_directory,
	.put = put_profile,
	.drop_day = drop_day,
	.samples = get_samples,
	.stacks = get_stacks,
	.timeline = get_timeline,
	.services = get_services,
	.names = get_names,
	.holders = get_holders,
	.has_symbols = has_symbols,
	.put_symbols = put_symbols,
};
