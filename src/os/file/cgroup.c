/* SPDX-License-Identifier: MIT
 * cgroup.c -- finds the process's group in /proc/self/cgroup and the group's files by
 * /proc/self/mountinfo (cgroups(7), proc(5)). */
#include "os/file/cgroup.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/fmt.h"
#include "base/libc_text.h"
#include "os/file/file.h"

/* Longest line and path that are read; those of container runtimes are far shorter. */
#define LINE_BYTES 2048
#define PATH_BYTES 1024
/* Version 1 writes the largest multiple of a page in 63 bits where there is no limit. */
#define UNLIMITED_BYTES ((uint64_t)1 << 62)

typedef struct search {
	const char *root;
	bool unified;           /* true: the hierarchy is version 2 */
	char group[PATH_BYTES]; /* path of the process's group in its hierarchy */
	uint64_t limit_bytes;
} search_t;

/* Calls `visit` for each line of a file, with the line NUL-terminated. */
static void visit_lines(const char *root, const char *name,
			void (*visit)(search_t *search, char *line), search_t *search) {
	char path[PATH_BYTES], text[LINE_BYTES];
	if (mw_fmt(path, sizeof path, "%s%s", root, name) >= sizeof path)
		return;
	int file = mw_os_open(MW_OS_NO_DIRECTORY, path, MW_OS_READ);
	if (file < 0)
		return;
	size_t held = 0;
	bool skipping = false;
	for (;;) {
		long got = mw_os_read(file, text + held, sizeof text - held);
		if (got <= 0)
			break;
		held += (size_t)got;
		char *line = text, *end;
		while ((end = mw_memchr(line, '\n', held - (size_t)(line - text))) != NULL) {
			*end = '\0';
			if (!skipping)
				visit(search, line);
			skipping = false;
			line = end + 1;
		}
		held -= (size_t)(line - text);
		mw_memmove(text, line, held);
		if (held == sizeof text) {
			skipping = true;
			held = 0;
		}
	}
	mw_os_close(file);
}

/* Returns whether `word` is one of the comma-separated words of `list`. */
static bool has_word(const char *list, size_t length, const char *word) {
	size_t word_length = mw_strlen(word);
	for (const char *end = list + length; list < end;) {
		const char *comma = mw_memchr(list, ',', (size_t)(end - list));
		size_t here = comma ? (size_t)(comma - list) : (size_t)(end - list);
		if (here == word_length && memcmp(list, word, here) == 0)
			return true;
		list += here + 1;
	}
	return false;
}

/* Reads a line such as "0::/path" or "4:memory,hugetlb:/path". */
static void find_group(search_t *search, char *line) {
	char *controllers = mw_strchr(line, ':');
	char *path = controllers ? mw_strchr(controllers + 1, ':') : NULL;
	if (!path)
		return;
	controllers++;
	size_t length = (size_t)(path++ - controllers);
	bool ours = search->unified ? length == 0 : has_word(controllers, length, "memory");
	if (ours && mw_strlen(path) < sizeof search->group)
		memcpy(search->group, path, mw_strlen(path) + 1);
}

static char *next_field(char **cursor) {
	char *field = *cursor, *end = mw_strchrnul(field, ' ');
	*cursor = *end ? end + 1 : end;
	*end = '\0';
	return field;
}

/* Decodes blanks and other characters, which mountinfo writes as a backslash and three octal
 * digits. */
static void decode(char *text) {
	char *to = text;
	for (; *text; text++) {
		if (text[0] == '\\' && mw_strlen(text) >= 4) {
			*to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

static void read_limit(search_t *search, const char *folder, const char *name) {
	char path[PATH_BYTES], text[32];
	if (mw_fmt(path, sizeof path, "%s%s/%s", search->root, folder, name) >= sizeof path ||
	    mw_os_read_text(path, text, sizeof text) == 0 || text[0] < '0' || text[0] > '9')
		return; /* the file is missing, as in the root group, or holds "max" */
	uint64_t bytes = 0;
	for (const char *digit = text; *digit >= '0' && *digit <= '9'; digit++)
		bytes = bytes >= UNLIMITED_BYTES / 10 ? UNLIMITED_BYTES
						      : bytes * 10 + (uint64_t)(*digit - '0');
	if (bytes < UNLIMITED_BYTES && bytes < search->limit_bytes)
		search->limit_bytes = bytes;
}

/* Returns the group's path below its mount point; "": the mount shows the group itself, or a group
 * outside of the namespace. */
static const char *below_mount(const char *group, const char *mounted) {
	size_t length = mw_strcmp(mounted, "/") == 0 ? 0 : mw_strlen(mounted);
	if (mw_strncmp(group, mounted, length) != 0 || group[length] != '/' ||
	    mw_strstr(group + length, "/..") || group[length + 1] == '\0')
		return "";
	return group + length;
}

/* Reads a line such as "36 35 98:0 /group/shown /mount/point options tags - type source
 * super,options". */
static void look_at_mount(search_t *search, char *line) {
	char *tail = mw_strstr(line, " - ");
	if (!tail)
		return;
	*tail = '\0';
	tail += 3;
	char *type = next_field(&tail);
	next_field(&tail);
	bool ours = search->unified ? mw_strcmp(type, "cgroup2") == 0
				    : mw_strcmp(type, "cgroup") == 0 &&
					      has_word(tail, mw_strlen(tail), "memory");
	if (!ours)
		return;
	for (int i = 0; i < 3; i++)
		next_field(&line);
	char *mounted = next_field(&line), *point = next_field(&line);
	decode(mounted);
	decode(point);
	char folder[PATH_BYTES];
	if (mw_fmt(folder, sizeof folder, "%s%s", point, below_mount(search->group, mounted)) >=
	    sizeof folder)
		return;
	/* Reads the limits of the group and of each group around it: a limit holds for all groups
	 * within. */
	for (size_t top = mw_strlen(point);;) {
		if (search->unified) {
			read_limit(search, folder, "memory.max");
			read_limit(search, folder, "memory.high");
		} else {
			read_limit(search, folder, "memory.limit_in_bytes");
		}
		char *slash = mw_strrchr(folder, '/');
		if (!slash || (size_t)(slash - folder) < top)
			return;
		*slash = '\0';
	}
}

uint64_t mw_os_cgroup_limit_bytes(const char *root) {
	search_t search = {.root = root, .limit_bytes = UINT64_MAX};
	for (int version = 1; version <= 2; version++) {
		search.unified = version == 2;
		search.group[0] = '\0';
		visit_lines(root, "/proc/self/cgroup", find_group, &search);
		if (search.group[0])
			visit_lines(root, "/proc/self/mountinfo", look_at_mount, &search);
	}
	return search.limit_bytes;
}
