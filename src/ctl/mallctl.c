/* SPDX-License-Identifier: MIT
 * mallctl.c -- names to rows, and the sizes and rights of what is read and written. */
#include "ctl/mallctl.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "ctl/mallctl_row.h"
#include "heap/harden.h"
#include "heap/page.h"
#include "os/map.h"

/* What programs that look at the version may expect: the interface of this release. */
#define JEMALLOC_VERSION "5.3.1-0-gmallow-" MALLOW_VERSION

typedef enum type { BOOL, INT, WORD, TEXT, RAW, NONE } type_t;
typedef enum access { R, W, RW, MAKE, CALL, ANY } access_t;

typedef struct row {
	const char *name;
	type_t type;
	access_t access;
	mw_ctl_handler_t *handler;
	uint64_t argument;
} row_t;

static const row_t rows[] = {
#define MW_CTL(name, type, access, kind, handler, argument)                                        \
	{name, type, access, mw_ctl_at_##handler, argument},
#define MW_CTL_MUTEX(prefix, handler)                                                              \
	{prefix ".num_ops", WORD, R, mw_ctl_at_##handler, 0},                                      \
		{prefix ".num_wait", WORD, R, mw_ctl_at_##handler, 0},                             \
		{prefix ".num_spin_acq", WORD, R, mw_ctl_at_##handler, 0},                         \
		{prefix ".num_owner_switch", WORD, R, mw_ctl_at_##handler, 0},                     \
		{prefix ".total_wait_time", WORD, R, mw_ctl_at_##handler, 0},                      \
		{prefix ".max_wait_time", WORD, R, mw_ctl_at_##handler, 0},                        \
		{prefix ".max_num_thds", INT, R, mw_ctl_at_##handler, 0},
#include "ctl/mallctl.def"
#undef MW_CTL
#undef MW_CTL_MUTEX
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

static const size_t type_bytes[] = {[BOOL] = 1, [INT] = 4, [WORD] = 8, [TEXT] = 8, [NONE] = 0};

/* ---- names ---- */

/* Reads a decimal index at *cursor. */
static bool read_index(const char **cursor, size_t *index) {
	const char *digit = *cursor;
	size_t number = 0;
	for (; *digit >= '0' && *digit <= '9'; digit++)
		if (number < SIZE_MAX / 20)
			number = number * 10 + (size_t)(*digit - '0');
	bool found = digit != *cursor;
	*cursor = digit;
	*index = number;
	return found;
}

/* The parts that the name and the pattern have in common; 0: they differ before the name's end. */
static size_t match(const char *pattern, const char *name, size_t *mib) {
	size_t part = 0;
	for (;; pattern++, name++) {
		mib[part] = 0;
		if (*pattern == '<') {
			if (!read_index(&name, &mib[part]))
				return 0;
			pattern += sizeof "<i>" - 1;
		} else {
			while (*pattern && *pattern != '.' && *pattern == *name) {
				pattern++;
				name++;
			}
		}
		if (*name == '\0')
			return *pattern == '\0' || *pattern == '.' ? part + 1 : 0;
		if (*pattern != '.' || *name != '.')
			return 0;
		part++;
	}
}

static size_t part_count(const char *pattern) {
	size_t parts = 1;
	for (; *pattern; pattern++)
		parts += *pattern == '.';
	return parts;
}

/* The row of a name, or the first of those that begin with it; its MIB and the parts. */
static const row_t *find(const char *name, size_t *mib, size_t *parts) {
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].name[0] != name[0])
			continue;
		*parts = match(rows[i].name, name, mib);
		if (*parts > 0) {
			mib[0] = i;
			return &rows[i];
		}
	}
	return NULL;
}

const char *mw_mallctl_name(size_t row) {
	return row < ROW_COUNT ? rows[row].name : NULL;
}

/* ---- values ---- */

static uint64_t load(const void *from, size_t bytes) {
	uint64_t value = 0;
	memcpy(&value, from, bytes); /* both ends of what is supported are little-endian */
	return value;
}

/* As jemalloc: what fits is copied, and EINVAL says that it does not. */
static int store(void *old, size_t *old_length, uint64_t value, size_t bytes) {
	if (!old || !old_length)
		return 0;
	size_t length = *old_length < bytes ? *old_length : bytes;
	bool fits = *old_length == bytes;
	memcpy(old, &value, length);
	*old_length = length;
	return fits ? 0 : EINVAL;
}

static bool is_forbidden(access_t access, const mw_ctl_call_t *call) {
	bool reads = call->old || call->old_length, writes = call->new || call->new_length;
	switch (access) {
	case R:
		return writes;
	case W:
		return reads;
	case CALL:
		return reads || writes;
	case RW:
	case MAKE:
	case ANY:
		break;
	}
	return false;
}

static int use(const row_t *row, mw_ctl_call_t *call) {
	if (is_forbidden(row->access, call))
		return EPERM;
	size_t bytes = row->type == RAW ? 0 : type_bytes[row->type];
	call->argument = row->argument;
	if (row->type == RAW)
		return row->handler(call);
	if (row->access == MAKE) {
		if (!call->old || !call->old_length || *call->old_length != bytes) {
			if (call->old_length)
				*call->old_length = 0;
			return EINVAL;
		}
	} else if (call->new) {
		if (call->new_length != bytes)
			return EINVAL;
		call->writing = true;
		call->value = load(call->new, bytes);
	}
	int result = row->handler(call);
	return result ? result : store(call->old, call->old_length, call->value, bytes);
}

int mw_mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length) {
	size_t mib[MW_CTL_PARTS_MAX + 1], parts;
	const row_t *row = find(name, mib, &parts);
	if (!row || parts != part_count(row->name))
		return ENOENT;
	return use(row, &(mw_ctl_call_t){.mib = mib,
					 .old = old,
					 .new = new,
					 .old_length = old_length,
					 .new_length = new_length});
}

int mw_mallctl_by_mib(const size_t *mib, size_t parts, void *old, size_t *old_length, void *new,
		      size_t new_length) {
	if (parts == 0 || mib[0] >= ROW_COUNT)
		return ENOENT;
	const row_t *row = &rows[mib[0]];
	if (parts != part_count(row->name))
		return ENOENT;
	return use(row, &(mw_ctl_call_t){.mib = mib,
					 .old = old,
					 .new = new,
					 .old_length = old_length,
					 .new_length = new_length});
}

int mw_mallctl_name_to_mib(const char *name, size_t *mib, size_t *parts) {
	size_t found[MW_CTL_PARTS_MAX + 1], count;
	if (!find(name, found, &count))
		return ENOENT;
	if (count > *parts)
		count = *parts;
	memcpy(mib, found, count * sizeof *mib);
	*parts = count;
	return 0;
}
