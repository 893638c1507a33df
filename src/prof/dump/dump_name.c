/* SPDX-License-Identifier: MIT
 * dump_name.c -- makes the names of dumps from their pattern. */
#include <string.h>

#include "base/fmt.h"
#include "os/file/local_time.h"
#include "os/file/proc.h"
#include "prof/dump/dump.h"
#include "prof/store/store.h"

static const char *const reason_names[MW_DUMP_REASON_COUNT] = {
#define MW_DUMP_REASON(name, help) #name,
#include "state/dump_reasons.def"
#undef MW_DUMP_REASON
};

/* Writes for example 20261120-031502.123: names sort by time, and no character needs quoting. */
static void expand_time(uint64_t realtime_ns, char *text, size_t capacity) {
	mw_local_time_t t = mw_os_local_time(realtime_ns);
	mw_fmt(text, capacity, "%04d%02u%02u-%02u%02u%02u.%03u", t.year, t.month, t.day, t.hour,
	       t.minute, t.second, (unsigned)(realtime_ns / 1000000u % 1000u));
}

/* Writes jemalloc's letter and number, or the reason's name if jemalloc lacks the reason. */
static void expand_jemalloc(const mw_dump_moment_t *moment, char *text, size_t capacity) {
	const char *letter = reason_names[moment->reason];
	switch (moment->reason) {
	case MW_DUMP_exit:
		mw_fmt(text, capacity, "f");
		return;
	case MW_DUMP_allocated:
		letter = "i";
		break;
	case MW_DUMP_api:
		letter = "m";
		break;
	case MW_DUMP_peak:
		letter = "u";
		break;
	default:
		break;
	}
	mw_fmt(text, capacity, "%s%lu", letter, (unsigned long)moment->reason_number);
}

static void expand_one(char letter, const mw_dump_moment_t *moment, char *text, size_t capacity) {
	switch (letter) {
	case 'p':
		mw_fmt(text, capacity, "%u", mw_os_process_id());
		return;
	case 'i':
		mw_fmt(text, capacity, "%lu", (unsigned long)mw_os_pid_namespace());
		return;
	case 'h':
		mw_os_host_name(text, capacity);
		break;
	case 'e':
		mw_fmt(text, capacity, "%s", mw_store_header()->program);
		break;
	case 'n':
		mw_fmt(text, capacity, "%04lu", (unsigned long)moment->number);
		return;
	case 't':
		expand_time(moment->realtime_ns, text, capacity);
		return;
	case 'r':
		mw_fmt(text, capacity, "%s", reason_names[moment->reason]);
		return;
	case 's':
		mw_fmt(text, capacity, "%lu", (unsigned long)moment->number - 1);
		return;
	case 'j':
		expand_jemalloc(moment, text, capacity);
		return;
	case 'u':
		mw_fmt(text, capacity, "%lu", (unsigned long)moment->live_bytes);
		return;
	default:
		mw_fmt(text, capacity, letter == '%' ? "%%" : "%%%c", letter);
		return;
	}
	/* Text from outside must not lead to another directory. */
	for (char *c = text; *c; c++)
		if (*c == '/' || (unsigned char)*c <= ' ')
			*c = '_';
}

size_t mw_dump_expand(const char *pattern, const mw_dump_moment_t *moment, char *buffer,
		      size_t capacity) {
	size_t length = 0;
	for (const char *c = pattern; *c; c++) {
		char text[72] = {*c, '\0'};
		bool converts = *c == '%' && c[1], is_prefix = converts && c[1] == 'P';
		c += converts;
		if (converts && !is_prefix)
			expand_one(*c, moment, text, sizeof text);
		size_t used = length < capacity ? length : capacity;
		length += mw_fmt(buffer + used, capacity - used, "%s",
				 is_prefix ? mw_dump_prefix() : text);
	}
	return length;
}
