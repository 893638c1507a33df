/* SPDX-License-Identifier: MIT
 * merge.c -- takes one profile's samples over into another, negated. */
#include "model/merge.h"

#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "model/table.h"

typedef struct merge {
	mw_profile_t *to;
	const mw_profile_t *from;
	uint32_t *mappings; /* of `from` -> of `to`; 0: none */
	uint32_t *functions;
	uint32_t *locations;
	mw_table_t known; /* locations of `to` */
} merge_t;

static mw_string_t text(const merge_t *m, mw_string_t string) {
	return mw_profile_intern(m->to, mw_profile_string(m->from, string));
}

static void take_mappings(merge_t *m) {
	for (size_t i = 1; i < m->from->mapping_count; i++) {
		mw_mapping_t mapping = m->from->mappings[i];
		mapping.path = text(m, mapping.path);
		mapping.build_id = text(m, mapping.build_id);
		/* Readers of files append theirs without a table. */
		for (size_t k = 1; k < m->to->mapping_count && m->mappings[i] == 0; k++) {
			const mw_mapping_t *have = &m->to->mappings[k];
			if (have->path == mapping.path && have->start == mapping.start &&
			    have->build_id == mapping.build_id && have->offset == mapping.offset)
				m->mappings[i] = (uint32_t)k;
		}
		if (m->mappings[i] == 0)
			m->mappings[i] = mw_profile_append_mapping(m->to, &mapping);
	}
}

static void take_functions(merge_t *m) {
	for (size_t i = 1; i < m->from->function_count; i++) {
		mw_function_t function = m->from->functions[i];
		function.name = text(m, function.name);
		function.system_name = text(m, function.system_name);
		function.file = text(m, function.file);
		m->functions[i] = mw_profile_add_function(m->to, &function);
	}
}

static bool same_place(const void *context, uint32_t entry, const void *key) {
	const mw_location_t *have = &((const mw_profile_t *)context)->locations[entry];
	const uint64_t *want = key;
	return have->address == want[0] && have->mapping == want[1];
}

static uint64_t place_hash(uint64_t address, uint32_t mapping, uint64_t key[2]) {
	key[0] = address;
	key[1] = mapping;
	return mw_table_hash(key, 2 * sizeof(key[0]));
}

static void take_location(merge_t *m, uint32_t number) {
	const mw_location_t *l = &m->from->locations[number];
	uint64_t key[2], hash = place_hash(l->address, m->mappings[l->mapping], key);
	/* An address of 0 is of a profile without addresses: many places have it. */
	if (l->address != 0)
		m->locations[number] = mw_table_find(&m->known, hash, same_place, m->to, key);
	if (m->locations[number] != 0)
		return;
	uint32_t added =
		mw_profile_append_location(m->to, m->mappings[l->mapping], l->address, l->is_exact);
	mw_line_t *lines = mw_xcalloc(l->line_count, sizeof(*lines));
	for (uint32_t i = 0; i < l->line_count; i++) {
		lines[i] = m->from->lines[l->line_first + i];
		lines[i].function = m->functions[lines[i].function];
	}
	mw_profile_set_lines(m->to, added, lines, l->line_count);
	free(lines);
	mw_table_add(&m->known, hash, added);
	m->locations[number] = added;
}

static void take_locations(merge_t *m) {
	for (size_t i = 1; i < m->to->location_count; i++) {
		const mw_location_t *l = &m->to->locations[i];
		uint64_t key[2], hash = place_hash(l->address, l->mapping, key);
		if (mw_table_find(&m->known, hash, same_place, m->to, key) == 0)
			mw_table_add(&m->known, hash, (uint32_t)i);
	}
	for (size_t i = 1; i < m->from->location_count; i++)
		take_location(m, (uint32_t)i);
}

