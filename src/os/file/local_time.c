/* SPDX-License-Identifier: MIT
 * local_time.c -- the zone's offset from its file, and the calendar. */
#include "os/file/local_time.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/fmt.h"
#include "base/libc_text.h"
#include "os/file/file.h"

#define ZONE_BYTES 128
/* A larger offset from UTC means that the file is damaged. */
#define OFFSET_MAX_SECONDS 90000

static char zone_path[ZONE_BYTES + 32] = "/etc/localtime";
static long zone_fixed_seconds; /* offset of a zone that is given as a rule */

/* Parses "UTC", "EST5EDT..." or "<+0330>-3:30", whose numbers are hours west of Greenwich. Returns
 * false if the text has another form. */
static bool parse_rule(const char *rule, long *offset_seconds) {
	const char *c = rule;
	if (*c == '<')
		c = mw_strchrnul(c, '>') + (mw_strchr(c, '>') != NULL);
	else
		while ((*c | 0x20) >= 'a' && (*c | 0x20) <= 'z')
			c++;
	if (c - rule < 3)
		return false;
	long sign = *c == '-' ? 1 : -1, parts[3] = {0, 0, 0};
	c += *c == '-' || *c == '+';
	bool digits = *c >= '0' && *c <= '9';
	for (unsigned i = 0; i < 3; i++) {
		for (; *c >= '0' && *c <= '9' && parts[i] < 1000; c++)
			parts[i] = parts[i] * 10 + (*c - '0');
		if (*c != ':')
			break;
		c++;
	}
	*offset_seconds = sign * (parts[0] * 3600 + parts[1] * 60 + parts[2]);
	return digits || *c == '\0';
}

void mw_os_set_zone(const char *tz) {
	if (!tz)
		return;
	tz += *tz == ':';
	zone_path[0] = '\0';
	if (tz[0] == '/' && mw_strlen(tz) < ZONE_BYTES)
		mw_fmt(zone_path, sizeof zone_path, "%s", tz);
	else if (tz[0] && !mw_strstr(tz, "..") && mw_strlen(tz) < ZONE_BYTES)
		mw_fmt(zone_path, sizeof zone_path, "/usr/share/zoneinfo/%s", tz);
	if (!parse_rule(tz, &zone_fixed_seconds))
		zone_fixed_seconds = 0;
}

static int64_t big_endian(const unsigned char *bytes, unsigned count) {
	uint64_t value = bytes[0] & 0x80 ? UINT64_MAX : 0;
	for (unsigned i = 0; i < count; i++)
		value = value << 8 | bytes[i];
	return (int64_t)value;
}

/* Counts in a header of the zone file: isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt. */
typedef struct zone_header {
	uint64_t counts[6];
} zone_header_t;

static bool read_header(int file, uint64_t at, zone_header_t *header, char *version) {
	unsigned char bytes[44];
	if (mw_os_read_at(file, bytes, sizeof bytes, at) != sizeof bytes ||
	    memcmp(bytes, "TZif", 4) != 0)
		return false;
	*version = (char)bytes[4];
	for (unsigned i = 0; i < 6; i++) {
		header->counts[i] = (uint64_t)big_endian(bytes + 20 + 4 * i, 4) & UINT32_MAX;
		if (header->counts[i] > 100000)
			return false;
	}
	return true;
}

/* Returns the bytes of the data block behind a header whose times have `width` bytes. */
static uint64_t block_bytes(const zone_header_t *h, unsigned width) {
	return h->counts[3] * (width + 1) + h->counts[4] * 6 + h->counts[5] +
	       h->counts[2] * (width + 4) + h->counts[1] + h->counts[0];
}

/* Returns the number of transitions up to `now`, or -1 if the file is damaged. */
static int64_t transitions_before(int file, uint64_t at, uint64_t count, unsigned width,
				  int64_t now) {
	uint64_t low = 0, high = count;
	while (low < high) {
		uint64_t middle = (low + high) / 2;
		unsigned char bytes[8];
		if (mw_os_read_at(file, bytes, width, at + middle * width) != (long)width)
			return -1;
		if (big_endian(bytes, width) <= now)
			low = middle + 1;
		else
			high = middle;
	}
	return (int64_t)low;
}

/* The rule at the file's end, which holds after the last transition, is not read: Debian's files
 * list all transitions until 2037. */
static bool offset_in(int file, int64_t now, long *offset_seconds) {
	zone_header_t header;
	char version, ignored;
	uint64_t at = 0;
	unsigned width = 4;
	if (!read_header(file, at, &header, &version))
		return false;
	at += 44;
	if (version >= '2') {
		at += block_bytes(&header, 4);
		width = 8;
		if (!read_header(file, at, &header, &ignored))
			return false;
		at += 44;
	}
	uint64_t count = header.counts[3];
	int64_t before = transitions_before(file, at, count, width, now);
	unsigned char type = 0, bytes[4];
	if (before < 0 ||
	    (before > 0 &&
	     mw_os_read_at(file, &type, 1, at + count * width + (uint64_t)before - 1) != 1))
		return false;
	if (type >= header.counts[4] ||
	    mw_os_read_at(file, bytes, 4, at + count * (width + 1) + type * 6u) != 4)
		return false;
	*offset_seconds = big_endian(bytes, 4);
	return *offset_seconds > -OFFSET_MAX_SECONDS && *offset_seconds < OFFSET_MAX_SECONDS;
}

static long offset_at(int64_t now) {
	long offset = zone_fixed_seconds;
	int file = zone_path[0] ? mw_os_open(MW_OS_NO_DIRECTORY, zone_path, MW_OS_READ) : -1;
	if (file < 0)
		return offset;
	if (!offset_in(file, now, &offset))
		offset = zone_fixed_seconds;
	mw_os_close(file);
	return offset;
}

/* Converts days since 1970 to a date, by eras of 400 years that begin on 1 March. */
static void set_date(mw_local_time_t *result, int64_t days) {
	days += 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097;
	unsigned day_of_era = (unsigned)(days - era * 146097);
	unsigned year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	unsigned day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	unsigned month = (5 * day_of_year + 2) / 153;
	result->day = day_of_year - (153 * month + 2) / 5 + 1;
	result->month = month < 10 ? month + 3 : month - 9;
	result->year = (int)(year_of_era + era * 400) + (result->month <= 2);
}

mw_local_time_t mw_os_local_time(uint64_t realtime_ns) {
	int64_t now = (int64_t)(realtime_ns / 1000000000u);
	now += offset_at(now);
	mw_local_time_t result = {.hour = (unsigned)(now / 3600 % 24),
				  .minute = (unsigned)(now / 60 % 60),
				  .second = (unsigned)(now % 60)};
	set_date(&result, now / 86400);
	return result;
}
