/* SPDX-License-Identifier: MIT
 * name_rule.c -- parses rules, and applies their patterns by PCRE2. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "agent/rules/name_rule.h"

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

/* Most parts of a text that a form can name: $0 to $9. */
#define PARTS_MAX 10
/* Steps of a match.  A user chooses the command line that a pattern is compared with, and some
 * patterns take exponential time; matches of names take some hundreds of steps. */
#define MATCH_STEPS 100000u
#define LABEL_KEY_BYTES_MAX 64

static const char *const field_names[MW_RULE_FIELDS] = {"service", "version", "label", "ignore"};

static const struct {
	const char *name;
	const char *arguments; /* for messages; "": none */
	unsigned count;        /* of arguments */
	bool needs_pattern, takes_pattern;
} sources[MW_RULE_SOURCES] = {
	[MW_SOURCE_TEXT] = {"text", " TEXT", 1, false, false},
	[MW_SOURCE_PROGRAM] = {"program", "", 0, false, true},
	[MW_SOURCE_COMMAND] = {"command", "", 0, true, true},
	[MW_SOURCE_UNIT] = {"unit", "", 0, false, true},
	[MW_SOURCE_CGROUP] = {"cgroup", "", 0, true, true},
	[MW_SOURCE_CONTAINER_LABEL] = {"container-label", " NAME", 1, false, true},
	[MW_SOURCE_FILE] = {"file", " PATH", 1, false, true},
	[MW_SOURCE_FILE_KEY] = {"file-key", " PATH KEY", 2, false, true},
};

static int find_field(const char *word) {
	for (int i = 0; i < MW_RULE_FIELDS; i++)
		if (strcmp(word, field_names[i]) == 0)
			return i;
	return -1;
}

bool mw_name_rule_is_field(const char *word) {
	return find_field(word) >= 0;
}

static int find_source(const char *word, mw_error_t *error) {
	for (int i = 0; i < MW_RULE_SOURCES; i++)
		if (strcmp(word, sources[i].name) == 0)
			return i;
	return mw_error_set(error,
			    "unknown source '%.60s'; allowed are text, program, command, unit, "
			    "cgroup, container-label, file and file-key",
			    word);
}

/* Keys of labels go into names of Prometheus and of Pyroscope. */
static int check_label_key(const char *key, mw_error_t *error) {
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char reserved[][12] = {"service", "instance", "host", "version", "build_id"};
	size_t length =
		strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
	if (length == 0 || key[length] != '\0' || length > LABEL_KEY_BYTES_MAX ||
	    strchr(letters, *key) == NULL)
		return mw_error_set(
			error,
			"label: '%.60s' is no key; use letters, digits and '_', at most "
			"%d, and no digit at the start",
			key, LABEL_KEY_BYTES_MAX);
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (strcmp(key, reserved[i]) == 0)
			return mw_error_set(
				error, "label: '%s' is set by mallow; choose another key", key);
	return 0;
}

static int compile(mw_name_rule_t *rule, const char *text, mw_error_t *error) {
	int number;
	PCRE2_SIZE place;
	rule->pattern =
		pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, &number, &place, NULL);
	if (rule->pattern != NULL)
		return 0;
	char why[128] = "";
	pcre2_get_error_message(number, (PCRE2_UCHAR *)why, sizeof(why));
	return mw_error_set(error, "pattern '%.80s': %s at character %zu", text, why, place + 1);
}

/* Checks that each $ of a form is $0 to $9, of a part that the pattern has, or $$. */
static int check_form(const mw_name_rule_t *rule, mw_error_t *error) {
	uint32_t parts = 0;
	if (rule->pattern != NULL)
		pcre2_pattern_info(rule->pattern, PCRE2_INFO_CAPTURECOUNT, &parts);
	for (const char *at = rule->form; (at = strchr(at, '$')) != NULL; at += 2) {
		if (at[1] == '$' ||
		    (at[1] >= '0' && at[1] <= '9' && (uint32_t)(at[1] - '0') <= parts))
			continue;
		return mw_error_set(error,
				    "name '%.80s': $ needs the number of a group, of which the "
				    "pattern has %u, or another $",
				    rule->form, parts);
	}
	return 0;
}

static int take_pattern(const mw_line_words_t *words, size_t at, mw_name_rule_t *rule,
			mw_error_t *error) {
	if (at < words->count) {
		uint32_t parts = 0;
		if (compile(rule, words->words[at++], error) != 0)
			return -1;
		pcre2_pattern_info(rule->pattern, PCRE2_INFO_CAPTURECOUNT, &parts);
		rule->form = mw_xstrdup(at < words->count ? words->words[at++]
					: parts > 0       ? "$1"
							  : "$0");
	} else {
		rule->form = mw_xstrdup("$0");
	}
	if (at < words->count)
		return mw_error_set(error, "'%.60s' is one word too many; quote words with blanks",
				    words->words[at]);
	return check_form(rule, error);
}

