/* SPDX-License-Identifier: MIT
 * cubes.c -- complements of random logic functions by Shannon's expansion: covers (growing arrays
 * of small cubes, each a block) are split, copied, simplified and freed, as logic minimisers do. */
#include "workload.h"

#include <stdbool.h>

enum { VARIABLES = 14, CUBES = 160, FUNCTIONS = 160 };

/* A variable takes two bits: 01 false, 10 true, 11 either. */
typedef struct cube {
	uint64_t literals;
} cube_t;

typedef struct cover {
	uint32_t count, room;
	cube_t **cubes;
} cover_t;

static cover_t *cover_new(void) {
	cover_t *cover = wl_malloc(sizeof(*cover));
	*cover = (cover_t){0, 4, wl_malloc(4 * sizeof(cube_t *))};
	return cover;
}

static void cover_add(cover_t *cover, uint64_t literals) {
	if (cover->count == cover->room) {
		cover->room *= 2;
		cover->cubes = wl_check(realloc(cover->cubes, cover->room * sizeof(cube_t *)));
	}
	cube_t *cube = wl_malloc(sizeof(*cube) + 8 * (cover->count % 3));
	cube->literals = literals;
	cover->cubes[cover->count++] = cube;
}

static void cover_free(cover_t *cover) {
	for (uint32_t i = 0; i < cover->count; i++)
		free(cover->cubes[i]);
	free(cover->cubes);
	free(cover);
}

static uint64_t value_bits(unsigned variable, unsigned value) {
	return UINT64_C(1) << (2 * variable + value);
}

/* The cubes that can be true where `variable` has `value`, that variable set free. */
static cover_t *cofactor(const cover_t *cover, unsigned variable, unsigned value) {
	cover_t *result = cover_new();
	for (uint32_t i = 0; i < cover->count; i++)
		if (cover->cubes[i]->literals & value_bits(variable, value))
			cover_add(result, cover->cubes[i]->literals | value_bits(variable, 0) |
						  value_bits(variable, 1));
	return result;
}

static void drop_contained(cover_t *cover) {
	uint32_t kept = 0;
	for (uint32_t i = 0; i < cover->count; i++) {
		bool contained = false;
		for (uint32_t k = 0; k < kept && !contained; k++)
			contained = !(cover->cubes[i]->literals & ~cover->cubes[k]->literals);
		if (contained)
			free(cover->cubes[i]);
		else
			cover->cubes[kept++] = cover->cubes[i];
	}
	cover->count = kept;
}

static const uint64_t all = (UINT64_C(1) << (2 * VARIABLES)) - 1;

static unsigned most_used_variable(const cover_t *cover) {
	unsigned best = 0, best_uses = 0;
	for (unsigned v = 0; v < VARIABLES; v++) {
		unsigned uses = 0;
		for (uint32_t i = 0; i < cover->count; i++)
			uses += (~cover->cubes[i]->literals >> (2 * v) & 3) != 0;
		if (uses > best_uses) {
			best = v;
			best_uses = uses;
		}
	}
	return best;
}

static cover_t *complement(const cover_t *cover) {
	cover_t *result = cover_new();
	if (cover->count == 0) {
		cover_add(result, all);
		return result;
	}
	for (uint32_t i = 0; i < cover->count; i++)
		if (cover->cubes[i]->literals == all)
			return result;
	unsigned variable = most_used_variable(cover);
	for (unsigned value = 0; value < 2; value++) {
		cover_t *part = cofactor(cover, variable, value);
		cover_t *opposite = complement(part);
		for (uint32_t i = 0; i < opposite->count; i++)
			cover_add(result,
				  opposite->cubes[i]->literals & ~value_bits(variable, 1 - value));
		cover_free(part);
		cover_free(opposite);
	}
	if (result->count < 500) /* the check is quadratic */
		drop_contained(result);
	return result;
}

int main(void) {
	uint64_t seed = 23, sum = 0;
	for (unsigned f = 0; f < FUNCTIONS; f++) {
		cover_t *cover = cover_new();
		for (unsigned i = 0; i < CUBES; i++) {
			uint64_t literals = all;
			for (unsigned v = 0; v < VARIABLES; v++)
				if (wl_below(&seed, 3) != 0)
					literals &= ~value_bits(v, wl_below(&seed, 2));
			cover_add(cover, literals);
		}
		cover_t *opposite = complement(cover);
		sum += opposite->count;
		cover_free(opposite);
		cover_free(cover);
	}
	return wl_finish(sum);
}
