/* SPDX-License-Identifier: MIT
 * kind_samples.h -- the part of a profile that a request holds: samples with a value of one kind,
 * and the locations, functions, mappings and texts that these need, numbered anew from 1. Layer:
 * push/encode. */
#ifndef MW_TOOL_PUSH_ENCODE_KIND_SAMPLES_H
#define MW_TOOL_PUSH_ENCODE_KIND_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"
#include "store/kind.h"

/* The used entries of one array of the profile. */
typedef struct mw_used {
	uint32_t *numbers; /* numbers[i]: new number of entry i; 0 = not used */
	uint32_t *entries; /* entries[n]: entry whose new number is n; entries[0] is not used */
	size_t count;      /* of the used entries */
} mw_used_t;

typedef struct mw_selection {
	const mw_profile_t *profile;
	int types[MW_VALUES]; /* the profile's index of each value of the kind; -1: it has none */
	size_t *samples;      /* indexes of samples that have a value, in the profile's order */
	size_t sample_count;
	mw_used_t locations, functions, mappings;
	mw_used_t strings;
	/* Texts that mw_selection_text() added; their numbers follow those of `strings`. */
	const char **texts;
	size_t text_count, text_capacity;
} mw_selection_t;

/* The profile is borrowed. */
mw_selection_t mw_select(const mw_profile_t *profile, mw_kind_t kind);
void mw_selection_release(mw_selection_t *selection);

/* Returns the new number of a text of the profile that a used entry has; 0: "". */
uint32_t mw_selection_string(const mw_selection_t *selection, mw_string_t string);
/* Adds a text, which is borrowed, and returns its number; "" is 0. */
uint32_t mw_selection_text(mw_selection_t *selection, const char *text);
/* Returns the text of a number, 0 to the number of texts. */
size_t mw_selection_string_count(const mw_selection_t *selection); /* with "" */
const char *mw_selection_string_of(const mw_selection_t *selection, size_t number);

#endif
