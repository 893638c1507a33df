/* SPDX-License-Identifier: MIT
 * tags.c -- the options tagfocus, tagignore and thread. */
#include "view/select/tags.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/memory.h"
#include "report/text/pprof_units.h"
#include "view/select/pattern.h"

/* Most patterns of an option. */
#define PATTERNS_MAX 16
/* Longest unit in a range. */
#define UNIT_BYTES 32

typedef struct tag_match {
	bool given;
	bool is_range;
	long double low, high; /* exact for any number of 64 bits */
	char unit[UNIT_BYTES]; /* unit of the range's numbers; "" = numbers of any unit match */
	char *key;             /* NULL = any key */
	mw_pattern_t *patterns[PATTERNS_MAX];
	size_t pattern_count;
} tag_match_t;

struct mw_tag_filter {
	tag_match_t focus, ignore;
	char *thread; /* NULL = any thread */
};

/* Parses "64kb": *out is the number in bytes, nanoseconds or GCU, or unchanged where the unit is
 * another word or left out; *unit is what stands behind the number. NULL: the text is no quantity.
 */
static const char *parse_quantity(const char *text, long double *out, char unit[UNIT_BYTES]) {
	char *end;
	errno = 0;
	long long number = strtoll(text, &end, 10);
	size_t length = strcspn(end, ":");
	if (end == text || errno != 0 || length >= UNIT_BYTES)
		return NULL;
	for (size_t i = 0; i < length; i++)
		if (!isalpha((unsigned char)end[i]) && (unsigned char)end[i] < 0x80)
			return NULL;
	snprintf(unit, UNIT_BYTES, "%.*s", (int)length, end);
	*out = (long double)number * mw_unit_size(unit);
	return end + length;
}

/* Whether values in the two units can be compared. */
static bool are_comparable(const char *a, const char *b) {
	return mw_units_of(a) == mw_units_of(b) &&
	       (mw_units_of(a) != mw_units_of("count") || strcmp(a, b) == 0);
}

static bool parse_range(const char *text, tag_match_t *match) {
	char unit[UNIT_BYTES];
	match->low = -INFINITY;
	match->high = INFINITY;
	const char *at = text;
	if (*at != ':' && (at = parse_quantity(text, &match->low, match->unit)) == NULL)
		return false;
	if (*at == '\0') {
		match->high = match->low;
		return true;
	}
	if (*++at == '\0')
		return at - text > 1;
	at = parse_quantity(at, &match->high, unit);
	if (at == NULL || *at != '\0' || (*text != ':' && !are_comparable(match->unit, unit)))
		return false;
	snprintf(match->unit, sizeof(match->unit), "%s", unit);
	return true;
}

static int make_match(const char *option, const char *text, tag_match_t *match, mw_error_t *error) {
	if (text == NULL || *text == '\0')
		return 0;
	match->given = true;
	const char *equals = strchr(text, '=');
	if (equals != NULL) {
		match->key = mw_xstrdup(text);
		match->key[equals - text] = '\0';
		text = equals + 1;
	}
	if (parse_range(text, match)) {
		match->is_range = true;
		return 0;
	}
	char *copy = mw_xstrdup(text), *rest = copy, *piece;
	int result = 0;
	while (result == 0 && (piece = strsep(&rest, ",")) != NULL) {
		if (match->pattern_count == PATTERNS_MAX)
			result = mw_error_set(error,
					      "%s: more than %d patterns; join some of them with |",
					      option, PATTERNS_MAX);
		else if (*piece != '\0')
			result = mw_pattern_make(option, piece,
						 &match->patterns[match->pattern_count++], error);
	}
	free(copy);
	return result;
}

static void free_match(tag_match_t *match) {
	free(match->key);
	for (size_t i = 0; i < match->pattern_count; i++)
		mw_pattern_free(match->patterns[i]);
}

