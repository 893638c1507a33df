/* SPDX-License-Identifier: MIT
 * files.h -- the profile.proto files of a directory: profiles/YYYY-MM-DD/TIME-KIND-NUMBER.pb.gz.
 * Layer: store/directory.  Private to the folder.
 * A file is written in the folder incoming/ and moved when the index has it.  A file in incoming/
 * that the index has was stored by a command that was killed before it moved the file. */
#ifndef MW_TOOL_STORE_DIRECTORY_FILES_H
#define MW_TOOL_STORE_DIRECTORY_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/error.h"
#include "store/profile_store.h"
#include "store/row_batch.h"

/* Name of a profile's file, and what the name says. */
typedef struct mw_file_name {
	char text[80];
	int64_t day; /* days since 1970, UTC */
	uint64_t number;
	mw_kind_t kind;
} mw_file_name_t;

int64_t mw_day_of(int64_t time_ns);
/* Returns "2026-11-30" in `text`. */
const char *mw_day_text(int64_t day, char text[16]);

mw_file_name_t mw_file_name_of(const mw_put_t *put);
/* False: it is no such name. */
bool mw_file_name_parse(const char *text, mw_file_name_t *out);

/* Makes the directory with its folders. */
int mw_files_create(const char *root, mw_error_t *error);

/* Writes the put's file in incoming/, and makes its day's folder. */
int mw_files_write(const char *root, const mw_file_name_t *name, const mw_put_t *put,
		   const mw_batch_t *batch, mw_error_t *error);
/* Moves a file of incoming/ to its day's folder.  0 also if it is there already. */
int mw_files_move(const char *root, const mw_file_name_t *name, mw_error_t *error);
void mw_files_drop_incoming(const char *root, const mw_file_name_t *name);

typedef void mw_each_file_t(void *context, const char *path, const mw_file_name_t *name,
			    int64_t age_s);
/* Calls `each` for the files of incoming/, or of all days. */
void mw_files_incoming(const char *root, mw_each_file_t *each, void *context);
void mw_files_stored(const char *root, mw_each_file_t *each, void *context);

/* Removes files of a folder that were begun at least `age_s` seconds ago, and have not got their
 * names; only those that begin with `prefix`. */
void mw_files_drop_temporaries(const char *root, const char *folder, const char *prefix,
			       int64_t age_s);

/* Reads a file back as it was put.  Returns 0: the caller calls mw_stored_free(). */
typedef struct mw_stored {
	mw_put_t put; /* its texts belong to `identity`, its profile is `profile` */
	mw_read_identity_t identity;
	mw_profile_t *profile;
} mw_stored_t;
int mw_files_read(const char *path, const mw_file_name_t *name, mw_stored_t *out,
		  mw_error_t *error);
void mw_stored_free(mw_stored_t *stored);

/* Removes a day's profiles, and its folder if nothing else is there.  -1: some are left. */
int mw_files_drop_day(const char *root, int64_t day, mw_error_t *error);

#endif