static int say_missing(const mw_name_rule_t *rule, mw_error_t *error) {
	int source = (int)rule->source;
	return mw_error_set(error, "write %s%s %s%s%s", field_names[rule->field],
			    rule->field == MW_RULE_LABEL ? " KEY" : "", sources[source].name,
			    sources[source].arguments,
			    sources[source].needs_pattern   ? " PATTERN [NAME]"
			    : sources[source].takes_pattern ? " [PATTERN [NAME]]"
							    : "");
}

static int take_source(const mw_line_words_t *words, size_t at, mw_name_rule_t *rule,
		       mw_error_t *error) {
	int source = find_source(words->words[at++], error);
	if (source < 0)
		return -1;
	rule->source = (mw_rule_source_t)source;
	if (rule->field == MW_RULE_IGNORE && source == MW_SOURCE_TEXT)
		return mw_error_set(error, "ignore: 'text' would ignore all processes; choose "
					   "another source");
	if (words->count - at < sources[source].count + sources[source].needs_pattern)
		return say_missing(rule, error);
	if (sources[source].count > 0)
		rule->text = mw_xstrdup(words->words[at++]);
	if (sources[source].count > 1)
		rule->key = mw_xstrdup(words->words[at++]);
	bool is_file = source == MW_SOURCE_FILE || source == MW_SOURCE_FILE_KEY;
	if (is_file && *rule->text != '/')
		return mw_error_set(error, "'%.80s': write the whole path, from '/' on",
				    rule->text);
	if (!sources[source].takes_pattern && at < words->count)
		return mw_error_set(error, "'%.60s' is one word too many; quote words with blanks",
				    words->words[at]);
	return take_pattern(words, at, rule, error);
}

int mw_name_rule_make(const mw_line_words_t *words, mw_name_rule_t *out, mw_error_t *error) {
	size_t at = 1;
	int field = words->count > 0 ? find_field(words->words[0]) : -1;
	*out = (mw_name_rule_t){0};
	if (field < 0)
		return mw_error_set(error, "no rule");
	out->field = (mw_rule_field_t)field;
	int result = 0;
	if (field == MW_RULE_LABEL && words->count > 1) {
		result = check_label_key(words->words[at], error);
		out->label = mw_xstrdup(words->words[at++]);
	}
	if (result == 0 && words->count <= at)
		result =
			mw_error_set(error,
				     "write %s%s SOURCE; sources are text, program, command, unit, "
				     "cgroup, container-label, file and file-key",
				     field_names[field], field == MW_RULE_LABEL ? " KEY" : "");
	if (result == 0)
		result = take_source(words, at, out, error);
	if (result != 0)
		mw_name_rule_release(out);
	return result;
}

void mw_name_rule_release(mw_name_rule_t *rule) {
	pcre2_code_free(rule->pattern);
	free(rule->label);
	free(rule->text);
	free(rule->key);
	free(rule->form);
	*rule = (mw_name_rule_t){0};
}

/* Writes the form, with the parts of the text that the pattern found.  NULL: nothing was written.
 */
static char *fill_form(const char *form, const char *text, const PCRE2_SIZE *places, int parts) {
	char *name = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&name, &length);
	if (out == NULL)
		return NULL;
	for (const char *at = form; *at != '\0'; at++) {
		if (*at != '$') {
			fputc(*at, out);
			continue;
		}
		int part = *++at - '0';
		if (*at == '$')
			fputc('$', out);
		else if (part < parts && places[2 * part] != PCRE2_UNSET &&
			 places[2 * part] <= places[2 * part + 1])
			fwrite(text + places[2 * part], 1, places[2 * part + 1] - places[2 * part],
			       out);
	}
	if (fclose(out) == 0 && length > 0)
		return name;
	free(name);
	return NULL;
}

char *mw_name_rule_apply(const mw_name_rule_t *rule, const char *text) {
	if (rule->pattern == NULL) {
		const PCRE2_SIZE whole[] = {0, strlen(text)};
		return fill_form(rule->form, text, whole, 1);
	}
	char *name = NULL;
	pcre2_match_data *match = pcre2_match_data_create(PARTS_MAX, NULL);
	pcre2_match_context *limits = pcre2_match_context_create(NULL);
	if (match != NULL && limits != NULL) {
		pcre2_set_match_limit(limits, MATCH_STEPS);
		int parts = pcre2_match(rule->pattern, (PCRE2_SPTR)text, strlen(text), 0, 0, match,
					limits);
		/* 0: the pattern has more groups than a form can name. */
		if (parts >= 0)
			name = fill_form(rule->form, text, pcre2_get_ovector_pointer(match),
					 parts == 0 ? PARTS_MAX : parts);
	}
	pcre2_match_data_free(match);
	pcre2_match_context_free(limits);
	return name;
}
