/* SPDX-License-Identifier: MIT
 * web_query.c -- a value becomes part of one word, "--option=value", so that it is never an option
 * of its own. */
#include "cmd/web/web_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/percent.h"

#define VALUE_BYTES_MAX 4096

/* Keys of the query, each with the option that it sets. */
static const struct {
	const char *key, *option;
} options[] = {
	{"type", "sample-type"}, {"focus", "focus"},
	{"ignore", "ignore"},    {"hide", "hide"},
	{"show", "show"},        {"thread", "thread"},
	{"from", "show-from"},   {"tagfocus", "tagfocus"},
	{"at", "alive-at"},      {"between", "made-between"},
	{"since", "since"},      {"top", "top"},
};
/* Keys whose value is not looked at. */
static const char *const flags[] = {"cpu", "cum", "lines", "normalize", "ages", "births"};

#define COUNT(array) (sizeof(array) / sizeof(array[0]))

void mw_web_words_add(mw_web_words_t *words, const char *word) {
	if (words->count + 1 < MW_HTTP_WORDS_MAX)
		words->command.words[words->count++] = word;
}

static int add_made(mw_web_words_t *words, const char *option, const char *value,
		    mw_error_t *error) {
	char *word = NULL;
	if (strlen(value) > VALUE_BYTES_MAX)
		return mw_error_set(error, "%s: the value has more than %d bytes", option,
				    VALUE_BYTES_MAX);
	if (asprintf(&word, *value != '\0' ? "--%s=%s" : "--%s", option, value) < 0)
		return mw_error_set(error, "no memory");
	words->made[words->made_count++] = word;
	mw_web_words_add(words, word);
	return 0;
}

static int add_options(mw_web_words_t *words, const mw_http_request_t *request, mw_error_t *error) {
	for (size_t i = 0; i < COUNT(options); i++) {
		const char *value = mw_http_query(request, options[i].key);
		if (value != NULL && *value != '\0' &&
		    add_made(words, options[i].option, value, error) != 0)
			return -1;
	}
	for (size_t i = 0; i < COUNT(flags); i++)
		if (mw_http_query(request, flags[i]) != NULL &&
		    add_made(words, flags[i], "", error) != 0)
			return -1;
	return 0;
}

static int check_target(const mw_web_targets_t *targets, const char *target, mw_error_t *error) {
	if (target != NULL && mw_web_targets_allow(targets, target))
		return 0;
	return mw_error_set(error, "%s: this page does not show it",
			    target != NULL ? target : "no target");
}

int mw_web_words_add_query(mw_web_words_t *words, const mw_http_request_t *request,
			   const mw_web_targets_t *targets, mw_error_t *error) {
	const char *target = mw_http_query(request, "p"), *base = mw_http_query(request, "base");
	if (check_target(targets, target, error) != 0 || add_options(words, request, error) != 0)
		return -1;
	if (base != NULL && *base != '\0' &&
	    (check_target(targets, base, error) != 0 || add_made(words, "base", base, error) != 0))
		return -1;
	mw_web_words_add(words, target);
	return 0;
}

static void keep_made(mw_web_words_t *words, char *word) {
	words->made[words->made_count++] = word;
	mw_web_words_add(words, word);
}

/* Returns "STORE?at=-1h&kind=cpu". */
static char *store_question(const mw_http_request_t *request, const char *store) {
	static const char *const keys[] = {"at", "within", "from", "to", "kind", "service", "by"};
	char *text = NULL;
	size_t length, used = 0;
	FILE *out = open_memstream(&text, &length);
	if (out == NULL)
		return NULL;
	fprintf(out, "%s/", store);
	for (size_t i = 0; i < COUNT(keys); i++) {
		const char *value = mw_http_query(request, keys[i]);
		if (value == NULL || *value == '\0')
			continue;
		char *encoded = mw_percent_encode(value, "&?#");
		fprintf(out, "%c%s=%s", used++ == 0 ? '?' : '&', keys[i], encoded);
		free(encoded);
	}
	fclose(out);
	return text;
}

int mw_web_words_add_store(mw_web_words_t *words, const mw_http_request_t *request,
			   const mw_web_targets_t *targets, mw_error_t *error) {
	const char *function = mw_http_query(request, "function");
	if (function != NULL) {
		/* No option, whatever it begins with. */
		mw_web_words_add(words, "--");
		mw_web_words_add(words, function);
	}
	char *text = store_question(request, targets->store);
	if (text == NULL)
		return mw_error_set(error, "no memory");
	keep_made(words, text);
	return 0;
}

void mw_web_words_release(mw_web_words_t *words) {
	for (size_t i = 0; i < words->made_count; i++)
		free(words->made[i]);
}
