/* SPDX-License-Identifier: MIT
 * print.c -- prints times, rates and flags for people and as JSON. */
#include "cli/print.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/complain.h"
#include "model/memory.h"
#include "model/text.h"
#include "report/text/resident_text.h"
#include "report/text/units.h"
#include "state/layout.h"

uint64_t mw_now_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* False: the calendar cannot express the time. */
static bool local_time(uint64_t realtime_ns, struct tm *out) {
	time_t seconds = (time_t)(realtime_ns / 1000000000u);
	return realtime_ns != 0 && localtime_r(&seconds, out);
}

const char *mw_show_time(uint64_t realtime_ns, char buffer[MW_SHOW_BYTES]) {
	struct tm then, now;
	snprintf(buffer, MW_SHOW_BYTES, "?");
	if (!local_time(realtime_ns, &then) || !local_time(mw_now_ns(), &now))
		return buffer;
	bool today = then.tm_year == now.tm_year && then.tm_yday == now.tm_yday;
	strftime(buffer, MW_SHOW_BYTES, today ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then);
	return buffer;
}

int64_t mw_whole_count(int64_t count_q16) {
	return (count_q16 + 32768) / 65536;
}

const char *mw_show_duration(uint64_t ns, char buffer[MW_SHOW_BYTES]) {
	unsigned long long seconds = ns / 1000000000u;
	if (seconds < 1)
		snprintf(buffer, MW_SHOW_BYTES, "%.0f ms", (double)ns / 1e6);
	else if (seconds < 10)
		snprintf(buffer, MW_SHOW_BYTES, "%.1f s", (double)ns / 1e9);
	else if (seconds < 120)
		snprintf(buffer, MW_SHOW_BYTES, "%llu s", seconds);
	else if (seconds < 2 * 3600)
		snprintf(buffer, MW_SHOW_BYTES, "%llu min", seconds / 60);
	else if (seconds < 2 * 86400)
		snprintf(buffer, MW_SHOW_BYTES, "%llu h %llu min", seconds / 3600,
			 seconds / 60 % 60);
	else
		snprintf(buffer, MW_SHOW_BYTES, "%llu d %llu h", seconds / 86400,
			 seconds / 3600 % 24);
	return buffer;
}

const char *mw_show_rate(uint64_t mean_bytes, char buffer[MW_SHOW_BYTES]) {
	if (mean_bytes == 1) {
		snprintf(buffer, MW_SHOW_BYTES, "1 (exact)");
		return buffer;
	}
	/* Powers of two are printed without decimals: "64 KiB" rather than "64.0 KiB". */
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	unsigned unit = 0;
	uint64_t whole = mean_bytes;
	while (whole >= 1024 && whole % 1024 == 0 && unit < 4) {
		whole /= 1024;
		unit++;
	}
	if (whole < 1024)
		snprintf(buffer, MW_SHOW_BYTES, "%u %s", (unsigned)whole, units[unit]);
	else
		mw_format_bytes((int64_t)(mean_bytes & INT64_MAX), buffer, MW_SHOW_BYTES);
	return buffer;
}

const char *mw_show_text(const char *text, char *buffer, size_t size) {
	size_t length = strnlen(text, size - 1);
	memmove(buffer, text, length);
	buffer[length] = '\0';
	return mw_text_clean(buffer, "");
}

const char *mw_show_arguments(const char *args, size_t capacity, char *buffer, size_t size) {
	size_t used = 0;
	while (capacity > 0 && args[capacity - 1] == '\0')
		capacity--;
	for (size_t i = 0; i < capacity && used + 1 < size; i++)
		buffer[used++] = args[i] == '\0' ? ' ' : args[i];
	buffer[used] = '\0';
	return mw_show_text(buffer, buffer, size);
}

static const struct {
	uint32_t flag;
	const char *name;
	const char *text;
} flag_texts[] = {
	{MW_STATE_ENDED, "ended", NULL},
	{MW_STATE_QUIT, "left", NULL},
	{MW_STATE_LIMITED, "limited", NULL},
	{MW_STATE_FORGOT, "forgot", NULL},
	{MW_STATE_ATTACHED, "attached", NULL},
	{MW_STATE_DETACHED, "detached", NULL},
	{MW_STATE_FILE_FULL, "file_full",
	 "the profile is truncated: the file system of the state file had no room"},
	{MW_STATE_STACKS_FULL, "stacks_full",
	 "too many different stacks: newer ones are counted as \"unknown\""},
	{MW_STATE_FRAMES_FULL, "frames_full",
	 "too many different frames: newer stacks are cut to their leaf"},
	{MW_STATE_RECORDS_FULL, "records_full",
	 "too many live samples: some count as allocated, but not as live"},
	{MW_STATE_MODULES_FULL, "modules_full",
	 "too many loaded libraries: some functions have no name"},
};

const char *mw_flag_text(unsigned bit) {
	for (size_t i = 0; i < sizeof(flag_texts) / sizeof(flag_texts[0]); i++)
		if (flag_texts[i].flag == 1u << bit)
			return flag_texts[i].text;
	return NULL;
}

