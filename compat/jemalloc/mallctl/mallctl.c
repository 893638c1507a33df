/* SPDX-License-Identifier: MIT
 * mallctl.c -- finds the row of a name, and checks sizes and rights of reads and writes. */
#include "compat/jemalloc/mallctl/mallctl.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "base/compiler.h"
#include "compat/jemalloc/mallctl/mallctl_row.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "os/memory/map.h"
#include "prof/sample/program_hooks.h"

/* Version of jemalloc's interface that programs see. */
#define JEMALLOC_VERSION "5.3.1-0-gmallow-" MALLOW_VERSION

typedef enum type { BOOL, INT, FIXED, WORD, LONG, TEXT, RAW, NONE } type_t;
typedef enum access { R, W, RW, EITHER, MAKE, MAKE_OF, CALL, ANY } access_t;

/* The rows hold numbers only. The loader would write each pointer in a table at the start of every
 * process, and most processes read no control name: 20 KiB of private memory, and as much of the
 * file. */
#define MW_CTL(name, type, access, kind, handler, argument)                                        \
	ROW_IN(__LINE__, 0, name, type, access, handler, argument)
/* The rows are in the order of mw_lock_stats_t, whose fields are `step` bytes each. */
#define LOCK_ROW(number, prefix, name, type, handler, argument, step)                              \
	ROW_IN(__LINE__, number, prefix name, type, R, handler, (argument) + number * (step))
#define LOCK_ROWS(prefix, handler, argument, step)                                                 \
	LOCK_ROW(0, prefix, ".num_ops", WORD, handler, argument, step)                             \
	LOCK_ROW(1, prefix, ".num_wait", WORD, handler, argument, step)                            \
	LOCK_ROW(2, prefix, ".num_spin_acq", WORD, handler, argument, step)                        \
	LOCK_ROW(3, prefix, ".num_owner_switch", WORD, handler, argument, step)                    \
	LOCK_ROW(4, prefix, ".total_wait_time", WORD, handler, argument, step)                     \
	LOCK_ROW(5, prefix, ".max_wait_time", WORD, handler, argument, step)                       \
	LOCK_ROW(6, prefix, ".max_num_thds", INT, handler, argument, step)
#define MW_CTL_MUTEX(prefix, handler, argument)                                                    \
	LOCK_ROWS(prefix, handler, argument, sizeof(uint64_t))
#define MW_CTL_ENTERED_MUTEX MW_CTL_MUTEX
#define MW_CTL_NO_MUTEX(prefix, handler) LOCK_ROWS(prefix, handler, 0, 0)
/* ROW(id, name, type, access, handler, argument), defined anew for each table. The id consists of
 * the line of mallctl.def and the row's number in that line. */
#define ROW_IN(line, number, ...) ROW_OF(line, number, __VA_ARGS__)
#define ROW_OF(line, number, ...) ROW(row_##line##_##number, __VA_ARGS__)

#define ROW(id, name, type, access, handler, argument) char id[sizeof(name)];
static const struct names {
#include "compat/jemalloc/mallctl/mallctl.def"
} names = {
#undef ROW
#define ROW(id, name, type, access, handler, argument) name,
#include "compat/jemalloc/mallctl/mallctl.def"
};
#undef ROW

typedef enum row_number {
#define ROW(id, name, type, access, handler, argument) NUMBER_OF_##id,
#include "compat/jemalloc/mallctl/mallctl.def"
	ROW_COUNT
} row_number_t;
#undef ROW

typedef struct row {
	uint16_t name_at; /* offset in `names` */
	uint8_t type, access;
} row_t;
static_assert(sizeof names <= UINT16_MAX, "rows find their names by 16 bits");

static const row_t rows[] = {
#define ROW(id, name, type, access, handler, argument) {offsetof(struct names, id), type, access},
#include "compat/jemalloc/mallctl/mallctl.def"
};
#undef ROW

