/* SPDX-License-Identifier: MIT
 * option_set.c -- checks the text of an option's value, and stores the value in the option's field.
 */
#include <string.h>

#include "base/fmt.h"
#include "base/libc_text.h"
#include "config/option_row.h"
#include "config/options.h"

#define JEMALLOC_SHARDS_MAX 64u

/* Returns whether the kind's numbers are unsigned. A maximum of -1 stands for the largest 64-bit
 * number. */
static bool is_unsigned(const mw_option_t *option) {
	return option->kind == MW_KIND_CUT || option->kind == MW_KIND_UNSIGNED;
}

static bool is_below(const mw_option_t *option, int64_t a, int64_t b) {
	return is_unsigned(option) ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t cut(const mw_option_t *option, int64_t number) {
	if (is_below(option, number, option->min))
		return option->min;
	return is_below(option, option->max, number) ? option->max : number;
}

/* -1 is "off" in jemalloc. */
static int64_t power_of_two(const mw_option_t *option, int64_t number) {
	if (number < 0)
		return 0;
	for (size_t i = 0; i < mw_option_count; i++) {
		const mw_option_t *target = &mw_option_table[i];
		if ((target->kind == MW_KIND_SIZE || target->kind == MW_KIND_CUT) &&
		    target->offset == option->offset)
			return number < 62 && (int64_t)1 << number < target->max
				       ? (int64_t)1 << number
				       : target->max;
	}
	return 0;
}

static bool set_number(mw_options_t *options, mw_conf_source_t *source, const mw_option_t *option,
		       mw_text_t value) {
	uint64_t read;
	bool is_log2 = option->kind == MW_KIND_LOG2;
	if (!mw_option_read_number(value, option->kind == MW_KIND_SIZE, &read)) {
		bool large = value.length && mw_strspn(value.start, "0123456789") >= value.length;
		mw_option_say_bad(source, option, value, large ? "out of range" : "not a number",
				  "Invalid conf value");
		return false;
	}
	int64_t number = (int64_t)read;
	if (is_log2 && option->min == 0 && source->what)
		number = read > (uint64_t)option->max ? option->max : number;
	if (option->kind == MW_KIND_CUT)
		number = cut(option, number);
	if (cut(option, number) != number) {
		mw_option_say_bad(source, option, value, "out of range", "Out-of-range conf value");
		return false;
	}
	if (is_log2)
		number = power_of_two(option, number);
	memcpy((char *)options + option->offset, &number, sizeof number);
	return true;
}

static bool set_flag(mw_options_t *options, mw_conf_source_t *source, const mw_option_t *option,
		     mw_text_t value) {
	bool flag = mw_text_is(value, "true");
	if (!flag && !mw_text_is(value, "false")) {
		mw_option_say_bad(source, option, value, "not a known value", "Invalid conf value");
		return false;
	}
	memcpy((char *)options + option->offset, &flag, sizeof flag);
	return true;
}

static void keep_text(mw_options_t *options, const mw_option_t *option, mw_text_t value) {
	char *field = (char *)options + option->offset;
	memcpy(field, value.start, value.length);
	field[value.length] = '\0';
}

static bool set_choice(mw_options_t *options, mw_conf_source_t *source, const mw_option_t *option,
		       mw_text_t value) {
	const char *cursor = option->unit;
	mw_text_t word;
	for (int64_t number = 0; (word = mw_option_next_word(&cursor)).length > 0; number++) {
		if (word.length != value.length ||
		    memcmp(word.start, value.start, word.length) != 0)
			continue;
		if (option->kind == MW_KIND_WORD)
			keep_text(options, option, value);
		else
			memcpy((char *)options + option->offset, &number, sizeof number);
		return true;
	}
	mw_option_say_bad(source, option, value, "not a known value", "Invalid conf value");
	return false;
}

static bool set_text(mw_options_t *options, mw_conf_source_t *source, const mw_option_t *option,
		     mw_text_t value) {
	if (value.length > (size_t)option->max) {
		/* prof_prefix is the only text that jemalloc truncates. */
		if (option->offset != offsetof(mw_options_t, prof_prefix)) {
			mw_option_say_bad(source, option, value, "too long",
					  "Out-of-range conf value");
			return false;
		}
		value.length = (size_t)option->max;
	}
	keep_text(options, option, value);
	return true;
}

/* Adds letters of malloc_stats_print() to those of earlier sources. Each letter is kept once. */
static bool add_letters(mw_options_t *options, const mw_option_t *option, mw_text_t value) {
	static const char known[] = "Jgmdablxeh";
	char *letters = (char *)options + option->offset;
	size_t length = mw_strlen(letters);
	for (size_t i = 0; i < value.length; i++)
		if (mw_memchr(known, value.start[i], sizeof known - 1) &&
		    !mw_strchr(letters, value.start[i])) {
			letters[length++] = value.start[i];
			letters[length] = '\0';
		}
	return true;
}

/* Checks the value of an option without effect, so that messages are jemalloc's. */
static bool set_form(mw_options_t *options, mw_conf_source_t *source, const mw_option_t *option,
		     mw_text_t value) {
	char what[64];
	mw_fmt(what, sizeof what, "Invalid settings for %s", option->name);
	switch (option->kind) {
	case MW_KIND_SHARES:
		if (!mw_option_is_ranges(value, JEMALLOC_SHARDS_MAX))
			break;
		return set_text(options, source, option, value);
	case MW_KIND_RANGES:
		if (!mw_option_is_ranges(value, 0))
			break;
		return set_text(options, source, option, value);
	default:
		if (mw_option_is_ratio(value, option->kind == MW_KIND_SHARE) ||
		    (*option->unit && mw_text_is(value, option->unit)))
			return set_text(options, source, option, value);
		mw_option_say_bad(source, option, value, "not a ratio", "Invalid conf value");
		return false;
	}
	mw_option_say_bad(source, option, value, "not a list of from-to:number", what);
	return false;
}

bool mw_option_set(mw_options_t *options, mw_conf_source_t *source, const mw_option_t *option,
		   mw_text_t value) {
	switch ((mw_option_kind_t)option->kind) {
	case MW_KIND_FLAG:
		return set_flag(options, source, option, value);
	case MW_KIND_SIZE:
	case MW_KIND_NUMBER:
	case MW_KIND_CUT:
	case MW_KIND_UNSIGNED:
	case MW_KIND_LOG2:
		return set_number(options, source, option, value);
	case MW_KIND_CHOICE:
	case MW_KIND_WORD:
		return set_choice(options, source, option, value);
	case MW_KIND_LETTERS:
		return add_letters(options, option, value);
	case MW_KIND_RANGES:
	case MW_KIND_SHARES:
	case MW_KIND_RATIO:
	case MW_KIND_SHARE:
		return set_form(options, source, option, value);
	case MW_KIND_TEXT:
		break;
	}
	return set_text(options, source, option, value);
}
