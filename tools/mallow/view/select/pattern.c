/* SPDX-License-Identifier: MIT
 * pattern.c -- regular expressions with PCRE2. */
#include "view/select/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

struct mw_pattern {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *context;
};

/* Most steps of one match.  A reasonable pattern and a name of some kilobytes need far fewer.  A
 * hostile pair ends after milliseconds. */
#define MATCH_STEPS_MAX 1000000

int mw_pattern_make(const char *option, const char *text, mw_pattern_t **out, mw_error_t *error) {
	*out = NULL;
	if (text == NULL || *text == '\0')
		return 0;
	int code;
	PCRE2_SIZE offset;
	pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
					     PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);
	if (compiled == NULL) {
		char why[160] = "";
		pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why));
		return mw_error_set(error,
				    "%s: '%s' is not a regular expression: %s at character %zu; "
				    "write \\ before characters that stand for themselves",
				    option, text, why, (size_t)offset + 1);
	}
	mw_pattern_t *pattern = mw_xcalloc(1, sizeof(*pattern));
	pattern->code = compiled;
	pattern->match = pcre2_match_data_create(1, NULL);
	pattern->context = pcre2_match_context_create(NULL);
	if (pattern->match == NULL || pattern->context == NULL) {
		mw_pattern_free(pattern);
		return mw_error_set(error, "%s: out of memory; try a smaller profile", option);
	}
	pcre2_set_match_limit(pattern->context, MATCH_STEPS_MAX);
	pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
	*out = pattern;
	return 0;
}

void mw_pattern_free(mw_pattern_t *pattern) {
	if (pattern == NULL)
		return;
	pcre2_match_context_free(pattern->context);
	pcre2_match_data_free(pattern->match);
	pcre2_code_free(pattern->code);
	free(pattern);
}

bool mw_pattern_matches(const mw_pattern_t *pattern, const char *text) {
	return pcre2_match(pattern->code, (PCRE2_SPTR)text, strlen(text), 0, 0, pattern->match,
			   pattern->context) >= 0;
}