static int call_handler(row_number_t number, mw_ctl_call_t *call) {
	switch (number) {
#define ROW(id, name, type, access, handler, argument_of_row)                                      \
	case NUMBER_OF_##id:                                                                       \
		call->argument = (argument_of_row);                                                \
		return mw_ctl_at_##handler(call);
#include "compat/jemalloc/mallctl/mallctl.def"
#undef ROW
	case ROW_COUNT:
		break;
	}
	return ENOENT;
}

static const char *name_of(const row_t *row) {
	return (const char *)&names + row->name_at;
}

static const size_t type_bytes[] = {
	[BOOL] = 1, [INT] = 4, [FIXED] = 4, [WORD] = 8, [LONG] = 8, [TEXT] = 8, [NONE] = 0};

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

/* Returns the number of parts that the name and the pattern have in common; 0: they differ before
 * the end of the name. */
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

/* The properties of a row's MIB that follow from its name. */
typedef struct shape {
	uint8_t parts;
	uint8_t limited_part; /* index into one of the following tables; 0: no part has a limit */
	uint8_t limit;
} shape_t;

/* Parts of names that precede such an index. */
static const struct {
	const char *part;
	uint8_t limit;
} tables[] = {
	{"bin.", MW_CLASS_COUNT},      {"bins.", MW_CLASS_COUNT},
	{"lextent.", MW_CTL_LEXTENTS}, {"lextents.", MW_CTL_LEXTENTS},
	{"extents.", MW_CTL_EXTENTS},  {"nonfull_slabs.", MW_CTL_SLABS},
	{"alloc.", MW_CTL_SLABS},
};

static void note_limit(shape_t *shape, const char *part) {
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (strncmp(part, tables[i].part, strlen(tables[i].part)) == 0) {
			shape->limited_part = shape->parts;
			shape->limit = tables[i].limit;
		}
}

static shape_t read_shape(const char *name) {
	shape_t shape = {.parts = 1};
	for (const char *part = name, *c = name; *c; c++) {
		if (*c != '.')
			continue;
		if (c[1] == '<')
			note_limit(&shape, part);
		shape.parts++;
		part = c + 1;
	}
	return shape;
}

/* The result is cached, so that a lookup by MIB does not scan the name. */
static shape_t shape_of(const row_t *row) {
	static MW_SPARSE _Atomic uint32_t known[ROW_COUNT];
	_Atomic uint32_t *place = &known[row - rows];
	/* Relaxed: every thread stores the same word. */
	uint32_t word = atomic_load_explicit(place, memory_order_relaxed);
	if (word == 0) {
		shape_t shape = read_shape(name_of(row));
		word = shape.parts | (uint32_t)shape.limited_part << 8 |
		       (uint32_t)shape.limit << 16;
		atomic_store_explicit(place, word, memory_order_relaxed);
	}
	return (shape_t){(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16)};
}

/* Returns whether the entry exists. For arenas the handlers check that. */
static bool index_exists(const shape_t *shape, const size_t *mib, size_t parts) {
	return shape->limited_part == 0 || shape->limited_part >= parts ||
	       mib[shape->limited_part] < shape->limit;
}

/* Returns whether `name` is the row's whole name, and stores its MIB and number of parts. */
static bool is_row_of(size_t row, const char *name, size_t *mib, size_t *parts) {
	shape_t shape = shape_of(&rows[row]);
	*parts = match(name_of(&rows[row]), name, mib);
	mib[0] = row;
	return *parts == shape.parts && index_exists(&shape, mib, *parts);
}

static const row_t *search(const char *name, size_t *mib, size_t *parts) {
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (name_of(&rows[i])[0] != name[0])
			continue;
		*parts = match(name_of(&rows[i]), name, mib);
		if (*parts == 0)
			continue;
		shape_t shape = shape_of(&rows[i]);
		if (!index_exists(&shape, mib, *parts))
			return NULL;
		mib[0] = i;
		return &rows[i];
	}
	return NULL;
}

