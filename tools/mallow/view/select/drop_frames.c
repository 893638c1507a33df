/* SPDX-License-Identifier: MIT
 * drop_frames.c -- removes the frames of the allocator. */
#include "view/select/drop_frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "view/select/pattern.h"

/* Result for a location: kept; dropped; dropped except its outermost functions. */
enum { KEPT, DROPPED, DROPPED_WITHIN };

/* Makes the pattern "(RE)", which matches whole names only. */
static int make_pattern(const mw_profile_t *p, const char *option, mw_string_t text,
			mw_pattern_t **out, mw_error_t *error) {
	char *whole = NULL;
	*out = NULL;
	if (text == 0)
		return 0;
	if (asprintf(&whole, "^(%s)$", mw_profile_string(p, text)) < 0)
		return mw_error_set(error, "%s: out of memory; try a smaller profile", option);
	int result = mw_pattern_make(option, whole, out, error);
	free(whole);
	return result;
}

/* Returns the length of a name without its parameters.  "(anonymous namespace)" and "operator()"
 * are no parameters. */
static size_t bare_length(const char *name) {
	const char *at = name;
	while ((at = strchr(at, '(')) != NULL) {
		if (strncmp(at, "(anonymous namespace)", 21) == 0)
			at += 21;
		else if (at - name >= 8 && strncmp(at - 8, "operator()", 10) == 0)
			at += 2;
		else
			return (size_t)(at - name);
	}
	return strlen(name);
}

static bool is_dropped(const char *name, const mw_pattern_t *drop, const mw_pattern_t *keep) {
	char *bare = strndup(name, bare_length(name));
	bool dropped = bare != NULL && *bare != '\0' && mw_pattern_matches(drop, bare) &&
		       (keep == NULL || !mw_pattern_matches(keep, bare));
	free(bare);
	return dropped;
}

/* Returns for each function whether it is dropped. */
static bool *find_functions(const mw_profile_t *p, const mw_pattern_t *drop,
			    const mw_pattern_t *keep) {
	bool *functions = mw_xcalloc(p->function_count, sizeof(*functions));
	for (size_t i = 1; i < p->function_count; i++)
		functions[i] = is_dropped(mw_profile_string(p, p->functions[i].name), drop, keep);
	return functions;
}

/* Removes the dropped lines of a location, and the lines that they called. */
static uint8_t cut_location(mw_profile_t *p, mw_location_t *l, const bool *functions) {
	for (uint32_t k = l->line_count; k > 0; k--)
		if (functions[p->lines[l->line_first + k - 1].function]) {
			if (k == l->line_count)
				return DROPPED;
			l->line_first += k;
			l->line_count -= k;
			return DROPPED_WITHIN;
		}
	return KEPT;
}

static void cut_sample(const mw_profile_t *p, mw_sample_t *s, const uint8_t *kinds) {
	bool found_kept = false;
	for (uint32_t i = s->depth; i > 0; i--) {
		uint8_t kind = kinds[p->frames[s->frame_first + i - 1]];
		if (kind == KEPT) {
			found_kept = true;
		} else if (found_kept) {
			uint32_t first = kind == DROPPED ? i : i - 1;
			s->frame_first += first;
			s->depth -= first;
			return;
		}
	}
}

int mw_drop_frames(mw_profile_t *p, mw_error_t *error) {
	mw_pattern_t *drop = NULL, *keep = NULL;
	if (p->drop_frames == 0 || p->function_count <= 1)
		return 0;
	int result = make_pattern(p, "drop_frames", p->drop_frames, &drop, error);
	if (result == 0)
		result = make_pattern(p, "keep_frames", p->keep_frames, &keep, error);
	if (result == 0) {
		bool *functions = find_functions(p, drop, keep);
		uint8_t *kinds = mw_xcalloc(p->location_count, 1);
		for (size_t i = 1; i < p->location_count; i++)
			kinds[i] = cut_location(p, &p->locations[i], functions);
		for (size_t i = 0; i < p->sample_count; i++)
			cut_sample(p, &p->samples[i], kinds);
		free(kinds);
		free(functions);
	}
	mw_pattern_free(drop);
	mw_pattern_free(keep);
	return result;
}
