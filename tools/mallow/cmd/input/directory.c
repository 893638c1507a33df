/* SPDX-License-Identifier: MIT
 * directory.c -- finds the dumps in a directory, and the newest dump of each process. */
#include "cmd/input/directory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/complain.h"
#include "formats/file/open_state_file.h"
#include "model/memory.h"

bool mw_is_directory(const char *path) {
	struct stat info;
	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int is_visible(const struct dirent *entry) {
	return entry->d_name[0] != '.' &&
	       (entry->d_type == DT_REG || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN);
}

int mw_directory_walk(const char *directory, mw_file_take_t *take, void *context, size_t *skipped,
		      mw_error_t *error) {
	struct dirent **entries;
	mw_open_only_files_below(directory);
	int count = scandir(directory, &entries, is_visible, alphasort);
	size_t taken = 0;
	mw_error_set(error, "%s: the directory holds no profile; give a directory of dumps",
		     directory);
	for (int i = 0; i < count; i++) {
		char *file;
		if (asprintf(&file, "%s/%s", directory, entries[i]->d_name) >= 0) {
			bool is_taken = take(context, file, error) == 0;
			taken += is_taken;
			*skipped += !is_taken;
			free(file);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return taken > 0 ? 0 : -1;
}

int64_t mw_dump_time_ns(const mw_profile_t *profile, const char *path) {
	struct stat file;
	if (profile->time_ns > 0)
		return profile->time_ns;
	if (stat(path, &file) != 0)
		return 0;
	return (int64_t)file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec;
}

/* ---- the newest of each process ---- */

typedef struct dump {
	mw_target_t target;
	mw_profile_t *profile; /* NULL = passed on already */
	char *process;         /* identifies the process; equal for all dumps of one process */
	int64_t time_ns;
} dump_t;

typedef struct dumps {
	dump_t *items;
	size_t count, capacity;
	mw_load_detail_t detail;
} dumps_t;

static void release(dump_t *dump) {
	mw_target_release(&dump->target);
	mw_profile_free(dump->profile);
	free(dump->process);
}

/* Returns the length of the first part between dots, or after the last dot, that is a number; 0
 * = none. *start is its begin. */
static size_t find_number(const char *name, const char **start) {
	for (const char *dot = strchr(name, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
		size_t digits = strspn(dot + 1, "0123456789");
		*start = dot + 1;
		if (digits > 0 && (dot[1 + digits] == '.' || dot[1 + digits] == '\0'))
			return digits;
	}
	return 0;
}

static char *process_of(const mw_profile_t *p, const char *path) {
	const char *name = strrchr(path, '/') + 1, *number;
	size_t digits = find_number(name, &number);
	char *process;
	/* The form of gperftools' names. */
	bool is_counted = digits > 0 && strcmp(number + digits, ".heap") == 0;
	int length = digits == 0 ? (int)strlen(name)
				 : (int)(number - name) + (is_counted ? 0 : (int)digits);
	int written = p->origin.pid != 0
			      ? asprintf(&process, "%s %u", mw_profile_string(p, p->origin.program),
					 p->origin.pid)
			      : asprintf(&process, "%.*s", length, name);
	return written < 0 ? mw_xstrdup(name) : process;
}

static void keep_newer(dump_t *known, dump_t dump) {
	if (known->time_ns <= dump.time_ns) {
		dump_t older = *known;
		*known = dump;
		dump = older;
	}
	release(&dump);
}

static int note_dump(void *context, const char *path, mw_error_t *error) {
	dumps_t *dumps = context;
	dump_t dump = {0};
	if (mw_target_resolve(path, &dump.target, error) != 0)
		return -1;
	if (mw_load(&dump.target, MW_LOAD_NO_SYMBOLS, dumps->detail, &dump.profile, error) != 0) {
		mw_target_release(&dump.target);
		return -1;
	}
	dump.process = process_of(dump.profile, path);
	dump.time_ns = mw_dump_time_ns(dump.profile, path);
	for (size_t i = 0; i < dumps->count; i++)
		if (strcmp(dumps->items[i].process, dump.process) == 0) {
			keep_newer(&dumps->items[i], dump);
			return 0;
		}
	dumps->items = mw_grow(dumps->items, &dumps->capacity, dumps->count + 1, sizeof(dump_t));
	dumps->items[dumps->count++] = dump;
	return 0;
}

int mw_directory_newest(const char *directory, mw_load_detail_t detail, mw_dump_take_t *take,
			void *context, mw_error_t *error) {
	dumps_t dumps = {.detail = detail};
	size_t skipped = 0;
	int result = mw_directory_walk(directory, note_dump, &dumps, &skipped, error);
	for (size_t i = 0; i < dumps.count; i++) {
		dump_t *dump = &dumps.items[i];
		if (result == 0) {
			mw_complain("note: %s: the newest of its process", dump->target.shown);
			result = take(context, &dump->target, dump->profile, error);
			dump->profile = NULL;
		}
		release(dump);
	}
	free(dumps.items);
	if (result == 0 && skipped > 0)
		mw_complain("note: left out %zu file%s without a profile", skipped,
			    skipped == 1 ? "" : "s");
	return result;
}