static void take_sample(merge_t *m, size_t number, const int *types, const double *factors) {
	const mw_sample_t *s = &m->from->samples[number];
	uint32_t *frames = mw_xcalloc(s->depth, sizeof(*frames));
	mw_label_t *labels = mw_xcalloc(s->label_count, sizeof(*labels));
	int64_t *values = mw_xcalloc(m->to->type_count, sizeof(*values));
	for (uint32_t i = 0; i < s->depth; i++)
		frames[i] = m->locations[m->from->frames[s->frame_first + i]];
	for (uint32_t i = 0; i < s->label_count; i++) {
		labels[i] = m->from->labels[s->label_first + i];
		labels[i].key = text(m, labels[i].key);
		labels[i].text = text(m, labels[i].text);
		labels[i].unit = text(m, labels[i].unit);
	}
	for (size_t i = 0; i < m->to->type_count; i++) {
		if (types[i] < 0)
			continue;
		int64_t value = mw_profile_values(m->from, number)[types[i]];
		double scaled = (double)value * factors[i];
		if (factors[i] >= 1 && factors[i] <= 1)
			values[i] = value == INT64_MIN ? INT64_MAX : -value;
		else /* 2^62: out of range only where the profiles are absurd */
			values[i] = -(int64_t)(scaled > 0x1p62    ? 0x1p62
					       : scaled < -0x1p62 ? -0x1p62
								  : scaled);
	}
	mw_profile_add_sample(m->to, frames, s->depth, values, labels, s->label_count);
	free(frames);
	free(labels);
	free(values);
}

void mw_profile_subtract(mw_profile_t *profile, const mw_profile_t *base, bool normalize) {
	merge_t m = {.to = profile, .from = base};
	m.mappings = mw_xcalloc(base->mapping_count, sizeof(uint32_t));
	m.functions = mw_xcalloc(base->function_count, sizeof(uint32_t));
	m.locations = mw_xcalloc(base->location_count, sizeof(uint32_t));
	take_mappings(&m);
	take_functions(&m);
	take_locations(&m);
	int *types = mw_xcalloc(profile->type_count, sizeof(*types));
	double *factors = mw_xcalloc(profile->type_count, sizeof(*factors));
	for (size_t i = 0; i < profile->type_count; i++) {
		types[i] = mw_profile_find_type(base,
						mw_profile_string(profile, profile->types[i].type));
		int64_t whole =
			types[i] >= 0 && normalize ? mw_profile_total(base, (size_t)types[i]) : 0;
		factors[i] = whole != 0 ? (double)mw_profile_total(profile, i) / (double)whole : 1;
	}
	for (size_t i = 0; i < base->sample_count; i++)
		take_sample(&m, i, types, factors);
	free(types);
	free(factors);
	free(m.mappings);
	free(m.functions);
	free(m.locations);
	mw_table_clear(&m.known);
}

static bool same_labels(const mw_profile_t *p, const mw_sample_t *a, const mw_sample_t *b) {
	if (a->label_count != b->label_count)
		return false;
	for (uint32_t i = 0; i < a->label_count; i++) {
		const mw_label_t *x = &p->labels[a->label_first + i];
		const mw_label_t *y = &p->labels[b->label_first + i];
		if (x->key != y->key || x->text != y->text || x->number != y->number)
			return false;
	}
	return true;
}

static bool same_sample(const void *context, uint32_t entry, const void *key) {
	const mw_profile_t *p = context;
	size_t other = *(const size_t *)key;
	return mw_profile_same_stack(p, entry - 1, other) &&
	       same_labels(p, &p->samples[entry - 1], &p->samples[other]);
}

void mw_profile_combine(mw_profile_t *p) {
	mw_table_t table = {0};
	size_t left = 0;
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_sample_t *s = &p->samples[i];
		uint64_t hash =
			mw_table_hash(p->frames + s->frame_first, s->depth * sizeof(uint32_t));
		uint32_t known = mw_table_find(&table, hash, same_sample, p, &i);
		int64_t *values = p->values + i * p->type_count;
		if (known == 0) {
			p->samples[left] = *s;
			memmove(p->values + left * p->type_count, values,
				p->type_count * sizeof(*values));
			mw_table_add(&table, hash, (uint32_t)++left);
			continue;
		}
		int64_t *sums = p->values + (known - 1) * p->type_count;
		for (size_t k = 0; k < p->type_count; k++)
			if (__builtin_add_overflow(sums[k], values[k], &sums[k]))
				sums[k] = values[k] > 0 ? INT64_MAX : INT64_MIN;
	}
	p->sample_count = left;
	mw_table_clear(&table);
}
