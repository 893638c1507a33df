/* SPDX-License-Identifier: MIT
 * proc_maps.c -- reads /proc/self/maps in pieces, because a process may have 65,530 mappings. */
#include "os/file/proc_maps.h"

#include <string.h>

#include "base/compiler.h"
#include "base/fmt.h"
#include "base/libc_text.h"
#include "os/file/file.h"
#include "os/file/proc.h"

/* The kernel's default of vm.max_map_count. */
#define DEFAULT_MAPPINGS_MAX 65530u

static uint64_t parse_hex(const char **cursor) {
	uint64_t value = 0;
	for (;; (*cursor)++) {
		char c = **cursor;
		unsigned digit;
		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		else
			return value;
		value = value << 4 | digit;
	}
}

/* Parses a line "start-limit perms offset device inode path". */
static void parse_mapping(const char *line, mw_os_mapping_t *mapping) {
	const char *cursor = line;
	mapping->start = parse_hex(&cursor);
	cursor += *cursor == '-';
	mapping->limit = parse_hex(&cursor);
	cursor += *cursor == ' ';
	bool has_letters = mw_strnlen(cursor, 4) == 4;
	mapping->readable = has_letters && cursor[0] == 'r';
	mapping->writable = has_letters && cursor[1] == 'w';
	mapping->executable = has_letters && cursor[2] == 'x';
	mapping->shared = has_letters && cursor[3] == 's';
	cursor = mw_os_skip_fields(cursor, 1);
	mapping->file_offset = parse_hex(&cursor);
	cursor = mw_os_skip_fields(cursor, 3);
	mw_fmt(mapping->path, sizeof mapping->path, "%s", cursor);
}

typedef struct reader {
	bool (*visit)(void *context, const mw_os_mapping_t *mapping);
	void *context;
	mw_os_mapping_t mapping; /* of smaps: that the lines are about */
} reader_t;

static bool read_maps_line(reader_t *reader, const char *line) {
	parse_mapping(line, &reader->mapping);
	return reader->visit(reader->context, &reader->mapping);
}

/* A mapping's line is followed by lines that begin with a capital; the last has its flags. */
static bool read_smaps_line(reader_t *reader, const char *line) {
	if (line[0] < 'A' || line[0] > 'Z') {
		parse_mapping(line, &reader->mapping);
		return true;
	}
	if (mw_strncmp(line, "VmFlags:", 8) != 0)
		return true;
	reader->mapping.is_not_copied = mw_strstr(line, " dc") != NULL;
	reader->mapping.is_wiped = mw_strstr(line, " wf") != NULL;
	return reader->visit(reader->context, &reader->mapping);
}

static void read_lines(const char *path, bool (*read)(reader_t *reader, const char *line),
		       reader_t *reader) {
	int file = mw_os_open(MW_OS_NO_DIRECTORY, path, MW_OS_READ);
	if (file < 0)
		return;
	char text[1024];
	size_t held = 0;
	bool skipping = false, going = true;
	while (going) {
		long got = mw_os_read(file, text + held, sizeof text - 1 - held);
		if (got <= 0)
			break;
		held += (size_t)got;
		text[held] = '\0';
		char *line = text, *end;
		while (going && (end = mw_memchr(line, '\n', held - (size_t)(line - text)))) {
			*end = '\0';
			if (!skipping)
				going = read(reader, line);
			skipping = false;
			line = end + 1;
		}
		held -= (size_t)(line - text);
		mw_memmove(text, line, held);
		if (held < sizeof text - 1 || !going)
			continue;
		/* The path is longer than the buffer: the rest is dropped. */
		text[held] = '\0';
		if (!skipping)
			going = read(reader, text);
		skipping = true;
		held = 0;
	}
	mw_os_close(file);
}

void mw_os_visit_mappings(bool (*visit)(void *context, const mw_os_mapping_t *mapping),
			  void *context) {
	reader_t reader = {.visit = visit, .context = context};
	read_lines("/proc/self/maps", read_maps_line, &reader);
}

MW_COLD void mw_os_visit_mappings_of(uint32_t process_id,
				     bool (*visit)(void *context, const mw_os_mapping_t *mapping),
				     void *context) {
	char path[48];
	reader_t reader = {.visit = visit, .context = context};
	mw_fmt(path, sizeof path, "/proc/%u/maps", process_id);
	read_lines(path, read_maps_line, &reader);
}

MW_COLD void mw_os_visit_mapping_flags(uint32_t process_id,
				       bool (*visit)(void *context, const mw_os_mapping_t *mapping),
				       void *context) {
	char path[48];
	reader_t reader = {.visit = visit, .context = context};
	mw_fmt(path, sizeof path, "/proc/%u/smaps", process_id);
	read_lines(path, read_smaps_line, &reader);
}

unsigned mw_os_mappings_max(void) {
	char text[24] = "";
	unsigned number = 0;
	mw_os_read_text("/proc/sys/vm/max_map_count", text, sizeof text);
	for (const char *digit = text; *digit >= '0' && *digit <= '9' && number < 100000000u;
	     digit++)
		number = number * 10 + (unsigned)(*digit - '0');
	return number > 0 ? number : DEFAULT_MAPPINGS_MAX;
}