int mw_tag_filter_make(const char *focus, const char *ignore, const char *thread,
		       mw_tag_filter_t **out, mw_error_t *error) {
	mw_tag_filter_t *filter = *out = mw_xcalloc(1, sizeof(*filter));
	if (thread != NULL && strcmp(thread, "*") != 0)
		filter->thread = mw_xstrdup(thread);
	if (make_match("tagfocus", focus, &filter->focus, error) != 0)
		return -1;
	return make_match("tagignore", ignore, &filter->ignore, error);
}

void mw_tag_filter_free(mw_tag_filter_t *filter) {
	if (filter == NULL)
		return;
	free_match(&filter->focus);
	free_match(&filter->ignore);
	free(filter->thread);
	free(filter);
}

static bool pattern_matches_some(const mw_pattern_t *pattern, const tag_match_t *match,
				 const mw_profile_t *p, const mw_sample_t *s) {
	for (uint32_t i = 0; i < s->label_count; i++) {
		const mw_label_t *label = &p->labels[s->label_first + i];
		const char *key = mw_profile_string(p, label->key);
		char number[64], text[512];
		const char *value = mw_tag_value(p, label, NULL, number, sizeof(number));
		if (match->key != NULL && strcmp(key, match->key) != 0)
			continue;
		snprintf(text, sizeof(text), "%s:%s", key, value);
		if (mw_pattern_matches(pattern, match->key != NULL ? value : text))
			return true;
	}
	return false;
}

/* Returns the unit of a label's number. As in pprof, the key of a label
 * without a unit may name it. */
static const char *unit_of(const mw_profile_t *p, const mw_label_t *label) {
	const char *key = mw_profile_string(p, label->key);
	if (label->unit != 0)
		return mw_profile_string(p, label->unit);
	if (strcmp(key, MW_LABEL_REQUEST) == 0 || strcmp(key, "alignment") == 0)
		return "bytes";
	return mw_unit_is_known(key) ? key : "";
}

static bool range_matches(const tag_match_t *match, const mw_profile_t *p, const mw_sample_t *s) {
	for (uint32_t i = 0; i < s->label_count; i++) {
		const mw_label_t *label = &p->labels[s->label_first + i];
		if (label->text != 0 || (match->key != NULL &&
					 strcmp(mw_profile_string(p, label->key), match->key) != 0))
			continue;
		const char *unit = unit_of(p, label);
		bool has_unit = *match->unit != '\0';
		long double number =
			(long double)label->number * (has_unit ? mw_unit_size(unit) : 1);
		if (number >= match->low && number <= match->high &&
		    (!has_unit || are_comparable(match->unit, unit)))
			return true;
	}
	return false;
}

static bool matches(const tag_match_t *match, const mw_profile_t *p, const mw_sample_t *s) {
	if (match->is_range)
		return range_matches(match, p, s);
	for (size_t i = 0; i < match->pattern_count; i++) {
		bool found = pattern_matches_some(match->patterns[i], match, p, s);
		/* With a key one pattern has to match, without a key all of them, as in pprof. */
		if (found != (match->key == NULL))
			return found;
	}
	return match->key == NULL;
}

static bool is_thread(const char *thread, const mw_profile_t *p, const mw_sample_t *s) {
	for (uint32_t i = 0; i < s->label_count; i++) {
		const mw_label_t *label = &p->labels[s->label_first + i];
		const char *key = mw_profile_string(p, label->key);
		char number[32];
		snprintf(number, sizeof(number), "%" PRId64, label->number);
		if (strcmp(key, MW_LABEL_THREAD) == 0 &&
		    strcmp(mw_profile_string(p, label->text), thread) == 0)
			return true;
		if (strcmp(key, MW_LABEL_THREAD_ID) == 0 && strcmp(number, thread) == 0)
			return true;
	}
	return false;
}

/* Most threads that a message names. */
#define THREADS_NAMED 8

