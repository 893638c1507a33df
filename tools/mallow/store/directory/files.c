/* SPDX-License-Identifier: MIT
 * files.c -- writes, moves, lists and reads the files of a directory. */
#include "store/directory/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "formats/read.h"
#include "formats/write.h"
#include "model/memory.h"

#define DAY_NS (INT64_C(86400) * 1000000000)

int64_t mw_day_of(int64_t time_ns) {
	return time_ns >= 0 ? time_ns / DAY_NS : (time_ns - DAY_NS + 1) / DAY_NS;
}

const char *mw_day_text(int64_t day, char text[16]) {
	time_t seconds = (time_t)(day * 86400);
	struct tm parts;
	if (gmtime_r(&seconds, &parts) == NULL || strftime(text, 16, "%Y-%m-%d", &parts) == 0)
		snprintf(text, 16, "unknown");
	return text;
}

mw_file_name_t mw_file_name_of(const mw_put_t *put) {
	mw_file_name_t name = {
		.day = mw_day_of(put->time_ns), .number = put->number, .kind = put->kind};
	snprintf(name.text, sizeof(name.text), "%020" PRId64 "-%s-%016" PRIx64 ".pb.gz",
		 put->time_ns, mw_kind_values(put->kind)->name, put->number);
	return name;
}

bool mw_file_name_parse(const char *text, mw_file_name_t *out) {
	char kind[16];
	int64_t time_ns;
	uint64_t number;
	int end = 0;
	if (sscanf(text, "%" SCNd64 "-%15[a-z]-%" SCNx64 ".pb.gz%n", &time_ns, kind, &number,
		   &end) != 3 ||
	    end == 0 || text[end] != '\0' || mw_kind_of_name(kind) == NULL)
		return false;
	const mw_put_t put = {
		.time_ns = time_ns, .number = number, .kind = mw_kind_of_name(kind)->kind};
	*out = mw_file_name_of(&put);
	return strcmp(out->text, text) == 0;
}

static char *path_of(const char *root, const char *folder, const char *day, const char *name) {
	char *path;
	if (asprintf(&path, "%s/%s%s%s%s%s", root, folder, day[0] != '\0' ? "/" : "", day,
		     name[0] != '\0' ? "/" : "", name) < 0)
		abort();
	return path;
}

static char *incoming_path(const char *root, const mw_file_name_t *name) {
	return path_of(root, "incoming", "", name->text);
}

static char *stored_path(const char *root, const mw_file_name_t *name) {
	char day[16];
	return path_of(root, "profiles", mw_day_text(name->day, day), name->text);
}

static int make_folder(const char *path, mw_error_t *error) {
	if (mkdir(path, 0777) == 0 || errno == EEXIST)
		return 0;
	return mw_error_set(error, "%s: cannot make the folder: %s", path, strerror(errno));
}

/* A link would lead profiles to a place that its maker chose. */
static int make_day(const char *root, const mw_file_name_t *name, mw_error_t *error) {
	char day[16];
	struct stat info;
	char *folder = path_of(root, "profiles", mw_day_text(name->day, day), "");
	int result = make_folder(folder, error);
	if (result == 0 && (lstat(folder, &info) != 0 || !S_ISDIR(info.st_mode)))
		result = mw_error_set(error, "%s: this is no folder; a day's profiles are in one",
				      folder);
	free(folder);
	return result;
}

int mw_files_create(const char *root, mw_error_t *error) {
	static const char *const folders[] = {"profiles", "incoming"};
	int result = make_folder(root, error);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && result == 0; i++) {
		char *path = path_of(root, folders[i], "", "");
		result = make_folder(path, error);
		free(path);
	}
	return result;
}

int mw_files_write(const char *root, const mw_file_name_t *name, const mw_put_t *put,
		   const mw_batch_t *batch, mw_error_t *error) {
	const int64_t nothing[MW_VALUES] = {0};
	mw_profile_t *p = mw_profile_of_batch(batch, put->kind, nothing);
	p->time_ns = put->time_ns;
	p->duration_ns = put->duration_ns;
	p->period = put->period;
	mw_identity_write(p, &put->identity);
	char *path = incoming_path(root, name);
	int result = make_day(root, name, error);
	if (result == 0)
		result = mw_write_profile(p, path, MW_FORMAT_PROTO, MW_GZIP_ON, error);
	free(path);
	mw_profile_free(p);
	return result;
}

