/* SPDX-License-Identifier: MIT
 * profile_name.c -- names of the heap profiler's files, and the removal of old ones. */
#include "compat/gperftools/profile/profile_name.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "compat/gperftools/variables.h"

#define EXTENSION ".heap"

static bool fits(size_t length) {
	return length < PATH_MAX;
}

bool mw_gp_profile_name(char path[PATH_MAX], const char *prefix, unsigned number) {
	return fits(mw_fmt(path, PATH_MAX, "%s.%04u" EXTENSION, prefix, number));
}

static bool is_profile(const char *name, const char *prefix, size_t length) {
	size_t name_length = strlen(name), end = sizeof EXTENSION - 1;
	return strncmp(name, prefix, length) == 0 && name[length] == '.' &&
	       name_length >= length + 1 + end && strcmp(name + name_length - end, EXTENSION) == 0;
}

void mw_gp_remove_profiles(const char *prefix) {
	char path[PATH_MAX];
	const char *slash = strrchr(prefix, '/'), *name = slash ? slash + 1 : prefix;
	int folder_length = (int)(name - prefix);
	mw_fmt(path, sizeof path, "%.*s", folder_length ? folder_length : 1,
	       folder_length ? prefix : ".");
	DIR *folder = opendir(path);
	if (!folder)
		return;
	size_t length = strlen(name);
	const struct dirent *entry;
	while ((entry = readdir(folder)) != NULL) {
		if (!is_profile(entry->d_name, name, length) ||
		    !fits(mw_fmt(path, sizeof path, "%.*s%s", folder_length, prefix,
				 entry->d_name)))
			continue;
		mw_gp_log(1, "Removing old heap profile %s", path);
		unlink(path);
	}
	closedir(folder);
}
