/* SPDX-License-Identifier: MIT
 * realloc_calls.c -- reads the call instructions, in a process of its own. */
#include "cmd/advise/realloc_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/input/load.h"
#include "model/memory.h"
#include "symbol/code/code.h"
#include "symbol/workers/confine.h"

/* Most calls that are looked at: each has at least a hundredth of the bytes. */
#define CALLS_MAX 100
/* Fewest sizes of something that grows. */
#define SIZES_MIN 3

typedef struct search {
	const mw_profile_t *profile;
	mw_symbolize_options_t symbols;
	uint32_t locations[CALLS_MAX];
	size_t count;
} search_t;

/* Returns whether the instruction at `address`, or the one that this byte is in, calls realloc. */
static bool is_realloc(mw_code_t *code, uint64_t address) {
	mw_code_range_t range;
	mw_instruction_t *all;
	mw_error_t error;
	size_t count;
	bool is_found = false;
	if (!mw_code_find(code, address, &range))
		return false;
	if (mw_code_read(code, &range, &all, &count, &error) == 0) {
		for (size_t i = 0; i < count; i++) {
			bool is_here = all[i].address <= address &&
				       (i + 1 == count || all[i + 1].address > address);
			const char *name = is_here ? strstr(all[i].text, "<realloc") : NULL;
			is_found = is_found || (name != NULL && strchr(">@a", name[8]) != NULL);
			free(all[i].text);
		}
		free(all);
	}
	free(range.name);
	return is_found;
}

/* Writes the numbers of the locations that call realloc, a line each. */
static int look(const void *context, FILE *out, mw_error_t *error) {
	const search_t *s = context;
	(void)error;
	for (size_t i = 0; i < s->count; i++) {
		const mw_location_t *location = &s->profile->locations[s->locations[i]];
		mw_error_t why;
		mw_code_t *code = mw_code_open(s->profile, location->mapping, &s->symbols,
					       MW_SYNTAX_ATT, &why);
		if (code == NULL)
			continue;
		if (is_realloc(code, location->address - mw_code_bias(code)))
			fprintf(out, "%" PRIu32 "\n", s->locations[i]);
		mw_code_close(code);
	}
	return 0;
}

typedef struct place {
	int64_t bytes;
	uint32_t sizes;
} place_t;

static void choose(search_t *s) {
	const mw_profile_t *p = s->profile;
	int type = mw_profile_find_type(p, "alloc_space");
	place_t *places = mw_xcalloc(p->location_count, sizeof(*places));
	int64_t total = type >= 0 ? mw_profile_total(p, (size_t)type) : 0;
	for (size_t i = 0; type >= 0 && i < p->sample_count; i++) {
		int64_t bytes = mw_profile_values(p, i)[type];
		if (p->samples[i].depth == 0 || bytes <= 0)
			continue;
		place_t *place = &places[p->frames[p->samples[i].frame_first]];
		place->bytes += bytes;
		place->sizes++;
	}
	for (uint32_t i = 1; i < p->location_count && s->count < CALLS_MAX; i++)
		if (places[i].sizes >= SIZES_MIN && places[i].bytes >= total / 100 &&
		    p->locations[i].mapping != 0)
			s->locations[s->count++] = i;
	free(places);
}

void mw_realloc_calls_find(mw_realloc_calls_t *calls, const mw_profile_t *p, uint32_t pid) {
	search_t s = {.profile = p, .symbols = mw_load_symbol_places()};
	s.symbols.pid = pid;
	calls->count = p->location_count;
	calls->is_realloc = mw_xcalloc(calls->count, sizeof(*calls->is_realloc));
	choose(&s);
	char *text = NULL;
	size_t length;
	mw_error_t error;
	FILE *out = s.count > 0 ? open_memstream(&text, &length) : NULL;
	if (out == NULL)
		return;
	/* Without the files nothing is known to grow by realloc. */
	mw_confine(look, &s, "advise", out, &error);
	if (fclose(out) == 0)
		for (char *at = text, *end; *at != '\0'; at = end + 1) {
			unsigned long location = strtoul(at, &end, 10);
			if (end == at || *end != '\n')
				break;
			if (location < calls->count)
				calls->is_realloc[location] = true;
		}
	free(text);
}

void mw_realloc_calls_free(mw_realloc_calls_t *calls) {
	free(calls->is_realloc);
}

const char *mw_realloc_calls_name(void *context, uint32_t location) {
	const mw_realloc_calls_t *calls = context;
	return location < calls->count && calls->is_realloc[location] ? "realloc" : NULL;
}
