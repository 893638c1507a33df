/* SPDX-License-Identifier: MIT
 * dump_pattern.c -- makes names of files from a pattern. */
#include "cmd/process/dump_pattern.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/complain.h"
#include "model/memory.h"

/* Letters that may follow a percent sign. */
#define LETTERS "phentu%"

bool mw_dump_pattern_is(const char *output) {
	return output != NULL && strchr(output, '%') != NULL;
}

static bool has_letter(const char *pattern, char letter) {
	for (; (pattern = strchr(pattern, '%')) != NULL && pattern[1] != '\0'; pattern += 2)
		if (pattern[1] == letter)
			return true;
	return false;
}

bool mw_dump_pattern_splits_processes(const char *pattern) {
	return has_letter(pattern, 'p') || has_letter(pattern, 'n');
}

bool mw_dump_pattern_splits_times(const char *pattern) {
	return has_letter(pattern, 't') || has_letter(pattern, 'n');
}

bool mw_dump_pattern_check(const char *subcommand, const char *output) {
	for (const char *at = output; at != NULL && (at = strchr(at, '%')) != NULL; at += 2)
		if (at[1] == '\0' || strchr(LETTERS, at[1]) == NULL) {
			mw_complain("%s: --output does not take '%%%.1s'; allowed: %s", subcommand,
				    at + 1, MW_DUMP_PATTERN_HELP);
			return false;
		}
	return true;
}

/* Writes for example 20261120-031502.123, as dump_name has it: names sort by time. */
static void write_time(char *text, size_t size) {
	struct timespec now;
	struct tm then;
	char seconds[32];
	clock_gettime(CLOCK_REALTIME, &now);
	if (localtime_r(&now.tv_sec, &then) == NULL ||
	    strftime(seconds, sizeof(seconds), "%Y%m%d-%H%M%S", &then) == 0)
		snprintf(seconds, sizeof(seconds), "0");
	snprintf(text, size, "%s.%03ld", seconds, now.tv_nsec / 1000000);
}

/* Text of a profile must not lead to another directory. */
static void clean(char *text) {
	for (char *c = text; *c != '\0'; c++)
		if (*c == '/' || (unsigned char)*c <= ' ')
			*c = '_';
}

static void expand(char letter, const mw_profile_t *profile, unsigned pid, uint64_t number,
		   char text[HOST_NAME_MAX + 1]) {
	const size_t size = HOST_NAME_MAX + 1;
	int type;
	switch (letter) {
	case 'p':
		snprintf(text, size, "%u", pid);
		break;
	case 'h':
		if (gethostname(text, size) != 0)
			snprintf(text, size, "host");
		text[size - 1] = '\0';
		break;
	case 'e':
		snprintf(text, size, "%s", mw_profile_string(profile, profile->origin.program));
		if (text[0] == '\0')
			snprintf(text, size, "unknown");
		break;
	case 'n':
		snprintf(text, size, "%04llu", (unsigned long long)number);
		break;
	case 't':
		write_time(text, size);
		break;
	case 'u':
		type = mw_profile_find_type(profile, "inuse_space");
		snprintf(text, size, "%lld",
			 type >= 0 ? (long long)mw_profile_total(profile, (size_t)type) : 0);
		break;
	default:
		snprintf(text, size, "%%");
		break;
	}
	clean(text);
}

char *mw_dump_pattern_expand(const char *pattern, const mw_profile_t *profile, unsigned pid,
			     uint64_t number) {
	char *name = NULL;
	size_t length = 0, capacity = 0;
	for (const char *at = pattern; *at != '\0'; at++) {
		char text[HOST_NAME_MAX + 1] = {*at, '\0'};
		if (*at == '%')
			expand(*++at, profile, pid, number, text);
		size_t more = strlen(text);
		name = mw_grow(name, &capacity, length + more + 1, 1);
		memcpy(name + length, text, more + 1);
		length += more;
	}
	return name;
}
