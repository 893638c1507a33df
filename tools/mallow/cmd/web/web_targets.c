/* SPDX-License-Identifier: MIT
 * web_targets.c -- checks and lists what the page may show. */
#include "cmd/web/web_targets.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/input/directory.h"
#include "cmd/store/question.h"
#include "live/target.h"
#include "model/memory.h"

#define PATH_BYTES 4096

static bool is_pid(const char *text) {
	return *text != '\0' && strlen(text) < 10 && strspn(text, "0123456789") == strlen(text);
}

/* Each question reads its file anew, which a pipe does not allow. */
static bool is_file_or_directory(const char *path) {
	struct stat info;
	return stat(path, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
}

static bool is_file(const char *path) {
	struct stat info;
	return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Replaces the name of a process by its pid. A word with a slash, an option and a file or directory
 * of this name are left as they are. */
static int name_to_pid(char **operand, mw_error_t *error) {
	mw_target_t target;
	if (**operand == '-' || strchr(*operand, '/') != NULL || is_pid(*operand) ||
	    mw_is_directory(*operand))
		return 0;
	if (mw_target_resolve(*operand, &target, error) != 0)
		return -1;
	if (target.is_pid) {
		char *pid = NULL;
		if (asprintf(&pid, "%d", target.pid) > 0)
			*operand = pid; /* until the server ends */
	}
	mw_target_release(&target);
	return 0;
}

int mw_web_targets_check(char **operands, size_t count, mw_error_t *error) {
	for (size_t i = 0; i < count; i++) {
		if (name_to_pid(&operands[i], error) != 0)
			return -1;
		const char *operand = operands[i];
		bool is_there = *operand != '-' && access(operand, R_OK) == 0;
		if (is_pid(operand) || (is_there && is_file_or_directory(operand)))
			continue;
		return mw_error_set(error,
				    "%s: %s; allowed: a process, a profile, or a directory of "
				    "profiles",
				    operand,
				    is_there || *operand == '-' ? "not a file" : strerror(errno));
	}
	return 0;
}

int mw_web_store_take(const char *text, char **store, mw_error_t *error) {
	mw_question_t q;
	mw_store_t *opened;
	*store = NULL;
	if (text == NULL)
		return 0;
	if (mw_question_parse_store(text, 0, &q, error) != 0)
		return -1;
	int result = mw_question_open(&q, false, &opened, error);
	if (result == 0) {
		mw_store_close(opened);
		*store = mw_xstrdup(q.store);
	}
	mw_question_free(&q);
	return result;
}

static bool is_file_of(const char *directory, const char *target) {
	size_t length = strlen(directory);
	const char *name = target + length + 1;
	return strncmp(target, directory, length) == 0 && target[length] == '/' && *name != '.' &&
	       *name != '\0' && strchr(name, '/') == NULL && mw_is_directory(directory) &&
	       is_file(target);
}

bool mw_web_targets_allow(const mw_web_targets_t *targets, const char *target) {
	size_t store = targets->store != NULL ? strlen(targets->store) : 0;
	if (store > 0 && strncmp(target, targets->store, store) == 0 && target[store] == '/')
		return strchr(target + store + 1, '/') == NULL;
	if (targets->count == 0)
		return store == 0 && is_pid(target);
	for (size_t i = 0; i < targets->count; i++)
		if (strcmp(targets->operands[i], target) == 0 ||
		    is_file_of(targets->operands[i], target))
			return true;
	return false;
}

/* Files that are no profiles are listed, too: a view of them says what they are. */
static void add_files(json_t *list, const char *directory) {
	struct dirent **names;
	int count = scandir(directory, &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char path[PATH_BYTES];
		int length = snprintf(path, sizeof(path), "%s/%s", directory, names[i]->d_name);
		if (names[i]->d_name[0] != '.' && length < (int)sizeof(path) && is_file(path))
			json_array_append_new(list, json_string(path));
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

char *mw_web_targets_list(const mw_web_targets_t *targets, bool has_control) {
	json_t *list = json_array();
	for (size_t i = 0; i < targets->count; i++) {
		if (mw_is_directory(targets->operands[i]))
			add_files(list, targets->operands[i]);
		else
			json_array_append_new(list, json_string(targets->operands[i]));
	}
	json_t *all = json_pack("{s:b, s:b, s:o, s:s?}", "all",
				targets->count == 0 && targets->store == NULL, "control",
				has_control, "targets", list, "store", targets->store);
	char *text = all != NULL ? json_dumps(all, JSON_COMPACT) : NULL;
	json_decref(all);
	return text;
}