static void add_thread(const mw_profile_t *p, const mw_sample_t *s, mw_string_t *names,
		       size_t *count) {
	for (uint32_t i = 0; i < s->label_count; i++) {
		const mw_label_t *label = &p->labels[s->label_first + i];
		bool known = strcmp(mw_profile_string(p, label->key), MW_LABEL_THREAD) != 0;
		for (size_t k = 0; k < *count; k++)
			known |= names[k] == label->text;
		if (!known && *count <= THREADS_NAMED)
			names[(*count)++] = label->text;
	}
}

bool mw_selection_knows_thread(const mw_profile_t *p, const char *thread, char *others,
			       size_t size) {
	mw_string_t names[THREADS_NAMED + 1];
	size_t count = 0, used = 0;
	*others = '\0';
	if (strcmp(thread, "*") == 0)
		return true;
	for (size_t i = 0; i < p->sample_count; i++) {
		if (is_thread(thread, p, &p->samples[i]))
			return true;
		add_thread(p, &p->samples[i], names, &count);
	}
	for (size_t i = 0; i < count && used < size; i++)
		used += (size_t)snprintf(others + used, size - used, "%s%s", i > 0 ? ", " : "",
					 i < THREADS_NAMED ? mw_profile_string(p, names[i])
							   : "...");
	return false;
}

bool mw_tag_filter_keeps(const mw_tag_filter_t *filter, const mw_profile_t *p,
			 const mw_sample_t *s) {
	if (filter->thread != NULL && !is_thread(filter->thread, p, s))
		return false;
	if (filter->focus.given && !matches(&filter->focus, p, s))
		return false;
	return !filter->ignore.given || !matches(&filter->ignore, p, s);
}

static bool has_key(const mw_profile_t *p, const mw_sample_t *s, const char *key) {
	for (uint32_t i = 0; i < s->label_count; i++)
		if (strcmp(mw_profile_string(p, p->labels[s->label_first + i].key), key) == 0)
			return true;
	return false;
}

const char *mw_tag_types(const mw_profile_t *p, const char *key, char *buffer, size_t size) {
	bool *has = mw_xcalloc(p->type_count, sizeof(*has));
	size_t used = 0;
	for (size_t i = 0; i < p->sample_count; i++) {
		bool is_labelled = has_key(p, &p->samples[i], key);
		for (size_t k = 0; is_labelled && k < p->type_count; k++)
			has[k] |= mw_profile_values(p, i)[k] != 0;
	}
	buffer[0] = '\0';
	for (size_t k = 0; k < p->type_count; k++)
		if (has[k] && used < size)
			used += (size_t)snprintf(buffer + used, size - used, "%s%s",
						 used > 0 ? ", " : "",
						 mw_profile_string(p, p->types[k].type));
	free(has);
	return buffer;
}

const char *mw_tag_value(const mw_profile_t *p, const mw_label_t *label, const char *unit,
			 char *buffer, size_t size) {
	if (label->text != 0)
		return mw_profile_string(p, label->text);
	const char *own = unit_of(p, label);
	if (unit != NULL) {
		const mw_unit_t *units = mw_units_of(own);
		double value = (double)label->number * mw_unit_size(own);
		bool fits = strcmp(unit, "minimum") == 0 || strcmp(unit, "auto") == 0;
		return mw_unit_text(fits ? mw_unit_fitting(units, fabs(value))
					 : mw_unit_named(units, unit),
				    value, buffer, size);
	}
	if (mw_unit_for_people(label->number, own, buffer, size) != NULL)
		return buffer;
	snprintf(buffer, size, "%" PRId64, label->number);
	return buffer;
}

const char *mw_tag_text(const mw_profile_t *p, const mw_label_t *label, const char *unit,
			char buffer[MW_TAG_BYTES]) {
	const char *text = mw_tag_value(p, label, unit, buffer, MW_TAG_BYTES);
	bool is_lost = label->text == 0 && label->number != 0 && strcmp(text, "0") == 0;
	return is_lost ? mw_tag_value(p, label, "auto", buffer, MW_TAG_BYTES) : text;
}
