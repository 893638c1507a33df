/* SPDX-License-Identifier: MIT
 * lsan_options.c -- the words of LSAN_OPTIONS, one after the other. */
#include "compat/lsan/lsan_options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/fmt.h"

#define BETWEEN ":, \t\n\r"

static const struct {
	const char *name;
	size_t offset;
	int standard;
} numbers[] = {
#define MW_LSAN_NUMBER(name, standard) {#name, offsetof(mw_lsan_options_t, name), standard},
	MW_LSAN_NUMBERS(MW_LSAN_NUMBER)
#undef MW_LSAN_NUMBER
};

static const struct {
	const char *name;
	size_t offset;
} paths[] = {
	{"suppressions", offsetof(mw_lsan_options_t, suppressions)},
	{"log_path", offsetof(mw_lsan_options_t, log_path)},
	{"strip_path_prefix", offsetof(mw_lsan_options_t, strip_path_prefix)},
};

typedef struct word {
	const char *name, *value;
	size_t name_length, value_length;
} word_t;

void mw_lsan_options_default(mw_lsan_options_t *options) {
	memset(options, 0, sizeof *options);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		*(int *)(void *)((char *)options + numbers[i].offset) = numbers[i].standard;
}

static int number_of(const word_t *word) {
	char text[16], *end;
	mw_fmt(text, sizeof text, "%.*s", (int)word->value_length, word->value);
	if (strcmp(text, "true") == 0 || strcmp(text, "yes") == 0)
		return 1;
	if (strcmp(text, "false") == 0 || strcmp(text, "no") == 0)
		return 0;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || word->value_length >= sizeof text ||
	    value < INT_MIN || value > INT_MAX)
		mw_fatal("LSAN_OPTIONS: %.*s: '%.*s' is not a whole number", (int)word->name_length,
			 word->name, (int)word->value_length, word->value);
	return (int)value;
}

static bool is_named(const word_t *word, const char *name) {
	return strlen(name) == word->name_length &&
	       strncmp(name, word->name, word->name_length) == 0;
}

/* Returns false if there is no option of this name. */
static bool set(mw_lsan_options_t *options, const word_t *word) {
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (is_named(word, numbers[i].name)) {
			*(int *)(void *)((char *)options + numbers[i].offset) = number_of(word);
			return true;
		}
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (is_named(word, paths[i].name)) {
			mw_fmt((char *)options + paths[i].offset, PATH_MAX, "%.*s",
			       (int)word->value_length, word->value);
			return true;
		}
	return false;
}

/* Reads a word and returns the rest of the text. A value may stand in quotes. */
static const char *next_word(const char *text, word_t *word) {
	word->name = text;
	word->name_length = strcspn(text, "=" BETWEEN);
	text += word->name_length;
	word->value = "";
	word->value_length = 0;
	if (*text != '=')
		return text;
	text++;
	char quote = *text == '\'' || *text == '"' ? *text : '\0';
	word->value = quote ? text + 1 : text;
	const char *end = quote ? strchr(word->value, quote) : NULL;
	word->value_length = end ? (size_t)(end - word->value) : strcspn(word->value, BETWEEN);
	return word->value + word->value_length + (end != NULL);
}

void mw_lsan_options_read(mw_lsan_options_t *options, const char *text) {
	while (text && *text) {
		word_t word;
		text += strspn(text, BETWEEN);
		text = next_word(text, &word);
		if (word.name_length > 0 && !set(options, &word) && options->verbosity > 0)
			mw_warn("LSAN_OPTIONS: %.*s has no effect", (int)word.name_length,
				word.name);
		else if (word.name_length == 0 && *text)
			text++; /* "=value" without a name */
	}
}
