/* SPDX-License-Identifier: MIT
 * debug_file.c -- checks whether libdwfl can find a debug file at all. */
#include "symbol/files/debug_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/files/debuginfod.h"

/* True if a file exists: `root`, `length` bytes of `directory`, `below`, then the link's name, or
 * `name`.debug if there is no link. */
static bool is_there(const char *root, const char *directory, size_t length, const char *below,
		     const char *name, bool is_link) {
	char path[8192];
	for (int suffix = 0; suffix < 2; suffix++) {
		int used = snprintf(path, sizeof(path), "%s%.*s%s%s%s", root, (int)length,
				    directory, below, name, suffix == 1 ? ".debug" : "");
		bool is_itself = root[0] == '\0' && below[1] == '\0' && !is_link && suffix == 0;
		if (!is_itself && used > 0 && (size_t)used < sizeof(path) &&
		    access(path, F_OK) == 0)
			return true;
	}
	return false;
}

/* True if libdwfl may find a debug file beside a file, or below usr/lib/debug of `root`, where
 * it removes leading parts of the file's directory one by one. libdwfl opens and checks a file
 * itself. */
static bool may_be_beside(const char *file, const char *link, const char *root) {
	char debug[4096];
	snprintf(debug, sizeof(debug), "%s/usr/lib/debug", root != NULL ? root : "");
	const char *slash = strrchr(file, '/');
	if (slash == NULL)
		return true;
	size_t length = (size_t)(slash - file);
	const char *name = link != NULL ? link : slash + 1;
	if (is_there("", file, length, "/", name, link != NULL) ||
	    is_there("", file, length, "/.debug/", name, link != NULL))
		return true;
	for (const char *rest = file; rest != NULL && rest <= slash; rest = strchr(rest + 1, '/'))
		if (is_there(debug, rest, (size_t)(slash - rest), "/", name, link != NULL))
			return true;
	return false;
}

static bool may_be_found(const char *file, const char *link, const char *root) {
	if (may_be_beside(file, link, root))
		return true;
	char *target = realpath(file, NULL); /* the debug file may be beside the target of a link */
	bool found = target != NULL && may_be_beside(target, link, root);
	free(target);
	return found;
}

int mw_debug_file_find(Dwfl_Module *module, void **user_data, const char *name, Dwarf_Addr base,
		       const char *file, const char *link, GElf_Word crc, char **found) {
	int fd =
		dwfl_build_id_find_debuginfo(module, user_data, name, base, file, link, crc, found);
	if (fd >= 0)
		return fd;
	/* A link with a slash names a file that several debug files share (dwz). */
	bool is_plain = file != NULL && (link == NULL || strchr(link, '/') == NULL);
	if (is_plain && !mw_debuginfod_is_allowed() && !may_be_found(file, link, *user_data))
		return -1;
	return dwfl_standard_find_debuginfo(module, user_data, name, base, file, link, crc, found);
}
