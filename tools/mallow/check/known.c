/* SPDX-License-Identifier: MIT
 * known.c -- matches stacks against known.def. */
#include "check/known.h"

#include <stdlib.h>
#include <string.h>

#include "check/suppress.h"
#include "model/memory.h"

typedef struct row {
	const char *what, *leaf, *other;
} row_t;

static const row_t rows[] = {
#define MW_KNOWN(what, leaf, other) {what, leaf, other},
#include "check/known.def"
#undef MW_KNOWN
};
enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };
_Static_assert((int)ROW_COUNT <= (int)MW_KNOWN_MAX, "room for a kind of each row");

/* matches_t: bit i is set if the pattern of row i matches a location. */
typedef struct matches {
	uint32_t leaf, other;
} matches_t;

/* True if one of the `patterns`, separated by '|', matches the location.  "" matches every
 * location. */
static bool any_matches(const mw_profile_t *p, uint32_t location, const char *patterns) {
	char pattern[128];
	if (*patterns == '\0')
		return true;
	while (*patterns != '\0') {
		size_t length = strcspn(patterns, "|");
		if (length < sizeof(pattern)) {
			memcpy(pattern, patterns, length);
			pattern[length] = '\0';
			if (mw_suppression_matches_location(p, location, pattern))
				return true;
		}
		patterns += length + (patterns[length] == '|');
	}
	return false;
}

static matches_t match_location(const mw_profile_t *p, uint32_t location) {
	matches_t matches = {0, 0};
	for (unsigned i = 0; i < ROW_COUNT; i++) {
		matches.leaf |= (uint32_t)any_matches(p, location, rows[i].leaf) << i;
		matches.other |= (uint32_t)any_matches(p, location, rows[i].other) << i;
	}
	return matches;
}

/* Returns 1 + the index of the first row that lists the stack; 0 = no row does. */
static unsigned find_row(const mw_profile_t *p, const mw_sample_t *s, const matches_t *matches) {
	uint32_t other = 0;
	for (uint32_t i = 0; i < s->depth; i++)
		other |= matches[p->frames[s->frame_first + i]].other;
	uint32_t both = s->depth > 0 ? other & matches[p->frames[s->frame_first]].leaf : 0;
	return both != 0 ? (unsigned)__builtin_ctz(both) + 1 : 0;
}

static int64_t value_of(const mw_profile_t *p, size_t sample, const char *type) {
	int index = mw_profile_find_type(p, type);
	return index >= 0 ? mw_profile_values(p, sample)[index] : 0;
}

static void count(mw_known_t *kinds, size_t *kind_count, const char *what, int64_t objects,
		  int64_t bytes) {
	size_t i = 0;
	if (objects <= 0 && bytes <= 0)
		return;
	while (i < *kind_count && strcmp(kinds[i].what, what) != 0)
		i++;
	if (i == *kind_count)
		kinds[(*kind_count)++] = (mw_known_t){.what = what};
	kinds[i].objects += objects;
	kinds[i].bytes += bytes;
}

size_t mw_known_leave_out(mw_profile_t *p, mw_known_t left_out[MW_KNOWN_MAX]) {
	matches_t *matches = mw_xcalloc(p->location_count, sizeof(*matches));
	size_t left = 0, kind_count = 0;
	for (size_t i = 1; i < p->location_count; i++)
		matches[i] = match_location(p, (uint32_t)i);
	for (size_t i = 0; i < p->sample_count; i++) {
		unsigned row = find_row(p, &p->samples[i], matches);
		if (row != 0) {
			count(left_out, &kind_count, rows[row - 1].what,
			      value_of(p, i, "inuse_objects"), value_of(p, i, "inuse_space"));
			continue;
		}
		mw_profile_move_sample(p, left++, i);
	}
	p->sample_count = left;
	free(matches);
	return kind_count;
}
