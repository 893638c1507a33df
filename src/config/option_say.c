/* SPDX-License-Identifier: MIT
 * option_say.c -- messages about options that are unknown or have a bad value. Messages about
 * jemalloc's sources are in jemalloc's words, because scripts search for them. Messages about
 * MALLOW_CONF are in mallow's words and suggest a similar name. */
#include <string.h>

#include "base/check.h"
#include "base/fmt.h"
#include "base/libc_text.h"
#include "config/option_row.h"

/* Largest edit distance between an unknown name and a suggested one. */
#define NEAR_DISTANCE 3
/* Longest pair in a message. jemalloc quotes the whole pair. */
#define PAIR_BYTES 512
/* Longest message: a pair and a few words, or the names of all options. */
#define WORDS_BYTES (PAIR_BYTES + 64)
#define HELP_BYTES 1800

const char *mw_option_quote(mw_text_t text, char *buffer, size_t capacity) {
	size_t length = text.length < capacity - 1 ? text.length : capacity - 1;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text.start[i];
		buffer[i] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
	}
	buffer[length] = '\0';
	return buffer;
}

/* Levenshtein distance, in which a swap of two neighbouring letters counts as one step. A name
 * longer than the buffers is at the greatest distance. */
static unsigned distance(mw_text_t a, const char *b) {
	enum { LIMIT = 48 };
	size_t b_length = mw_strlen(b);
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

/* Users often write a control name instead of an option's name: "opt.prof" for "prof". */
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
		unsigned d = distance(name, mw_option_table[i].name);
		if (d < best_distance && d < name.length) {
			best_distance = d;
			best = mw_option_table[i].name;
		}
	}
	return best;
}

/* Prints one line: jemalloc's words with the help behind them, or the help alone. */
static void say(const mw_conf_source_t *source, const char *jemallocs, const char *help) {
	if (!source->what)
		mw_warn("%s: %s", source->name, help);
	else if (*help)
		mw_print_line("<jemalloc>: %s (mallow: %s)", jemallocs, help);
	else
		mw_print_line("<jemalloc>: %s", jemallocs);
}

/* Writes for example "Invalid conf pair: foo:1". */
static const char *jemallocs_words(char *buffer, const char *what, mw_conf_pair_t pair) {
	char text[PAIR_BYTES];
	mw_text_t whole = {pair.name.start,
			   (size_t)(pair.value.start + pair.value.length - pair.name.start)};
	mw_fmt(buffer, WORDS_BYTES, "%s: %s", what, mw_option_quote(whole, text, sizeof text));
	return buffer;
}

void mw_option_say_unknown(mw_conf_source_t *source, mw_conf_pair_t pair) {
	char quote[MW_QUOTE_BYTES + 1], help[HELP_BYTES] = "", words[WORDS_BYTES];
	const char *near = nearest(pair.name);
	source->complaints++;
	mw_option_quote(pair.name, quote, sizeof quote);
	size_t length = 0;
	if (!source->what)
		length = mw_fmt(help, sizeof help, "unknown option \"%s\"; ", quote);
	if (near)
		mw_fmt(help + length, sizeof help - length, "did you mean \"%s\"?", near);
	else if (!source->what)
		length += mw_fmt(help + length, sizeof help - length, "allowed: ");
	const char *between = "";
	for (size_t i = 0; !near && !source->what && i < mw_option_count && length < sizeof help;
	     i++)
		if (!mw_option_is_unused(&mw_option_table[i])) {
			length += mw_fmt(help + length, sizeof help - length, "%s%s", between,
					 mw_option_table[i].name);
			between = ", ";
		}
	say(source, jemallocs_words(words, "Invalid conf pair", pair), help);
}

const char *mw_option_allowed(const mw_option_t *option, char *buffer, size_t capacity) {
	if (option->kind == MW_KIND_FLAG)
		return "true, false";
	if (option->kind == MW_KIND_CHOICE || option->kind == MW_KIND_WORD) {
		size_t length = 0;
		const char *cursor = option->unit;
		for (mw_text_t word; (word = mw_option_next_word(&cursor)).length > 0;)
			length += mw_fmt(buffer + length, capacity - length, "%s%.*s",
					 length ? ", " : "", (int)word.length, word.start);
		return buffer;
	}
	if (mw_option_is_text(option))
		mw_fmt(buffer, capacity, "up to %ld characters", (long)option->max);
	else if (option->max < option->min) /* max < min: any unsigned 64-bit number is allowed */
		mw_fmt(buffer, capacity, "%ld or more", (long)option->min);
	else
		mw_fmt(buffer, capacity, "%ld .. %ld%s%s", (long)option->min, (long)option->max,
		       *option->unit ? " " : "", option->unit);
	return buffer;
}

void mw_option_say_bad(mw_conf_source_t *source, const mw_option_t *option, mw_text_t value,
		       const char *why, const char *jemalloc_says) {
	char quote[MW_QUOTE_BYTES + 1], allowed[96], help[HELP_BYTES], words[WORDS_BYTES];
	size_t name_length = mw_strlen(option->name), length = 0;
	mw_conf_pair_t pair = {{value.start - 1 - name_length, name_length}, value};
	source->complaints++;
	if (!source->what)
		length = mw_fmt(help, sizeof help, "%s:%s is ", option->name,
				mw_option_quote(value, quote, sizeof quote));
	mw_fmt(help + length, sizeof help - length, "%s; allowed: %s", why,
	       mw_option_allowed(option, allowed, sizeof allowed));
	say(source, jemallocs_words(words, jemalloc_says, pair), help);
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

/* Returns the option's name at the start of the text: "log" of "log=.". */
static mw_text_t name_in(mw_text_t text) {
	mw_text_t name = without_prefix(text);
	size_t length = 0;
	while (length < name.length && !mw_memchr(":= ", name.start[length], 3))
		length++;
	return (mw_text_t){name.start, length};
}

void mw_option_say_malformed(mw_conf_source_t *source, mw_text_t text, bool last) {
	char quote[MW_QUOTE_BYTES + 1], name[MW_QUOTE_BYTES + 1];
	char help[HELP_BYTES] = "";
	source->complaints++;
	mw_option_quote(text, quote, sizeof quote);
	mw_text_t meant = name_in(text);
	const char *near = nearest(meant);
	const char *rest = source->what && !last ? "; the rest is not read" : "";
	if (text.length == 0 && !source->what)
		return;
	if (text.length > 0 && !mw_memchr(text.start, ':', text.length))
		mw_fmt(help, sizeof help,
		       "\"%s\" has no value; write name:value, as in \"prof:true\"%s", quote, rest);
	else if (text.length > 0 && near)
		mw_fmt(help, sizeof help,
		       "\"%s\" is not of the form name:value; did you mean \"%s\"?%s", quote, near,
		       rest);
	else if (text.length > 0)
		mw_fmt(help, sizeof help,
		       "\"%s\" is not of the form name:value: \"%s\" is not a name%s", quote,
		       mw_option_quote(meant, name, sizeof name), rest);
	say(source, jemalloc_finds(text, last), help);
}

void mw_option_say_unused(mw_conf_source_t *source, const mw_option_t *option) {
	source->complaints++;
	mw_warn("%s: %s is jemalloc's option and has no effect here", source->name, option->name);
}
