/* SPDX-License-Identifier: MIT
 * marks.c -- the directory of marks: one file for each, named by process and time. */
#include "cmd/marks/marks.h"
#include "cmd/store/moment.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/print.h"
#include "cmd/input/load.h"
#include "formats/file/open_state_file.h"
#include "formats/write.h"
#include "model/memory.h"
#include "symbol/cache/cache_folder.h"

#define SECOND_NS ((int64_t)1000000000)
#define MARKS_MAX 16
#define MARK_SECONDS (7 * 86400)
#define SUFFIX ".pb.gz"

/* Returns the directory of marks, beside the symbol cache; NULL = there is no place for it. */
static char *marks_folder(void) {
	char *symbols = mw_cache_directory(), *directory = NULL;
	char *slash = symbols != NULL ? strrchr(symbols, '/') : NULL;
	if (slash != NULL &&
	    asprintf(&directory, "%.*s/marks", (int)(slash - symbols), symbols) < 0)
		directory = NULL;
	free(symbols);
	if (directory != NULL)
		mkdir(directory, 0700);
	return directory;
}

/* Writes the identity of a process as the name of its state file has it.  A pid alone may be
 * reused. */
static void name_process(const mw_snapshot_t *s, char *buffer, size_t size) {
	snprintf(buffer, size, "%" PRIu32 ".%" PRIu64 ".%" PRIu64 "@", s->header.pid,
		 s->header.start_ticks, s->header.pid_namespace);
}

bool mw_mark_name_is_good(const char *name) {
	bool has_letter = false;
	for (const char *c = name; *c != '\0'; c++) {
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
			return false;
		has_letter |= isalpha((unsigned char)*c) != 0;
	}
	int64_t time_ns;
	return has_letter && strlen(name) < MW_MARK_NAME_BYTES &&
	       !mw_moment_parse(name, (int64_t)mw_now_ns(), &time_ns);
}

/* Parses "<process>@<time>@<name>.pb.gz".  False: the file is no mark of this process. */
static bool read_name(const char *file, const char *process, mw_mark_file_t *mark) {
	size_t length = strlen(file), tail = strlen(SUFFIX);
	if (strncmp(file, process, strlen(process)) != 0 || length < tail ||
	    strcmp(file + length - tail, SUFFIX) != 0)
		return false;
	char *end;
	mark->time_ns = strtoll(file + strlen(process), &end, 10);
	size_t name = *end == '@' ? (size_t)(file + length - tail - end - 1) : MW_MARK_NAME_BYTES;
	if (name >= MW_MARK_NAME_BYTES)
		return false;
	memcpy(mark->name, end + 1, name);
	mark->name[name] = '\0';
	return true;
}

static int compare_marks(const void *left, const void *right) {
	const mw_mark_file_t *a = left, *b = right;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static void remove_old(const char *path) {
	struct stat info;
	if (stat(path, &info) == 0 && info.st_mtime + MARK_SECONDS < time(NULL))
		unlink(path);
}

mw_mark_file_t *mw_marks_of(const mw_snapshot_t *snapshot, size_t *count) {
	char process[96], *directory = marks_folder();
	mw_mark_file_t *marks = NULL;
	size_t capacity = 0;
	*count = 0;
	name_process(snapshot, process, sizeof(process));
	if (directory != NULL)
		mw_open_only_files_below(directory);
	DIR *entries = directory != NULL ? opendir(directory) : NULL;
	for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
		mw_mark_file_t mark;
		if (!read_name(entry->d_name, process, &mark) ||
		    asprintf(&mark.path, "%s/%s", directory, entry->d_name) < 0)
			continue;
		marks = mw_grow(marks, &capacity, *count + 1, sizeof(*marks));
		marks[(*count)++] = mark;
	}
	if (entries != NULL)
		closedir(entries);
	free(directory);
	if (*count > 1)
		qsort(marks, *count, sizeof(*marks), compare_marks);
	return marks;
}

void mw_marks_free(mw_mark_file_t *marks, size_t count) {
	for (size_t i = 0; i < count; i++)
		free(marks[i].path);
	free(marks);
}

