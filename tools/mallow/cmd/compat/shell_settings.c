/* SPDX-License-Identifier: MIT
 * shell_settings.c -- a list of names and values, each checked like an option. */
#include "cmd/compat/shell_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/suggest.h"
#include "cmd/compat/outputs.h"
#include "cmd/profile/view_options.h"
#include "model/memory.h"

/* True for options that concern loading or one output: the profile is loaded already, and every
 * command has its own output. */
static bool is_for_once(const char *name) {
	static const char *const names[] = {"base",    "diff-base", "normalize", "output",
					    "format",  "symbolize", "sysroot",   "binary-path",
					    "seconds", "timeout",   "color",     "no-pager"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static const char *const row_kinds[] = {"functions", "filefunctions", "files",
					"lines",     "addresses",     NULL};
static const char *const orders[] = {"flat", "cum", NULL};
static const char *const types[] = {"sample-index", "sample-type",   "inuse-space", "inuse-objects",
				    "alloc-space",  "alloc-objects", "peak-space",  "peak-objects",
				    "contentions",  "total-delay",   "mean-delay",  NULL};

static bool is_in(const char *const *names, const char *name) {
	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static void forget(mw_settings_t *s, const char *name) {
	size_t left = 0;
	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->rows[i].name, name) == 0)
			free(s->rows[i].value);
		else
			s->rows[left++] = s->rows[i];
	}
	s->count = left;
}

/* Sets an option.  Of a group of options only the last one is set. */
static void set(mw_settings_t *s, const char *name, const char *value) {
	const char *const *groups[] = {row_kinds, orders, types};
	forget(s, name);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (const char *const *other = groups[i]; is_in(groups[i], name) && *other;
		     other++)
			forget(s, *other);
	s->rows = mw_grow(s->rows, &s->capacity, s->count + 1, sizeof(*s->rows));
	s->rows[s->count++] = (mw_shell_setting_t){name, mw_xstrdup(value)};
}

void mw_settings_init(mw_settings_t *s, const mw_arguments_t *arguments) {
	*s = (mw_settings_t){0};
	for (const mw_option_t *option = mw_view_options; option->name != NULL; option++) {
		const mw_text_value_t *value = mw_argument(arguments, option->name);
		if (value->given && !is_for_once(option->name))
			set(s, option->name, value->text);
	}
}

void mw_settings_release(mw_settings_t *s) {
	for (size_t i = 0; i < s->count; i++)
		free(s->rows[i].value);
	free(s->rows);
}

bool mw_settings_has(const mw_settings_t *s, const char *name) {
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->rows[i].name, name) == 0)
			return true;
	return false;
}

const char *mw_settings_name(size_t i) {
	return mw_view_options[i].name;
}

bool mw_settings_has_value(size_t i) {
	return mw_view_options[i].value != NULL;
}

/* Finds an option in the table. '_' equals '-'. */
static const mw_option_t *find_option(const char *word, size_t length) {
	for (const mw_option_t *option = mw_view_options; option->name != NULL; option++) {
		size_t i = 0;
		while (i < length &&
		       (option->name[i] == word[i] || (option->name[i] == '-' && word[i] == '_')))
			i++;
		if (i == length && option->name[i] == '\0' && !is_for_once(option->name))
			return option;
	}
	return NULL;
}

/* True if a command line accepts the value.  The parser prints a message otherwise. */
static bool is_good(const mw_option_t *option, const char *value) {
	mw_arguments_t arguments;
	char word[4096], target[] = "profile";
	snprintf(word, sizeof(word), "--%s=%s", option->name, value);
	char *words[] = {word, target, NULL};
	bool good = mw_arguments_parse(&arguments, mw_subcommand_find("top"), 2, words);
	mw_arguments_release(&arguments);
	return good;
}

/* Handles "alloc_space", "total_delay", "mean_delay": pprof's names of sample types. */
static bool take_type(mw_settings_t *s, const mw_profile_t *p, const char *word) {
	bool is_mean = strncmp(word, "mean_", 5) == 0;
	const char *type = is_mean ? word + 5 : strncmp(word, "total_", 6) == 0 ? word + 6 : word;
	if (mw_profile_find_type(p, word) >= 0)
		type = word;
	else if (mw_profile_find_type(p, type) < 0)
		return false;
	set(s, "sample-type", type);
	forget(s, "mean");
	if (is_mean && type != word)
		set(s, "mean", "true");
	return true;
}

static void complain_of_word(const char *word, size_t length) {
	char name[64], hint[64 + 32] = "'help' lists them";
	const char *known;
	mw_suggestion_t meant = {NULL, 0};
	snprintf(name, sizeof(name), "%.*s", (int)length, word);
	for (size_t i = 0; i < mw_output_count; i++)
		mw_suggest(&meant, name, mw_outputs[i].name);
	for (size_t i = 0; (known = mw_settings_name(i)) != NULL; i++)
		if (!is_for_once(known))
			mw_suggest(&meant, name, known);
	if (meant.best != NULL)
		snprintf(hint, sizeof(hint), "did you mean '%.60s'?", meant.best);
	mw_complain("'%.*s' is neither a command nor an option; %s", (int)length, word, hint);
}

bool mw_settings_print_help(const char *name, FILE *out) {
	const mw_option_t *option = find_option(name, strlen(name));
	if (option == NULL) {
		complain_of_word(name, strlen(name));
		return false;
	}
	fprintf(out, "  %s%s%s\n      %s\n", option->name, option->value != NULL ? "=" : "",
		option->value != NULL ? option->value : "", option->help);
	return true;
}

bool mw_settings_take(mw_settings_t *s, const mw_profile_t *p, const char *word) {
	size_t length = strcspn(word, "=");
	const char *value = word[length] == '=' ? word + length + 1 : NULL;
	/* pprof's names of the two groups. */
	if (value != NULL && ((length == 4 && strncmp(word, "sort", 4) == 0) ||
			      (length == 11 && strncmp(word, "granularity", 11) == 0))) {
		word = value;
		length = strlen(value);
		value = NULL;
	}
	const mw_option_t *option = find_option(word, length);
	if (value == NULL && take_type(s, p, word))
		return true;
	if (option == NULL) {
		complain_of_word(word, length);
		return false;
	}
	if (value == NULL && mw_option_kind(option) != MW_OPTION_SWITCH) {
		mw_complain("%s needs a value: %s=%s", option->name, option->name,
			    option->value != NULL ? option->value : "");
		return false;
	}
	if (value != NULL && *value == '\0') {
		forget(s, option->name);
		return true;
	}
	if (!is_good(option, value != NULL ? value : "true"))
		return false;
	set(s, option->name, value != NULL ? value : "true");
	return true;
}

void mw_settings_forget_patterns(mw_settings_t *s) {
	for (size_t i = s->count; i > 0; i--)
		if (mw_view_options_is_filter(s->rows[i - 1].name))
			forget(s, s->rows[i - 1].name);
}

void mw_settings_print(const mw_settings_t *s, FILE *out) {
	for (size_t i = 0; i < s->count; i++)
		fprintf(out, "  %s = %s\n", s->rows[i].name, s->rows[i].value);
	if (s->count == 0)
		fputs("  no option is set\n", out);
}
