/* SPDX-License-Identifier: MIT
 * option_say.c -- what is said about options that cannot be taken: in jemalloc's words where it
 * reads them, because scripts look for those, and in ours with what was probably meant. */
#include <string.h>

#include "base/check.h"
#include "base/fmt.h"
#include "ctl/option_row.h"

/* Names further off than this many slips of the pen are not what was meant. */
#define NEAR_DISTANCE 3
/* jemalloc quotes all of it; a longer pair is no slip. */
#define PAIR_BYTES 512

const char *mw_option_quote(mw_text_t text, char *buffer, size_t capacity) {
	size_t length = text.length < capacity - 1 ? text.length : capacity - 1;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text.start[i];
		buffer[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	buffer[length] = '\0';
	return buffer;
}

/* Levenshtein's distance with a swap of neighbours as one step; names beyond the buffers are far.
 */
static unsigned distance(mw_text_t a, const char *b) {
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

/* Control names are often mistaken for options: "opt.prof". */
static mw_text_t without_prefix(mw_text_t name) {
	if (name.length > 4 && memcmp(name.start, "opt.", 4) == 0)
		return (mw_text_t){name.start + 4, name.length - 4};
	return name;
}

static const char *nearest(mw_text_t name) {
	name = without_prefix(name);
	const char *best = NULL;
	unsigned best_distance = NEAR_DISTANCE + 1;
	for (size_t i = 0; i < mw_option_count; i++) {
		unsigned d = distance(name, mw_option_name(&mw_option_table[i]));
		if (d < best_distance && d < name.length) {
			best_distance = d;
			best = mw_option_name(&mw_option_table[i]);
		}
	}
	return best;
}

/* jemalloc's line; what follows in ours is a help. */
static void say_as_jemalloc(mw_conf_source_t *source, const char *what, mw_conf_pair_t pair) {
	char text[PAIR_BYTES];
	mw_text_t whole = {pair.name.start,
			   (size_t)(pair.value.start + pair.value.length - pair.name.start)};
	if (source->what)
		mw_print_line("<jemalloc>: %s: %s", what,
			      mw_option_quote(whole, text, sizeof text));
}

void mw_option_say_unknown(mw_conf_source_t *source, mw_conf_pair_t pair) {
	char quote[MW_QUOTE_BYTES + 1];
	const char *near = nearest(pair.name);
	source->complaints++;
	say_as_jemalloc(source, "Invalid conf pair", pair);
	mw_option_quote(pair.name, quote, sizeof quote);
	if (near) {
		mw_warn("%s: unknown option \"%s\"; did you mean \"%s\"?", source->name, quote,
			near);
		return;
	}
	if (source->what)
		return;
	char names[2048];
	size_t length = 0;
	for (size_t i = 0; i < mw_option_count && length < sizeof names; i++)
		if (!mw_option_table[i].unused)
			length += mw_fmt(names + length, sizeof names - length, "%s%s",
					 length ? ", " : "", mw_option_name(&mw_option_table[i]));
	mw_warn("%s: unknown option \"%s\"; allowed: %s", source->name, quote, names);
}

const char *mw_option_allowed(const mw_option_t *option, char *buffer, size_t capacity) {
	if (option->kind == MW_KIND_FLAG)
		return "true, false";
	if (option->kind == MW_KIND_CHOICE || option->kind == MW_KIND_WORD) {
		size_t length = 0;
		const char *cursor = mw_option_unit(option);
		for (mw_text_t word; (word = mw_option_next_word(&cursor)).length > 0;)
			length += mw_fmt(buffer + length, capacity - length, "%s%.*s",
					 length ? ", " : "", (int)word.length, word.start);
		return buffer;
	}
	if (mw_option_is_text(option))
		mw_fmt(buffer, capacity, "up to %ld characters", (long)option->max);
	else if (option->max < option->min) /* without a sign: the largest */
		mw_fmt(buffer, capacity, "%ld or more", (long)option->min);
	else
		mw_fmt(buffer, capacity, "%ld .. %ld%s%s", (long)option->min, (long)option->max,
		       *mw_option_unit(option) ? " " : "", mw_option_unit(option));
	return buffer;
}

void mw_option_say_bad(mw_conf_source_t *source, const mw_option_t *option, mw_text_t value,
		       const char *why, const char *jemalloc_says) {
	char quote[MW_QUOTE_BYTES + 1], allowed[96];
	size_t name_length = strlen(mw_option_name(option));
	mw_conf_pair_t pair = {{value.start - 1 - name_length, name_length}, value};
	source->complaints++;
	say_as_jemalloc(source, jemalloc_says, pair);
	mw_warn("%s: %s:%s is %s; allowed: %s", source->name, mw_option_name(option),
		mw_option_quote(value, quote, sizeof quote), why,
		mw_option_allowed(option, allowed, sizeof allowed));
}

static const char *jemalloc_finds(mw_text_t text, bool last) {
	if (text.length == 0)
		return last ? "Conf string ends with comma" : "Malformed conf string";
	for (size_t i = 0; i < text.length; i++) {
		char c = text.start[i];
		bool word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			    (c >= 'a' && c <= 'z') || c == '_';
		if (!word)
			return "Malformed conf string";
	}
	return last ? "Conf string ends with key" : "Malformed conf string";
}

/* The name that was meant, up to where it goes wrong: "log" of "log=.". */
static mw_text_t name_in(mw_text_t text) {
	mw_text_t name = without_prefix(text);
	size_t length = 0;
	while (length < name.length && !memchr(":= ", name.start[length], 3))
		length++;
	return (mw_text_t){name.start, length};
}

void mw_option_say_malformed(mw_conf_source_t *source, mw_text_t text, bool last) {
	char quote[MW_QUOTE_BYTES + 1], name[MW_QUOTE_BYTES + 1];
	source->complaints++;
	if (source->what)
		mw_print_line("<jemalloc>: %s", jemalloc_finds(text, last));
	if (text.length == 0)
		return;
	mw_option_quote(text, quote, sizeof quote);
	mw_text_t meant = name_in(text);
	const char *near = nearest(meant);
	const char *rest = source->what && !last ? "; the rest is not read" : "";
	if (!memchr(text.start, ':', text.length))
		mw_warn("%s: \"%s\" has no value; write name:value, as in \"prof:true\"%s",
			source->name, quote, rest);
	else if (near)
		mw_warn("%s: \"%s\" is no name:value; did you mean \"%s\"?%s", source->name, quote,
			near, rest);
	else
		mw_warn("%s: \"%s\" is no name:value: \"%s\" is no name%s", source->name, quote,
			mw_option_quote(meant, name, sizeof name), rest);
}

void mw_option_say_unused(mw_conf_source_t *source, const mw_option_t *option) {
	source->complaints++;
	mw_warn("%s: %s is jemalloc's option and has no effect here", source->name,
		mw_option_name(option));
}
