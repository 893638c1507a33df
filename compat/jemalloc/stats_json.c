/* SPDX-License-Identifier: MIT
 * stats_json.c -- writes all readable control names as one JSON object. A name's parts are keys,
 * and an index is an array, as in jemalloc's output. */
#include <string.h>

#include "base/fmt.h"
#include "compat/jemalloc/mallctl/mallctl.h"
#include "compat/jemalloc/stats_print.h"

/* State of the output, and the index of each part of the name that is being read. */
typedef struct json {
	const mw_printer_t *out;
	size_t mib[MW_CTL_PARTS_MAX + 1];
	unsigned depth;
	bool first; /* true: the open object or array is still empty */
} json_t;

/* Begins an item on a new line: stderr is written line by line. */
static MW_PRINTF(2, 3) void item(json_t *json, const char *format, ...) {
	static const char tabs[] = "\t\t\t\t\t\t\t\t\t\t";
	char text[512];
	va_list args;
	va_start(args, format);
	mw_vfmt(text, sizeof text, format, args);
	va_end(args);
	mw_print_text(json->out, "%s%.*s%s\n", json->first ? "" : ",", (int)json->depth, tabs,
		      text);
	json->first = false;
}

static void begin(json_t *json, const char *key, size_t length, char bracket) {
	if (key)
		item(json, "\"%.*s\": %c", (int)length, key, bracket);
	else
		item(json, "%c", bracket);
	json->depth++;
	json->first = true;
}

static void end(json_t *json, char bracket) {
	json->depth--;
	json->first = true; /* no comma before the next item */
	item(json, "%c", bracket);
}

/* Returns the key that jemalloc's output has for this part of a name. */
static const char *key_of(const char *part) {
	static const char *const renamed[][2] = {{"uptime", "uptime_ns"},
						 {"hpa_sec_bytes", "sec_bytes"}};
	for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
		if (strcmp(part, renamed[i][0]) == 0)
			return renamed[i][1];
	return part;
}

static void quote(const char *text, char *quoted, size_t room) {
	size_t length = 0;
	for (; *text && length + 7 < room; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '"' || c == '\\')
			quoted[length++] = '\\';
		if (c >= ' ')
			quoted[length++] = (char)c;
		else
			length += mw_fmt(quoted + length, room - length, "\\u%04x", c);
	}
	quoted[length] = '\0';
}

static void print_value(json_t *json, const mw_mallctl_row_t *row, const char *part,
			size_t part_number) {
	uint64_t value = 0;
	size_t length = row->bytes;
	if (mw_mallctl_by_mib(json->mib, part_number + 1, &value, &length, NULL, 0) != 0)
		return;
	char words[384];
	switch (row->type) {
	case MW_MALLCTL_FLAG:
		item(json, "\"%s\": %s", key_of(part), value ? "true" : "false");
		break;
	case MW_MALLCTL_NUMBER:
		item(json, "\"%s\": %lu", key_of(part), (unsigned long)value);
		break;
	case MW_MALLCTL_SIGNED:
		item(json, "\"%s\": %ld", key_of(part), (long)value);
		break;
	case MW_MALLCTL_FIXED:
		mw_print_fixed((uint32_t)value, words, sizeof words);
		item(json, "\"%s\": %s", key_of(part), words);
		break;
	case MW_MALLCTL_TEXT:
		quote(value ? (const char *)(uintptr_t)value : "", words, sizeof words);
		item(json, "\"%s\": \"%s\"", key_of(part), words);
		break;
	case MW_MALLCTL_OTHER:
		break;
	}
}

static bool is(const char *part, size_t length, const char *name) {
	return strlen(name) == length && memcmp(part, name, length) == 0;
}

/* Part 3 is the first part below an arena's prefix. */
static bool is_wanted(const mw_printer_t *out, const char *part, size_t length,
		      size_t part_number) {
	if (is(part, length, "bins"))
		return out->bins;
	if (is(part, length, "lextents"))
		return out->large;
	if (is(part, length, "mutexes") || is(part, length, "mutex"))
		return out->mutexes;
	if (is(part, length, "extents"))
		return out->extents;
	return out->hpa || part_number != 3 || strncmp(part, "hpa_s", 5) != 0;
}

/* Returns the first row after `row` whose name differs within the first `length` characters. */
static size_t next_group(size_t row, size_t length) {
	const char *name = mw_mallctl_name(row), *other;
	size_t next = row + 1;
	while ((other = mw_mallctl_name(next)) && strncmp(name, other, length) == 0)
		next++;
	return next;
}

