/* SPDX-License-Identifier: MIT
 * tag_frames.c -- removes labels by key, and turns labels into frames of the stack. */
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "view/select/pattern.h"
#include "view/select/tags.h"

/* Most keys that become frames. */
#define KEYS_MAX 16
/* Bytes of a frame's name, which holds the values of one label key. */
#define NAME_BYTES 512

int mw_tags_keep(mw_profile_t *p, const char *show, const char *hide, mw_error_t *error) {
	mw_pattern_t *shown = NULL, *hidden = NULL;
	int result = mw_pattern_make("tagshow", show, &shown, error);
	if (result == 0)
		result = mw_pattern_make("taghide", hide, &hidden, error);
	for (size_t i = 0; i < p->sample_count && result == 0; i++) {
		mw_sample_t *s = &p->samples[i];
		mw_label_t *labels = p->labels + s->label_first;
		uint32_t left = 0;
		for (uint32_t k = 0; k < s->label_count; k++) {
			const char *key = mw_profile_string(p, labels[k].key);
			if ((shown == NULL || mw_pattern_matches(shown, key)) &&
			    (hidden == NULL || !mw_pattern_matches(hidden, key)))
				labels[left++] = labels[k];
		}
		s->label_count = left;
	}
	mw_pattern_free(shown);
	mw_pattern_free(hidden);
	return result;
}

typedef struct frames {
	mw_profile_t *profile;
	const char *unit;
	uint32_t *locations; /* locations[i]: location of function i; 0 = none yet */
	size_t capacity;
} frames_t;

typedef struct keys {
	mw_string_t keys[KEYS_MAX];
	size_t count;
} keys_t;

static void parse_keys(mw_profile_t *p, const char *text, keys_t *out) {
	*out = (keys_t){.count = 0};
	while (text != NULL && *text != '\0' && out->count < KEYS_MAX) {
		size_t length = strcspn(text, ",");
		if (length > 0)
			out->keys[out->count++] = mw_profile_intern_bytes(p, text, length);
		text += length + (text[length] == ',');
	}
}

/* Writes the values of one key, separated by commas, texts first as in pprof.  "" = the sample
 * has none. */
static void name_of(const frames_t *f, const mw_sample_t *s, mw_string_t key,
		    char name[NAME_BYTES]) {
	size_t used = 0;
	name[0] = '\0';
	for (int numbers = 0; numbers < 2; numbers++)
		for (uint32_t i = 0; i < s->label_count; i++) {
			const mw_label_t *label = &f->profile->labels[s->label_first + i];
			char buffer[64];
			if (label->key != key || (label->text == 0) != numbers)
				continue;
			const char *value =
				mw_tag_value(f->profile, label, f->unit, buffer, sizeof(buffer));
			size_t length = strnlen(value, NAME_BYTES - 1);
			if (used + length + 2 > NAME_BYTES)
				return;
			if (used > 0)
				name[used++] = ',';
			memcpy(name + used, value, length);
			name[used += length] = '\0';
		}
}

/* Returns the location of the values: its function is the value, its file the key. */
static uint32_t location_of(frames_t *f, const mw_sample_t *s, mw_string_t key) {
	char name[NAME_BYTES];
	name_of(f, s, key, name);
	mw_function_t function = {.name = mw_profile_intern(f->profile, name), .file = key};
	mw_line_t line = {.function = mw_profile_add_function(f->profile, &function)};
	f->locations =
		mw_grow(f->locations, &f->capacity, (size_t)line.function + 1, sizeof(uint32_t));
	uint32_t *location = &f->locations[line.function];
	if (*location == 0) {
		*location = mw_profile_append_location(f->profile, 0, 0, true);
		mw_profile_set_lines(f->profile, *location, &line, 1);
	}
	return *location;
}

void mw_tags_to_frames(mw_profile_t *p, const char *root, const char *leaf, const char *unit) {
	keys_t roots, leaves;
	parse_keys(p, root, &roots);
	parse_keys(p, leaf, &leaves);
	frames_t f = {.profile = p, .unit = unit != NULL ? unit : "minimum"};
	for (size_t i = 0; i < p->sample_count && roots.count + leaves.count > 0; i++) {
		const mw_sample_t s = p->samples[i];
		size_t depth = 0;
		uint32_t *frames =
			mw_xcalloc(s.depth + roots.count + leaves.count, sizeof(*frames));
		for (size_t k = leaves.count; k > 0; k--)
			frames[depth++] = location_of(&f, &s, leaves.keys[k - 1]);
		for (uint32_t k = 0; k < s.depth; k++)
			frames[depth++] = p->frames[s.frame_first + k];
		for (size_t k = roots.count; k > 0; k--)
			frames[depth++] = location_of(&f, &s, roots.keys[k - 1]);
		mw_profile_set_frames(p, i, frames, depth);
		free(frames);
	}
	free(f.locations);
}
