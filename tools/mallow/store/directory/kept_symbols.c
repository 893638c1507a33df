/* SPDX-License-Identifier: MIT
 * kept_symbols.c -- keeps the names of builds in files and in the index. */
#include "store/directory/kept_symbols.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/read.h"
#include "formats/write.h"
#include "libraries/sqlite.h"
#include "model/memory.h"
#include "store/directory/index/encode.h"

#define SUFFIX ".pb.gz"
/* Longest build-id in hexadecimal digits. */
#define BUILD_ID_MAX 128u

/* It becomes the name of a file. */
static bool is_build_id(const char *text) {
	size_t length = strspn(text, "0123456789abcdef");
	return length > 0 && length <= BUILD_ID_MAX && text[length] == '\0';
}

void mw_symbols_known(mw_database_t *d, const char *const *build_ids, size_t count, bool *has) {
	for (size_t i = 0; i < count; i++) {
		sqlite3_stmt *s =
			mw_database_prepare(d, "SELECT 1 FROM symbols WHERE build_id=?1 LIMIT 1");
		mw_bind_text(s, 1, build_ids[i]);
		has[i] = mw_database_step(d, s);
		if (has[i])
			mw_sqlite.reset(s);
	}
}

static mw_profile_t *profile_of(const char *build_id, const mw_batch_t *batch,
				const uint64_t *ends) {
	mw_profile_t *p = mw_profile_new();
	const mw_mapping_t mapping = {.limit = UINT64_MAX,
				      .build_id = mw_profile_intern(p, build_id),
				      .has_functions = true};
	uint32_t file = mw_profile_append_mapping(p, &mapping);
	mw_profile_add_type(p, "symbols", "count");
	for (size_t i = 0; i < batch->location_count; i++) {
		const mw_row_location_t *from = &batch->locations[i];
		uint32_t location = mw_profile_append_location(p, file, from->offset, true);
		if (from->line_count > 0)
			mw_row_lines_set(p, location, batch->lines + from->line_first,
					 from->line_count);
		bool is_last = i + 1 == batch->location_count;
		if (is_last || batch->locations[i + 1].offset != ends[i])
			mw_profile_append_location(p, file, ends[i], true);
	}
	return p;
}

static char *path_of(const char *root, const char *build_id, const char *suffix) {
	char *path;
	if (asprintf(&path, "%s/symbols%s%s%s", root, build_id[0] != '\0' ? "/" : "", build_id,
		     suffix) < 0)
		abort();
	return path;
}

int mw_symbols_write(const char *root, const char *build_id, const mw_batch_t *batch,
		     const uint64_t *ends, mw_error_t *error) {
	if (!is_build_id(build_id))
		return mw_error_set(error, "build-id '%.40s': allowed: hexadecimal digits",
				    build_id);
	char *folder = path_of(root, "", "");
	if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
		int result = mw_error_set(error, "%s: cannot make the folder: %s", folder,
					  strerror(errno));
		free(folder);
		return result;
	}
	free(folder);
	char *path = path_of(root, build_id, SUFFIX);
	mw_profile_t *p = profile_of(build_id, batch, ends);
	int result = mw_write_profile(p, path, MW_FORMAT_PROTO, MW_GZIP_ON, error);
	mw_profile_free(p);
	free(path);
	return result;
}

static void add_range(mw_database_t *d, const char *build_id, uint64_t first, uint64_t past,
		      const mw_bytes_t *lines) {
	sqlite3_stmt *s =
		mw_database_prepare(d, "INSERT OR REPLACE INTO symbols VALUES(?1, ?2, ?3, ?4)");
	mw_bind_text(s, 1, build_id);
	mw_bind_number(s, 2, (int64_t)first);
	mw_bind_number(s, 3, (int64_t)past);
	mw_bind_bytes(s, 4, lines->bytes, lines->length);
	mw_database_step(d, s);
}

void mw_symbols_add(mw_database_t *d, const char *build_id, const mw_batch_t *batch,
		    const uint64_t *ends) {
	mw_bytes_t lines = {.length = 0};
	sqlite3_stmt *s = mw_database_prepare(d, "DELETE FROM symbols WHERE build_id=?1");
	mw_bind_text(s, 1, build_id);
	mw_database_step(d, s);
	for (size_t i = 0; i < batch->location_count; i++) {
		lines.length = 0;
		mw_encode_lines(&lines, batch, &batch->locations[i]);
		add_range(d, build_id, batch->locations[i].offset, ends[i], &lines);
	}
	free(lines.bytes);
}

static void enter_location(mw_batch_t *batch, const mw_profile_t *p, uint32_t number) {
	const mw_location_t *from = &p->locations[number];
	mw_row_line_t *lines = mw_xcalloc(from->line_count, sizeof(*lines));
	const mw_row_location_t location = {.id = number,
					    .build_id = "",
					    .path = "",
					    .offset = from->address,
					    .line_count = from->line_count};
	mw_row_lines_of(p, from, lines);
	mw_batch_add_location(batch, &location, lines);
	free(lines);
}

static void enter_file(mw_database_t *d, const char *build_id, const mw_profile_t *p) {
	mw_batch_t *batch = mw_batch_new();
	uint64_t *ends = mw_xcalloc(p->location_count, sizeof(*ends));
	for (uint32_t i = 1; i + 1 < p->location_count; i++) {
		if (p->locations[i].line_count == 0 ||
		    p->locations[i + 1].address <= p->locations[i].address)
			continue;
		ends[batch->location_count] = p->locations[i + 1].address;
		enter_location(batch, p, i);
	}
	mw_symbols_add(d, build_id, batch, ends);
	mw_batch_free(batch);
	free(ends);
}

void mw_symbols_enter_all(mw_database_t *d, const char *root) {
	char *path = path_of(root, "", "");
	DIR *folder = opendir(path);
	free(path);
	for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
		char build_id[BUILD_ID_MAX + sizeof(SUFFIX)];
		size_t length = strlen(e->d_name);
		if (length >= sizeof(build_id) || length <= strlen(SUFFIX) ||
		    strcmp(e->d_name + length - strlen(SUFFIX), SUFFIX) != 0)
			continue;
		snprintf(build_id, sizeof(build_id), "%.*s", (int)(length - strlen(SUFFIX)),
			 e->d_name);
		mw_profile_t *p;
		path = path_of(root, build_id, SUFFIX);
		if (is_build_id(build_id) && mw_read_profile(path, &p, NULL) == 0) {
			enter_file(d, build_id, p);
			mw_profile_free(p);
		}
		free(path);
	}
	if (folder != NULL)
		closedir(folder);
}