/* Removes marks of all processes that are too old, and the oldest marks of this process. */
static void clean_up(const char *directory, const mw_snapshot_t *snapshot) {
	DIR *entries = opendir(directory);
	for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
		char *path;
		if (entry->d_name[0] == '.' ||
		    asprintf(&path, "%s/%s", directory, entry->d_name) < 0)
			continue;
		remove_old(path);
		free(path);
	}
	if (entries != NULL)
		closedir(entries);
	size_t count;
	mw_mark_file_t *marks = mw_marks_of(snapshot, &count);
	for (size_t i = 0; i + MARKS_MAX <= count; i++)
		unlink(marks[i].path);
	mw_marks_free(marks, count);
}

int mw_mark_write(const mw_snapshot_t *snapshot, const char *name, const mw_profile_t *profile,
		  mw_error_t *error) {
	char process[96], *directory = marks_folder(), *path = NULL;
	name_process(snapshot, process, sizeof(process));
	if (directory == NULL)
		return mw_error_set(
			error, "mark: no directory for marks is known; set XDG_CACHE_HOME or HOME");
	clean_up(directory, snapshot);
	int result = -1;
	if (asprintf(&path, "%s/%s%" PRId64 "@%s" SUFFIX, directory, process, snapshot->taken_ns,
		     name) < 0)
		path = NULL;
	if (path != NULL)
		result = mw_write_profile(profile, path, MW_FORMAT_PROTO, MW_GZIP_ON, error);
	free(path);
	free(directory);
	return result;
}

static int64_t distance(int64_t a, int64_t b) {
	return a > b ? a - b : b - a;
}

static const mw_mark_file_t *choose(const mw_mark_file_t *marks, size_t count, const char *when,
				    bool is_time, int64_t time_ns, int64_t now_ns) {
	/* Users type times with a precision of seconds. */
	const int64_t most_ns = (now_ns - time_ns) / 10 + 2 * SECOND_NS;
	const mw_mark_file_t *best = NULL;
	for (size_t i = 0; i < count; i++) {
		bool fits = is_time ? distance(marks[i].time_ns, time_ns) <= most_ns
				    : strcmp(marks[i].name, when) == 0;
		bool is_better =
			best == NULL || !is_time ||
			distance(marks[i].time_ns, time_ns) < distance(best->time_ns, time_ns);
		if (fits && is_better)
			best = &marks[i];
	}
	return best;
}

static int find_in(const mw_snapshot_t *snapshot, const char *option, const char *when, char **path,
		   int64_t *time_ns, mw_error_t *error) {
	size_t count;
	mw_mark_file_t *marks = mw_marks_of(snapshot, &count);
	int64_t now_ns = snapshot->time_ns;
	bool is_time = mw_moment_parse(when, now_ns, time_ns);
	const mw_mark_file_t *mark = choose(marks, count, when, is_time, *time_ns, now_ns);
	int result = 0;
	if (mark != NULL) {
		*path = mw_xstrdup(mark->path);
		*time_ns = mark->time_ns;
	} else if (!is_time) {
		result = mw_error_set(error,
				      "--%s does not take '%s'; allowed: a time ago such as 5m, "
				      "a time such as 14:30, or the name of a mark (this process "
				      "has %zu; see 'mallow mark')",
				      option, when, count);
	}
	mw_marks_free(marks, count);
	return result;
}

int mw_mark_find(const char *text, const char *option, const char *when, char **path,
		 int64_t *time_ns, mw_error_t *error) {
	mw_target_t target;
	mw_snapshot_t *snapshot = NULL;
	*path = NULL;
	if (mw_load_resolve(text, &target, error) != 0)
		return -1;
	int result = 0;
	if (!target.is_state)
		result = mw_error_set(error,
				      "%s: --%s needs a live process or a state file; give an "
				      "older profile with --base",
				      target.shown, option);
	if (result == 0)
		result = mw_target_read(&target, 0, &snapshot, error);
	if (result == 0)
		result = find_in(snapshot, option, when, path, time_ns, error);
	mw_snapshot_free(snapshot);
	mw_target_release(&target);
	return result;
}