const char *mw_flag_name(unsigned bit) {
	for (size_t i = 0; i < sizeof(flag_texts) / sizeof(flag_texts[0]); i++)
		if (flag_texts[i].flag == 1u << bit)
			return flag_texts[i].name;
	return "unknown";
}

void mw_show_flags(FILE *out, const char *indent, uint32_t flags) {
	for (unsigned bit = 0; bit < 32; bit++)
		if (flags & (1u << bit) && mw_flag_text(bit))
			fprintf(out, "%s%s\n", indent, mw_flag_text(bit));
}

json_t *mw_json_text(const char *text) {
	json_t *value = json_string(text);
	if (value)
		return value;
	char *clean = mw_text_clean(mw_xstrdup(text), "");
	value = json_string(clean);
	free(clean);
	return value;
}

/* jansson escapes C0 characters only; this escapes the other control characters, and replaces
 * those that change the order of a line. */
static void print_escaped(FILE *out, const char *text) {
	while (*text != '\0') {
		mw_character_t c = mw_text_character(text);
		if (c.is_order)
			fputc('?', out);
		else if (c.is_control && c.code != '\n')
			fprintf(out, "\\u%04" PRIx32, c.code);
		else
			fwrite(text, 1, c.bytes, out);
		text += c.bytes;
	}
}

static bool print_as(FILE *out, json_t *value, size_t layout) {
	char *text = json_dumps(value, layout | JSON_REAL_PRECISION(15));
	json_decref(value);
	if (text == NULL)
		return false;
	print_escaped(out, text);
	fputc('\n', out);
	free(text);
	return true;
}

json_t *mw_resident_json(const mw_resident_t *r, const char *arenas) {
	char text[MW_RESIDENT_TEXT_BYTES];
	if (r->bytes == 0)
		return NULL;
	json_t *value = json_object(), *parts = json_object();
	for (int i = 0; i < MW_RESIDENT_PARTS; i++)
		json_object_set_new(parts, mw_resident_part_name((mw_resident_part_t)i),
				    json_integer((json_int_t)r->parts[i]));
	json_object_set_new(value, "bytes", json_integer((json_int_t)r->bytes));
	json_object_set_new(value, "most_bytes", json_integer((json_int_t)r->most_bytes));
	json_object_set_new(value, "at", json_string(r->at_peak ? "peak" : "now"));
	json_object_set_new(value, "parts", parts);
	json_object_set_new(value, "block_bytes", json_integer((json_int_t)r->block_bytes));
	json_object_set_new(value, "touched_bytes", json_integer((json_int_t)r->touched_bytes));
	json_object_set_new(value, "arenas", arenas != NULL ? json_string(arenas) : json_null());
	json_object_set_new(value, "text", json_string(mw_resident_text(r, arenas, text)));
	return value;
}

bool mw_json_print(FILE *out, json_t *value) {
	return print_as(out, value, JSON_INDENT(2));
}

static int say_whether(bool is_printed) {
	if (!is_printed)
		mw_complain("standard output: cannot write the JSON");
	return is_printed ? MW_EXIT_FINE : MW_EXIT_TROUBLE;
}

int mw_print_json(json_t *value) {
	return say_whether(mw_json_print(stdout, value));
}

int mw_print_json_compact(json_t *value) {
	return say_whether(print_as(stdout, value, JSON_COMPACT));
}

void mw_print_wrapped(FILE *out, const char *text, int first, int indent, int columns) {
	int column = first;
	bool line_start = true;
	for (; *text; text += strspn(text, " ")) {
		if (*text == '\n') {
			fputc('\n', out);
			text++;
			column = 0;
			line_start = true;
			continue;
		}
		int length = (int)strcspn(text, " \n");
		if (!line_start && column + 1 + length > columns) {
			fputc('\n', out);
			column = 0;
			line_start = true;
		}
		if (column == 0)
			column = fprintf(out, "%*s", indent, "");
		column += fprintf(out, "%s%.*s", line_start ? "" : " ", length, text);
		line_start = false;
		text += length;
	}
	fputc('\n', out);
}

char *mw_profile_path(const char *directory, const char *program, unsigned pid,
		      uint64_t realtime_ns, const char *suffix) {
	char safe[64], time_text[32] = "0";
	struct tm then;
	size_t i = 0;
	for (; program[i] != '\0' && i + 1 < sizeof(safe); i++)
		safe[i] = isalnum((unsigned char)program[i]) || strchr("._+-", program[i])
				  ? program[i]
				  : '_';
	safe[i] = '\0';
	if (i == 0)
		snprintf(safe, sizeof(safe), "unknown");
	if (local_time(realtime_ns, &then))
		strftime(time_text, sizeof(time_text), "%Y%m%d-%H%M%S", &then);
	size_t length = directory != NULL ? strlen(directory) : 0;
	bool needs_slash = length > 0 && directory[length - 1] != '/';
	size_t size = length + sizeof(safe) + sizeof(time_text) + strlen(suffix) + 32;
	char *path = mw_xcalloc(size, 1);
	snprintf(path, size, "%s%smallow.%s.%u.%s%s", length > 0 ? directory : "",
		 needs_slash ? "/" : "", safe, pid, time_text, suffix);
	return path;
}
