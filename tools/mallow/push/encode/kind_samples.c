/* SPDX-License-Identifier: MIT
 * kind_samples.c -- marks what samples need, and numbers it. */
#include "push/encode/kind_samples.h"

#include <stdlib.h>

#include "model/memory.h"

static mw_used_t used_of(size_t count) {
	return (mw_used_t){.numbers = mw_xcalloc(count, sizeof(uint32_t)),
			   .entries = mw_xcalloc(count + 1, sizeof(uint32_t))};
}

/* Entry 0 means "none" everywhere. */
static bool use(mw_used_t *used, uint32_t entry) {
	if (entry == 0 || used->numbers[entry] != 0)
		return false;
	used->numbers[entry] = (uint32_t)++used->count;
	used->entries[used->count] = entry;
	return true;
}

static void use_function(mw_selection_t *s, uint32_t number) {
	if (!use(&s->functions, number))
		return;
	const mw_function_t *f = &s->profile->functions[number];
	use(&s->strings, f->name);
	use(&s->strings, f->system_name);
	use(&s->strings, f->file);
}

static void use_location(mw_selection_t *s, uint32_t number) {
	const mw_profile_t *p = s->profile;
	if (!use(&s->locations, number))
		return;
	const mw_location_t *location = &p->locations[number];
	for (uint32_t i = 0; i < location->line_count; i++)
		use_function(s, p->lines[location->line_first + i].function);
	if (!use(&s->mappings, location->mapping))
		return;
	use(&s->strings, p->mappings[location->mapping].path);
	use(&s->strings, p->mappings[location->mapping].build_id);
}

static bool has_value(const mw_selection_t *s, size_t sample) {
	const int64_t *values = mw_profile_values(s->profile, sample);
	for (int i = 0; i < MW_VALUES; i++)
		if (s->types[i] >= 0 && values[s->types[i]] != 0)
			return true;
	return false;
}

mw_selection_t mw_select(const mw_profile_t *p, mw_kind_t kind) {
	const mw_kind_values_t *values = mw_kind_values(kind);
	mw_selection_t s = {.profile = p};
	for (int i = 0; i < MW_VALUES; i++)
		s.types[i] = values->values[i].type != NULL
				     ? mw_profile_find_type(p, values->values[i].type)
				     : -1;
	s.samples = mw_xcalloc(p->sample_count, sizeof(*s.samples));
	s.locations = used_of(p->location_count);
	s.functions = used_of(p->function_count);
	s.mappings = used_of(p->mapping_count);
	s.strings = used_of(mw_profile_string_count(p));
	for (size_t i = 0; i < p->sample_count; i++) {
		if (!has_value(&s, i))
			continue;
		s.samples[s.sample_count++] = i;
		const mw_sample_t *sample = &p->samples[i];
		for (uint32_t k = 0; k < sample->depth; k++)
			use_location(&s, p->frames[sample->frame_first + k]);
	}
	return s;
}

static void release(mw_used_t *used) {
	free(used->numbers);
	free(used->entries);
}

void mw_selection_release(mw_selection_t *s) {
	release(&s->locations);
	release(&s->functions);
	release(&s->mappings);
	release(&s->strings);
	free(s->samples);
	free(s->texts);
	*s = (mw_selection_t){.profile = NULL};
}

uint32_t mw_selection_string(const mw_selection_t *s, mw_string_t string) {
	return s->strings.numbers[string];
}

uint32_t mw_selection_text(mw_selection_t *s, const char *text) {
	if (*text == '\0')
		return 0;
	s->texts = mw_grow(s->texts, &s->text_capacity, s->text_count + 1, sizeof(*s->texts));
	s->texts[s->text_count++] = text;
	return (uint32_t)(s->strings.count + s->text_count);
}

size_t mw_selection_string_count(const mw_selection_t *s) {
	return 1 + s->strings.count + s->text_count;
}

const char *mw_selection_string_of(const mw_selection_t *s, size_t number) {
	if (number == 0)
		return "";
	if (number <= s->strings.count)
		return mw_profile_string(s->profile, s->strings.entries[number]);
	return s->texts[number - s->strings.count - 1];
}