static void print_rows(json_t *json, size_t row, size_t limit, size_t offset, size_t part_number);

/* Prints the rows `row` to `limit`, which have an index at `offset`. The first row gives the number
 * of entries. */
static void print_array(json_t *json, const char *key, size_t length, size_t row, size_t limit,
			size_t offset, size_t part_number) {
	mw_mallctl_row_t first = mw_mallctl_row(row);
	begin(json, key, length, '[');
	for (size_t i = 0;; i++) {
		uint64_t unused;
		size_t room = first.bytes;
		json->mib[part_number] = i;
		json->mib[0] = row;
		if (mw_mallctl_by_mib(json->mib, first.parts, &unused, &room, NULL, 0) != 0)
			break;
		begin(json, NULL, 0, '{');
		print_rows(json, row, limit, offset + sizeof "<i>." - 1, part_number + 1);
		end(json, '}');
	}
	end(json, ']');
}

/* Prints the rows whose names are equal up to `offset`, where part `part_number` begins. */
static void print_rows(json_t *json, size_t row, size_t limit, size_t offset, size_t part_number) {
	for (size_t next; row < limit; row = next) {
		const char *part = mw_mallctl_name(row) + offset;
		size_t length = strcspn(part, ".");
		mw_mallctl_row_t known = mw_mallctl_row(row);
		bool wanted = is_wanted(json->out, part, length, part_number);
		if (part[length] == '\0') {
			next = row + 1;
			json->mib[0] = row;
			if (known.readable && wanted)
				print_value(json, &known, part, part_number);
			continue;
		}
		next = next_group(row, offset + length + 1);
		if (!wanted)
			continue;
		json->mib[part_number] = 0;
		if (part[length + 1] == '<') {
			print_array(json, part, length, row, next, offset + length + 1,
				    part_number + 1);
			continue;
		}
		begin(json, part, length, '{');
		print_rows(json, row, next, offset + length + 1, part_number + 1);
		end(json, '}');
	}
}

/* Prints the rows that begin with `prefix`, up to those that begin with `until` (or NULL). */
static void print_section(json_t *json, const char *prefix, size_t part_number, const char *until) {
	size_t row = 0;
	while (strncmp(mw_mallctl_name(row), prefix, strlen(prefix)) != 0)
		row++;
	size_t limit = next_group(row, strlen(prefix));
	for (size_t i = row; until && i < limit; i++)
		if (strncmp(mw_mallctl_name(i), until, strlen(until)) == 0)
			limit = i;
	print_rows(json, row, limit, strlen(prefix), part_number);
}

static void print_object(json_t *json, const char *key, const char *prefix, const char *until) {
	begin(json, key, strlen(key), '{');
	print_section(json, prefix, 1, until);
	end(json, '}');
}

static void print_arena(json_t *json, const char *key, size_t arena) {
	begin(json, key, strlen(key), '{');
	json->mib[1] = 0;
	json->mib[2] = arena;
	print_section(json, "stats.arenas.<i>.", 3, NULL);
	end(json, '}');
}

static void print_arenas(json_t *json) {
	const mw_printer_t *out = json->out;
	begin(json, "stats.arenas", sizeof "stats.arenas" - 1, '{');
	if (out->merged)
		print_arena(json, "merged", MW_CTL_ARENAS_ALL);
	if (out->destroyed && mw_print_figure("arena.4097.initialized"))
		print_arena(json, "destroyed", MW_CTL_ARENAS_DESTROYED);
	for (size_t i = 0; out->unmerged && i < mw_print_figure("arenas.narenas"); i++) {
		char number[24], name[48];
		mw_fmt(number, sizeof number, "%zu", i);
		mw_fmt(name, sizeof name, "arena.%zu.initialized", i);
		if (mw_print_figure(name))
			print_arena(json, number, i);
	}
	end(json, '}');
}

void mw_print_json(const mw_printer_t *out) {
	json_t json = {.out = out, .first = true};
	begin(&json, NULL, 0, '{');
	begin(&json, "jemalloc", sizeof "jemalloc" - 1, '{');
	if (out->general) {
		item(&json, "\"version\": \"%s\"", mw_print_words("version"));
		print_object(&json, "config", "config.", NULL);
		print_object(&json, "opt", "opt.", NULL);
		print_object(&json, "prof", "prof.", "prof.stats.");
		print_object(&json, "arenas", "arenas.", NULL);
	}
	print_object(&json, "stats", "stats.", "stats.arenas.");
	if (out->merged || out->destroyed || out->unmerged)
		print_arenas(&json);
	end(&json, '}');
	end(&json, '}');
}
