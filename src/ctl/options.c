/* SPDX-License-Identifier: MIT
 * options.c -- the parser of MALLOC_CONF and MALLOW_CONF, driven by options.def. */
#include "ctl/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/fmt.h"

/* What a complaint quotes of a name or a value: more would push the advice off the screen. */
#define QUOTE_BYTES 64
/* Names further off than this many slips of the pen are not what was meant. */
#define NEAR_DISTANCE 3

typedef enum option_kind { FLAG, SIZE, NUMBER, CHOICE, TEXT, LOG2, JEMALLOC } option_kind_t;

typedef struct option {
	const char *name;
	option_kind_t kind;
	size_t offset; /* of the field in mw_options_t */
	int64_t min, max;
	const char *standard, *unit, *help;
} option_t;

static const option_t table[] = {
#define MW_OPTION(name, kind, standard, min, max, unit, help)                                      \
	{#name, kind, offsetof(mw_options_t, name), min, max, #standard, unit, help},
#define MW_OPTION_LOG2(name, target, standard, min, max, help)                                     \
	{#name, LOG2, offsetof(mw_options_t, target), min, max, #standard, "", help},
#define MW_OPTION_JEMALLOC(name) {#name, JEMALLOC, 0, 0, 0, "", "", ""},
#include "ctl/options.def"
#undef MW_OPTION
#undef MW_OPTION_LOG2
#undef MW_OPTION_JEMALLOC
};
enum { TABLE_LENGTH = sizeof table / sizeof *table };

/* A piece of a configuration string; not NUL-terminated. */
typedef struct text {
	const char *start;
	size_t length;
} text_t;

typedef struct source {
	const char *name;
	bool quiet_jemalloc; /* do not name jemalloc's options */
	unsigned complaints;
} source_t;

/* Copies at most QUOTE_BYTES, control characters replaced: a complaint is one line. */
static const char *quoted(text_t text, char buffer[QUOTE_BYTES + 1]) {
	size_t length = text.length < QUOTE_BYTES ? text.length : QUOTE_BYTES;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text.start[i];
		buffer[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	buffer[length] = '\0';
	return buffer;
}

static bool equals(text_t text, const char *word) {
	return strlen(word) == text.length && memcmp(text.start, word, text.length) == 0;
}

static const option_t *find(text_t name) {
	for (size_t i = 0; i < TABLE_LENGTH; i++)
		if (equals(name, table[i].name))
			return &table[i];
	return NULL;
}

/* Levenshtein's distance with a swap of neighbours as one step; names beyond the buffers are far.
 */
static unsigned distance(text_t a, const char *b) {
	enum { LIMIT = 48 };
	size_t b_length = strlen(b);
	if (a.length >= LIMIT || b_length >= LIMIT)
		return LIMIT;
	unsigned rows[3][LIMIT + 1];
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a.length; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_length; j++) {
			unsigned best = above[j - 1] + (a.start[i - 1] != b[j - 1]);
			if (above[j] + 1 < best)
				best = above[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a.start[i - 1] == b[j - 2] &&
			    a.start[i - 2] == b[j - 1] && rows[(i - 2) % 3][j - 2] + 1 < best)
				best = rows[(i - 2) % 3][j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[a.length % 3][b_length];
}

static const char *nearest(text_t name) {
	/* Control names are often mistaken for options: "opt.prof". */
	if (name.length > 4 && memcmp(name.start, "opt.", 4) == 0)
		name = (text_t){name.start + 4, name.length - 4};
	const char *best = NULL;
	unsigned best_distance = NEAR_DISTANCE + 1;
	for (size_t i = 0; i < TABLE_LENGTH; i++) {
		unsigned d = distance(name, table[i].name);
		if (d < best_distance && d < name.length) {
			best_distance = d;
			best = table[i].name;
		}
	}
	return best;
}

static void complain_unknown(source_t *source, text_t name) {
	char quote[QUOTE_BYTES + 1];
	const char *near = nearest(name);
	source->complaints++;
	if (near) {
		mw_warn("%s: unknown option \"%s\"; did you mean \"%s\"?", source->name,
			quoted(name, quote), near);
		return;
	}
	char names[2048];
	size_t length = 0;
	for (size_t i = 0; i < TABLE_LENGTH && length < sizeof names; i++)
		if (table[i].kind != JEMALLOC)
			length += mw_fmt(names + length, sizeof names - length, "%s%s",
					 length ? ", " : "", table[i].name);
	mw_warn("%s: unknown option \"%s\"; allowed: %s", source->name, quoted(name, quote), names);
}

/* The words of a CHOICE, in order; *cursor begins at its `unit`.  An empty one: no more. */
static text_t next_choice(const char **cursor) {
	const char *end = strchrnul(*cursor, '|');
	text_t word = {*cursor, (size_t)(end - *cursor)};
	*cursor = *end ? end + 1 : end;
	return word;
}

/* "1 .. 512 frames", "true, false" */
static const char *allowed(const option_t *option, char *buffer, size_t capacity) {
	if (option->kind == FLAG)
		return "true, false";
	if (option->kind == CHOICE) {
		size_t length = 0;
		const char *cursor = option->unit;
		for (text_t word; (word = next_choice(&cursor)).length > 0;)
			length += mw_fmt(buffer + length, capacity - length, "%s%.*s",
					 length ? ", " : "", (int)word.length, word.start);
		return buffer;
	}
	if (option->kind == TEXT)
		mw_fmt(buffer, capacity, "up to %ld characters", (long)option->max);
	else
		mw_fmt(buffer, capacity, "%ld .. %ld%s%s", (long)option->min, (long)option->max,
		       *option->unit ? " " : "", option->unit);
	return buffer;
}

static void complain_value(source_t *source, const option_t *option, text_t value,
			   const char *why) {
	char quote[QUOTE_BYTES + 1], range[64];
	source->complaints++;
	mw_warn("%s: %s:%s is %s; allowed: %s", source->name, option->name, quoted(value, quote),
		why, allowed(option, range, sizeof range));
}

/* An integer in decimal, or hexadecimal after 0x; with `suffixes` also K, M, G, T.  False when it
 * is not a number; a number beyond int64_t is cut to its ends. */
static bool parse_number(text_t value, bool suffixes, int64_t *result) {
	const char *cursor = value.start, *end = value.start + value.length;
	bool negative = cursor < end && *cursor == '-', hex = false;
	cursor += negative;
	if (end - cursor > 2 && cursor[0] == '0' && (cursor[1] | 0x20) == 'x') {
		hex = true;
		cursor += 2;
	}
	unsigned __int128 number = 0;
	const char *digits = cursor;
	for (; cursor < end; cursor++) {
		unsigned digit;
		if (*cursor >= '0' && *cursor <= '9')
			digit = (unsigned)(*cursor - '0');
		else if (hex && (*cursor | 0x20) >= 'a' && (*cursor | 0x20) <= 'f')
			digit = (unsigned)((*cursor | 0x20) - 'a') + 10;
		else
			break;
		number = number * (hex ? 16 : 10) + digit;
		if (number > INT64_MAX)
			number = INT64_MAX;
	}
	if (cursor == digits)
		return false;
	if (suffixes && cursor < end) {
		static const char units[] = "kmgt";
		const char *unit = memchr(units, *cursor | 0x20, sizeof units - 1);
		if (!unit)
			return false;
		number <<= 10 * (unit - units + 1);
		if (number > INT64_MAX)
			number = INT64_MAX;
		cursor++;
	}
	*result = negative ? -(int64_t)number : (int64_t)number;
	return cursor == end;
}

static void set_number(mw_options_t *options, source_t *source, const option_t *option,
		       text_t value) {
	int64_t number;
	if (!parse_number(value, option->kind == SIZE, &number)) {
		complain_value(source, option, value, "not a number");
		return;
	}
	if (number < option->min || number > option->max) {
		complain_value(source, option, value, "out of range");
		return;
	}
	char *field = (char *)options + option->offset;
	if (option->kind == LOG2)
		number = number < 0 ? 0 : (int64_t)1 << number; /* -1: jemalloc's "off" */
	memcpy(field, &number, sizeof number);
}

static void set_flag(mw_options_t *options, source_t *source, const option_t *option,
		     text_t value) {
	bool flag = equals(value, "true");
	if (!flag && !equals(value, "false")) {
		complain_value(source, option, value, "neither of its values");
		return;
	}
	memcpy((char *)options + option->offset, &flag, sizeof flag);
}

static void set_choice(mw_options_t *options, source_t *source, const option_t *option,
		       text_t value) {
	const char *cursor = option->unit;
	for (int64_t number = 0; number <= option->max; number++) {
		text_t word = next_choice(&cursor);
		if (word.length == value.length &&
		    memcmp(word.start, value.start, word.length) == 0) {
			memcpy((char *)options + option->offset, &number, sizeof number);
			return;
		}
	}
	complain_value(source, option, value, "none of its values");
}

static void set_text(mw_options_t *options, source_t *source, const option_t *option,
		     text_t value) {
	if (value.length > (size_t)option->max) {
		complain_value(source, option, value, "too long");
		return;
	}
	char *field = (char *)options + option->offset;
	memcpy(field, value.start, value.length);
	field[value.length] = '\0';
}

static void set(mw_options_t *options, source_t *source, const option_t *option, text_t value) {
	switch (option->kind) {
	case FLAG:
		set_flag(options, source, option, value);
		return;
	case SIZE:
	case NUMBER:
	case LOG2:
		set_number(options, source, option, value);
		return;
	case CHOICE:
		set_choice(options, source, option, value);
		return;
	case TEXT:
		set_text(options, source, option, value);
		return;
	case JEMALLOC:
		if (!source->quiet_jemalloc) {
			source->complaints++;
			mw_warn("%s: %s is jemalloc's option and has no effect here", source->name,
				option->name);
		}
		return;
	}
}

/* Whoever writes jemalloc's options where jemalloc reads them looks for jemalloc's files. */
static void note_dumps(mw_options_t *options, const source_t *source, text_t name) {
	static const char *const dumping[] = {"prof_prefix", "prof_gdump", "prof_final",
					      "prof_leak", "lg_prof_interval"};
	if (equals(name, "dump_name"))
		options->jemalloc_dumps = false;
	for (size_t i = 0; source->quiet_jemalloc && i < sizeof dumping / sizeof *dumping; i++)
		options->jemalloc_dumps |= equals(name, dumping[i]);
}

static void parse_pair(mw_options_t *options, source_t *source, text_t pair) {
	char quote[QUOTE_BYTES + 1];
	if (pair.length == 0)
		return; /* two commas, or one at the end */
	const char *colon = memchr(pair.start, ':', pair.length);
	if (!colon) {
		source->complaints++;
		mw_warn("%s: \"%s\" has no value; write name:value, as in \"prof:true\"",
			source->name, quoted(pair, quote));
		return;
	}
	text_t name = {pair.start, (size_t)(colon - pair.start)};
	text_t value = {colon + 1, pair.length - name.length - 1};
	const option_t *option = find(name);
	if (!option) {
		complain_unknown(source, name);
		return;
	}
	if (options->confirm_conf)
		mw_warn("%s: %s:%s", source->name, option->name, quoted(value, quote));
	set(options, source, option, value);
	note_dumps(options, source, name);
}

MW_RESIDENT static void parse_source(mw_options_t *options, source_t *source, const char *conf) {
	if (!conf)
		return;
	for (const char *start = conf;;) {
		const char *end = strchrnul(start, ',');
		parse_pair(options, source, (text_t){start, (size_t)(end - start)});
		if (!*end)
			break;
		start = end + 1;
	}
	if (options->abort_conf && source->complaints)
		abort();
}

/* jemalloc writes every dump that is due, and keeps them all. */
static void name_as_jemalloc(mw_options_t *options) {
	mw_ctl_dump_pattern(options->prof_prefix, options->dump_name, sizeof options->dump_name);
	options->dump_min_ms = 0;
	options->dump_keep = 0;
	if (options->prof_prefix[0])
		return;
	options->prof_final = false;
	options->prof_interval = 0;
	options->dump_peak = 0;
}

MW_RESIDENT void mw_ctl_configure(mw_options_t *options, const char *malloc_conf,
				  const char *mallow_conf) {
	*options = (mw_options_t){
#define MW_OPTION(name, kind, standard, min, max, unit, help) .name = standard,
#define MW_OPTION_LOG2(name, target, standard, min, max, help)
#define MW_OPTION_JEMALLOC(name)
#include "ctl/options.def"
#undef MW_OPTION
#undef MW_OPTION_LOG2
#undef MW_OPTION_JEMALLOC
	};
	source_t malloc_source = {.name = "MALLOC_CONF", .quiet_jemalloc = true};
	source_t mallow_source = {.name = "MALLOW_CONF"};
	parse_source(options, &malloc_source, malloc_conf);
	parse_source(options, &mallow_source, mallow_conf);
	if (options->prof_leak)
		options->prof = true;
	if (options->prof_gdump && options->dump_peak == 0)
		options->dump_peak = 1;
	if (options->jemalloc_dumps)
		name_as_jemalloc(options);
}

size_t mw_ctl_dump_pattern(const char *prefix, char *buffer, size_t capacity) {
	size_t length = 0;
	if (capacity > 0)
		buffer[0] = '\0';
	for (const char *c = prefix; *c; c++) { /* a percent sign stands for itself */
		size_t used = length < capacity ? length : capacity;
		length += mw_fmt(buffer + used, capacity - used, "%s%c", *c == '%' ? "%" : "", *c);
	}
	size_t used = length < capacity ? length : capacity;
	return length + mw_fmt(buffer + used, capacity - used, "%s", ".%p.%s.%j.heap");
}

static const char *shown_default(const option_t *option, char word[QUOTE_BYTES + 1]) {
	if (option->kind == TEXT)
		return "";
	if (option->kind != CHOICE)
		return option->standard;
	const char *cursor = option->unit;
	for (int64_t number = 0; number < atol(option->standard); number++)
		next_choice(&cursor);
	return quoted(next_choice(&cursor), word);
}

mw_result_t mw_ctl_parse(const char *name, const char *value, int64_t *number) {
	const option_t *option = find((text_t){name, strlen(name)});
	text_t text = {value, strlen(value)};
	if (!option || (option->kind != FLAG && option->kind != SIZE && option->kind != NUMBER))
		return MW_ERR_NOT_FOUND;
	if (option->kind == FLAG) {
		*number = equals(text, "true");
		return *number || equals(text, "false") ? MW_OK : MW_ERR_BAD_VALUE;
	}
	if (!parse_number(text, option->kind == SIZE, number) || *number < option->min ||
	    *number > option->max)
		return MW_ERR_BAD_VALUE;
	return MW_OK;
}

size_t mw_ctl_help(char *buffer, size_t capacity) {
	size_t length = 0;
	if (capacity > 0)
		buffer[0] = '\0';
	for (size_t i = 0; i < TABLE_LENGTH; i++) {
		if (table[i].kind == JEMALLOC)
			continue;
		char range[64], word[QUOTE_BYTES + 1];
		size_t used = length < capacity ? length : capacity;
		length += mw_fmt(buffer + used, capacity - used, "%s:%s  %s; %s\n", table[i].name,
				 shown_default(&table[i], word), table[i].help,
				 allowed(&table[i], range, sizeof range));
	}
	return length;
}
