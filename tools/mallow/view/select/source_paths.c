/* SPDX-License-Identifier: MIT
 * source_paths.c -- shortens names of source files. */
#include "view/select/source_paths.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

/* Changes the path in place. */
static void clean_path(char *path) {
	bool is_absolute = *path == '/';
	char *out = path + is_absolute, *floor = out, *at = path;
	while (*at != '\0') {
		at += strspn(at, "/");
		size_t length = strcspn(at, "/");
		bool is_up = length == 2 && at[0] == '.' && at[1] == '.';
		if (length == 0 || (length == 1 && *at == '.') ||
		    (is_up && is_absolute && out == floor)) {
			at += length;
			continue;
		}
		if (is_up && out > floor) {
			while (out > floor && *--out != '/')
				;
		} else {
			if (out > path + is_absolute)
				*out++ = '/';
			memmove(out, at, length);
			out += length;
			if (is_up)
				floor = out;
		}
		at += length;
	}
	*out = '\0';
}

void mw_clean_paths(mw_profile_t *p) {
	for (size_t i = 1; i < p->function_count; i++) {
		mw_function_t *f = &p->functions[i];
		const char *file = mw_profile_string(p, f->file);
		if (strstr(file, "/.") == NULL && strstr(file, "//") == NULL && *file != '.')
			continue;
		char *copy = mw_xstrdup(file);
		clean_path(copy);
		f->file = mw_profile_intern(p, copy);
		free(copy);
	}
}

/* Returns the next part between colons.  False: there is none. */
static bool next_piece(const char **list, const char **piece, size_t *length) {
	if (*list == NULL || **list == '\0')
		return false;
	*piece = *list;
	*length = strcspn(*list, ":");
	*list += *length + ((*list)[*length] == ':');
	return true;
}

static const char *behind_source(const char *path, const char *sources) {
	const char *piece;
	size_t length;
	while (next_piece(&sources, &piece, &length)) {
		while (length > 0 && piece[length - 1] == '/')
			length--;
		size_t last = length;
		while (last > 0 && piece[last - 1] != '/')
			last--;
		length -= last;
		for (const char *at = path; length > 0 && (at = strchr(at, '/')) != NULL; at++)
			if (strncmp(at + 1, piece + last, length) == 0 && at[1 + length] == '/')
				return at + length + 2;
	}
	return path;
}

static const char *behind_prefix(const char *path, const char *trim) {
	const char *piece;
	size_t length;
	while (next_piece(&trim, &piece, &length)) {
		while (length > 0 && piece[length - 1] == '/')
			length--;
		if (strncmp(path, piece, length) == 0 && path[length] == '/')
			return path + length + 1;
	}
	return path;
}

void mw_trim_paths(mw_profile_t *p, const char *trim, const char *sources) {
	for (size_t i = 1; i < p->function_count; i++) {
		const char *path = mw_profile_string(p, p->functions[i].file), *rest = path;
		if (trim == NULL)
			rest = behind_source(path, sources);
		if (rest == path)
			rest = behind_prefix(path, trim);
		/* Prefixes that sandboxed builds leave. */
		if (rest == path)
			rest = behind_prefix(path, "/proc/self/cwd/.:/proc/self/cwd");
		if (rest != path)
			p->functions[i].file = mw_profile_intern(p, rest);
	}
}