/* Has the disk keep a folder's names. */
static void sync_folder(const char *path) {
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

static void sync_file(const char *path) {
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

int mw_files_move(const char *root, const mw_file_name_t *name, mw_error_t *error) {
	char day[16];
	char *folder = path_of(root, "profiles", mw_day_text(name->day, day), "");
	char *from = incoming_path(root, name), *to = stored_path(root, name);
	int result = make_day(root, name, error);
	if (result == 0) {
		sync_file(from);
		/* Another command may have moved it. */
		if (rename(from, to) != 0 && access(to, F_OK) != 0)
			result = mw_error_set(error, "%s: cannot move to %s: %s", from, to,
					      strerror(errno));
		sync_folder(folder);
	}
	free(folder);
	free(from);
	free(to);
	return result;
}

void mw_files_drop_incoming(const char *root, const mw_file_name_t *name) {
	char *path = incoming_path(root, name);
	unlink(path);
	free(path);
}

static int compare_names(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists a folder in the order of names.  The caller frees the names and the list. */
static char **list(const char *path, size_t *count) {
	char **names = NULL;
	size_t capacity = 0;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	*count = 0;
	if (folder == NULL && fd >= 0)
		close(fd);
	for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
		if (e->d_name[0] == '.')
			continue;
		names = mw_grow(names, &capacity, *count + 1, sizeof(*names));
		names[(*count)++] = mw_xstrdup(e->d_name);
	}
	if (folder != NULL)
		closedir(folder);
	if (*count > 1)
		qsort(names, *count, sizeof(*names), compare_names);
	return names;
}

static void each_in(const char *folder, mw_each_file_t *each, void *context) {
	size_t count;
	char **names = list(folder, &count);
	for (size_t i = 0; i < count; i++) {
		mw_file_name_t name;
		struct stat info;
		char *path = path_of(folder, names[i], "", "");
		if (mw_file_name_parse(names[i], &name) && lstat(path, &info) == 0 &&
		    S_ISREG(info.st_mode))
			each(context, path, &name, (int64_t)(time(NULL) - info.st_mtime));
		free(path);
		free(names[i]);
	}
	free(names);
}

void mw_files_incoming(const char *root, mw_each_file_t *each, void *context) {
	char *folder = path_of(root, "incoming", "", "");
	each_in(folder, each, context);
	free(folder);
}

void mw_files_drop_temporaries(const char *root, const char *folder, const char *prefix,
			       int64_t age_s) {
	size_t count;
	char *parent = path_of(root, folder, "", "");
	char **names = list(parent, &count);
	for (size_t i = 0; i < count; i++) {
		struct stat info;
		char *path = path_of(parent, names[i], "", "");
		/* SQLite adds an ending to that of the file. */
		if (strncmp(names[i], prefix, strlen(prefix)) == 0 &&
		    strstr(names[i], ".tmp") != NULL && lstat(path, &info) == 0 &&
		    time(NULL) - info.st_mtime >= age_s)
			unlink(path);
		free(path);
		free(names[i]);
	}
	free(names);
	free(parent);
}

void mw_files_stored(const char *root, mw_each_file_t *each, void *context) {
	size_t count;
	char *folder = path_of(root, "profiles", "", "");
	char **days = list(folder, &count);
	for (size_t i = 0; i < count; i++) {
		char *day = path_of(folder, days[i], "", "");
		each_in(day, each, context);
		free(day);
		free(days[i]);
	}
	free(days);
	free(folder);
}

int mw_files_read(const char *path, const mw_file_name_t *name, mw_stored_t *out,
		  mw_error_t *error) {
	*out = (mw_stored_t){.profile = NULL};
	if (mw_read_profile(path, &out->profile, error) != 0)
		return -1;
	const mw_profile_t *p = out->profile;
	int result = mw_identity_read(p, &out->identity, error);
	out->put = (mw_put_t){
		.identity = out->identity.identity,
		.kind = name->kind,
		.number = name->number,
		.time_ns = p->time_ns,
		.duration_ns = p->duration_ns,
		.period = p->period,
		.profile = p,
	};
	if (result != 0)
		mw_stored_free(out);
	return result;
}

void mw_stored_free(mw_stored_t *stored) {
	mw_read_identity_free(&stored->identity);
	mw_profile_free(stored->profile);
}

int mw_files_drop_day(const char *root, int64_t day, mw_error_t *error) {
	char text[16];
	size_t count;
	char *folder = path_of(root, "profiles", mw_day_text(day, text), "");
	char **names = list(folder, &count);
	int result = 0;
	for (size_t i = 0; i < count; i++) {
		mw_file_name_t name;
		char *path = path_of(folder, names[i], "", "");
		if (mw_file_name_parse(names[i], &name) && unlink(path) != 0 && errno != ENOENT &&
		    errno != EISDIR)
			result =
				mw_error_set(error, "%s: cannot remove: %s", path, strerror(errno));
		free(path);
		free(names[i]);
	}
	free(names);
	/* Files of others keep the folder. */
	rmdir(folder);
	free(folder);
	return result;
}
