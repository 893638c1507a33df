/* SPDX-License-Identifier: MIT
 * moment.c -- parses times. */
#include "cmd/store/moment.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/options.h"

#define SECOND_NS INT64_C(1000000000)

/* Parses a time of the last 24 hours: today, or yesterday if the time is still to come today. */
static bool parse_clock(const char *text, int64_t now_ns, int64_t *time_ns) {
	time_t now = (time_t)(now_ns / SECOND_NS);
	struct tm then;
	if (localtime_r(&now, &then) == NULL)
		return false;
	then.tm_sec = 0;
	const char *end = strptime(text, "%H:%M:%S", &then);
	if (end == NULL)
		end = strptime(text, "%H:%M", &then);
	if (end == NULL || *end != '\0')
		return false;
	then.tm_isdst = -1;
	time_t found = mktime(&then);
	if (found > now) {
		then.tm_mday--;
		then.tm_isdst = -1;
		found = mktime(&then);
	}
	*time_ns = (int64_t)found * SECOND_NS;
	return true;
}

/* Parses a date, perhaps with a time. */
static bool parse_date(const char *text, int64_t *time_ns) {
	static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"};
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct tm then = {.tm_isdst = -1};
		const char *end = strptime(text, formats[i], &then);
		bool is_utc = end != NULL && strcmp(end, "Z") == 0;
		if (end == NULL || (*end != '\0' && !is_utc))
			continue;
		int day = then.tm_mday;
		time_t found = is_utc ? timegm(&then) : mktime(&then);
		*time_ns = (int64_t)found * SECOND_NS;
		/* The C library takes the 31st of February for the 3rd of March. */
		return found >= 0 && then.tm_mday == day;
	}
	return false;
}

bool mw_moment_parse(const char *text, int64_t now_ns, int64_t *time_ns) {
	double seconds;
	*time_ns = now_ns;
	if (strcmp(text, "now") == 0)
		return true;
	if (*text == '@') { /* seconds since 1970, as date(1) takes them */
		char *end;
		seconds = strtod(text + 1, &end);
		*time_ns = (int64_t)(seconds * 1e9);
		return end > text + 1 && *end == '\0' && seconds > 0 && seconds < 9e9;
	}
	if (mw_parse_seconds(*text == '-' ? text + 1 : text, &seconds)) {
		*time_ns -= (int64_t)(seconds * 1e9);
		return true;
	}
	return parse_clock(text, now_ns, time_ns) || parse_date(text, time_ns);
}
