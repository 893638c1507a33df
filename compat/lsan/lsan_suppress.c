/* SPDX-License-Identifier: MIT
 * lsan_suppress.c -- a list in the order of the lines. */
#include "compat/lsan/lsan_suppress.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/fmt.h"

#define BLANKS " \t\r"
#define FILE_BYTES_MAX ((size_t)4 << 20)

static mw_lsan_suppression_t *first, **last = &first;

mw_lsan_suppression_t *mw_lsan_suppressions(void) {
	return first;
}

static void add_line(const char *line, size_t length) {
	static const char kind[] = "leak:";
	const size_t kind_length = sizeof kind - 1;
	while (length > 0 && strchr(BLANKS, line[length - 1]))
		length--;
	while (length > 0 && strchr(BLANKS, *line)) {
		line++;
		length--;
	}
	if (length == 0 || *line == '#')
		return;
	if (length <= kind_length || memcmp(line, kind, kind_length) != 0)
		mw_fatal("LeakSanitizer: failed to parse suppressions: '%.*s' is not leak:PATTERN",
			 length > 100 ? 100 : (int)length, line);
	length -= kind_length;
	mw_lsan_suppression_t *row = calloc(1, sizeof *row + length + 1);
	if (!row)
		mw_fatal("LeakSanitizer: no memory for suppressions");
	memcpy(row->pattern, line + kind_length, length);
	*last = row;
	last = &row->next;
}

void mw_lsan_suppressions_add(const char *text) {
	while (text && *text) {
		size_t length = strcspn(text, "\n");
		add_line(text, length);
		text += length + (text[length] == '\n');
	}
}

static int open_file(const char *path) {
	char beside[PATH_MAX];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file >= 0 || *path == '/')
		return file;
	ssize_t length = readlink("/proc/self/exe", beside, sizeof beside - 1);
	while (length > 0 && beside[length - 1] != '/')
		length--;
	if (length <= 0 || mw_fmt(beside + length, sizeof beside - (size_t)length, "%s", path) >=
				   sizeof beside - (size_t)length)
		return -1;
	return open(beside, O_RDONLY | O_CLOEXEC);
}

void mw_lsan_suppressions_read(const char *path) {
	int file = open_file(path);
	char *text = file >= 0 ? malloc(FILE_BYTES_MAX) : NULL;
	size_t used = 0;
	ssize_t got = -1;
	while (text && used < FILE_BYTES_MAX - 1 &&
	       (got = read(file, text + used, FILE_BYTES_MAX - 1 - used)) > 0)
		used += (size_t)got;
	if (got != 0)
		mw_fatal("LeakSanitizer: failed to read suppressions file '%.400s'", path);
	text[used] = '\0';
	mw_lsan_suppressions_add(text);
	free(text);
	close(file);
}