/* Returns the row of a name, or the first row that begins with it, with its MIB and parts. */
static const row_t *find(const char *name, size_t *mib, size_t *parts) {
	/* Programs read the same names in rotation, so the last row and the one after it are tried
	 * first. Relaxed: a hint. */
	static _Atomic uint16_t last;
	static MW_SPARSE _Atomic uint16_t after[ROW_COUNT];
	size_t before = atomic_load_explicit(&last, memory_order_relaxed);
	size_t next = atomic_load_explicit(&after[before], memory_order_relaxed);
	const row_t *found = NULL;
	if (is_row_of(before, name, mib, parts))
		return &rows[before];
	if (is_row_of(next, name, mib, parts))
		found = &rows[next];
	else
		found = search(name, mib, parts);
	if (found) {
		uint16_t row = (uint16_t)(found - rows);
		atomic_store_explicit(&after[before], row, memory_order_relaxed);
		atomic_store_explicit(&last, row, memory_order_relaxed);
	}
	return found;
}

const char *mw_mallctl_name(size_t row) {
	return row < ROW_COUNT ? name_of(&rows[row]) : NULL;
}

mw_mallctl_row_t mw_mallctl_row(size_t number) {
	static const mw_mallctl_type_t shown[] = {
		[BOOL] = MW_MALLCTL_FLAG,   [INT] = MW_MALLCTL_NUMBER,  [FIXED] = MW_MALLCTL_FIXED,
		[WORD] = MW_MALLCTL_NUMBER, [LONG] = MW_MALLCTL_SIGNED, [TEXT] = MW_MALLCTL_TEXT,
		[RAW] = MW_MALLCTL_OTHER,   [NONE] = MW_MALLCTL_OTHER};
	const row_t *row = &rows[number];
	mw_mallctl_type_t type = shown[row->type];
	return (mw_mallctl_row_t){
		.type = type,
		.readable = type != MW_MALLCTL_OTHER &&
			    (row->access == R || row->access == RW || row->access == EITHER),
		.bytes = type == MW_MALLCTL_OTHER ? 0 : type_bytes[row->type],
		.parts = shape_of(row).parts,
	};
}

/* ---- values ---- */

static uint64_t load(const void *from, size_t bytes) {
	uint64_t value = 0;
	memcpy(&value, from, bytes); /* all supported machines are little-endian */
	return value;
}

/* If the lengths differ, the bytes that fit are copied and the result is EINVAL, as in jemalloc. */
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
	case EITHER:
		return reads && writes;
	case MAKE:
		return writes;
	case CALL:
		return reads || writes;
	case RW:
	case MAKE_OF:
	case ANY:
		break;
	}
	return false;
}

static int use(const row_t *row, mw_ctl_call_t *call) {
	if (is_forbidden(row->access, call))
		return EPERM;
	size_t bytes = row->type == RAW ? 0 : type_bytes[row->type];
	row_number_t number = (row_number_t)(row - rows);
	if (row->type == RAW || row->access == ANY)
		return call_handler(number, call);
	if (row->access == MAKE || row->access == MAKE_OF) {
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
	int result = call_handler(number, call);
	return result ? result : store(call->old, call->old_length, call->value, bytes);
}

static int use_row(const row_t *row, const size_t *mib, void *old, size_t *old_length, void *new,
		   size_t new_length) {
	mw_ctl_call_t call = {.mib = mib,
			      .old = old,
			      .new = new,
			      .old_length = old_length,
			      .new_length = new_length};
	return use(row, &call);
}

int mw_mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length) {
	size_t mib[MW_CTL_PARTS_MAX + 1], parts;
	const row_t *row = find(name, mib, &parts);
	if (!row || parts != shape_of(row).parts)
		return ENOENT;
	return use_row(row, mib, old, old_length, new, new_length);
}

int mw_mallctl_by_mib(const size_t *mib, size_t parts, void *old, size_t *old_length, void *new,
		      size_t new_length) {
	if (parts == 0 || mib[0] >= ROW_COUNT)
		return ENOENT;
	const row_t *row = &rows[mib[0]];
	shape_t shape = shape_of(row);
	if (parts != shape.parts || !index_exists(&shape, mib, parts))
		return ENOENT;
	return use_row(row, mib, old, old_length, new, new_length);
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
