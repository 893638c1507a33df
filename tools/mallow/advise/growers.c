/* SPDX-License-Identifier: MIT
 * growers.c -- compiles the patterns of growers.def. */
#include "advise/growers.h"

#include <stdlib.h>

#include "model/memory.h"
#include "view/select/pattern.h"

static const struct {
	const char *what, *pattern;
} rows[] = {
#define MW_GROWER(what, pattern) {what, "^(" pattern ")$"},
#include "advise/growers.def"
#undef MW_GROWER
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

struct mw_growers {
	mw_pattern_t *patterns[ROWS]; /* NULL: cannot be compiled; the unit test compiles each */
};

mw_growers_t *mw_growers_new(void) {
	mw_growers_t *g = mw_xcalloc(1, sizeof(*g));
	mw_error_t error;
	for (size_t i = 0; i < ROWS; i++)
		if (mw_pattern_make("growers", rows[i].pattern, &g->patterns[i], &error) != 0)
			g->patterns[i] = NULL;
	return g;
}

void mw_growers_free(mw_growers_t *g) {
	for (size_t i = 0; i < ROWS; i++)
		mw_pattern_free(g->patterns[i]);
	free(g);
}

const char *mw_growers_find(const mw_growers_t *g, const char *name) {
	for (size_t i = 0; i < ROWS; i++)
		if (g->patterns[i] != NULL && mw_pattern_matches(g->patterns[i], name))
			return rows[i].what;
	return NULL;
}
