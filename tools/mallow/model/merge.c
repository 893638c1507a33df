/* SPDX-License-Identifier: MIT
 * merge.c -- copies the samples of one profile into another. */
#include "model/merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "model/table.h"

typedef struct merge {
	mw_profile_t *to;
	const mw_profile_t *from;
	/* mappings[i]: number in `to` of mapping i of `from`; 0 = not copied yet */
	uint32_t *mappings;
	uint32_t *functions;
	uint32_t *locations;
	mw_table_t known; /* finds a location of `to` by its content */
} merge_t;

static mw_string_t text(const merge_t *m, mw_string_t string) {
	return mw_profile_intern(m->to, mw_profile_string(m->from, string));
}

/* True if both are one part of one file, at any address.  A mapping without a file and build-id
 * equals only a mapping at its own address. */
static bool same_mapping(const mw_mapping_t *a, const mw_mapping_t *b) {
	if (a->offset != b->offset || a->limit - a->start != b->limit - b->start)
		return false;
	if (a->build_id != 0 || b->build_id != 0)
		return a->build_id == b->build_id;
	return a->path == b->path && (a->path != 0 || a->start == b->start);
}

static void take_mappings(merge_t *m) {
	for (size_t i = 1; i < m->from->mapping_count; i++) {
		mw_mapping_t mapping = m->from->mappings[i];
		mapping.path = text(m, mapping.path);
		mapping.build_id = text(m, mapping.build_id);
		/* Some readers append mappings without entering them in the profile's table, so
		 * this searches the array. */
		for (size_t k = 1; k < m->to->mapping_count && m->mappings[i] == 0; k++)
			if (same_mapping(&m->to->mappings[k], &mapping))
				m->mappings[i] = (uint32_t)k;
		if (m->mappings[i] == 0)
			m->mappings[i] = mw_profile_append_mapping(m->to, &mapping);
	}
}

static bool same_function(const void *context, uint32_t entry, const void *key) {
	const mw_function_t *have = &((const mw_profile_t *)context)->functions[entry];
	const mw_function_t *want = key;
	return have->name == want->name && have->system_name == want->system_name &&
	       have->file == want->file && have->start_line == want->start_line;
}

static uint64_t function_hash(const mw_function_t *f) {
	const uint64_t key[4] = {f->name, f->system_name, f->file, (uint64_t)f->start_line};
	return mw_table_hash(key, sizeof(key));
}

/* Enters the functions of a profile in `known`.  Of equal functions the first is entered, and all
 * lines refer to it: some readers append functions without entering them in the profile's table. */
static void enter_functions(mw_profile_t *p, mw_table_t *known) {
	uint32_t *first = mw_xcalloc(p->function_count, sizeof(*first));
	for (size_t i = 1; i < p->function_count; i++) {
		uint64_t hash = function_hash(&p->functions[i]);
		first[i] = mw_table_find(known, hash, same_function, p, &p->functions[i]);
		if (first[i] == 0) {
			first[i] = (uint32_t)i;
			mw_table_add(known, hash, (uint32_t)i);
		}
	}
	for (size_t i = 0; i < p->line_count; i++)
		if (p->lines[i].function < p->function_count)
			p->lines[i].function = first[p->lines[i].function];
	free(first);
}

static void take_functions(merge_t *m) {
	mw_table_t known = {0};
	enter_functions(m->to, &known);
	for (size_t i = 1; i < m->from->function_count; i++) {
		mw_function_t function = m->from->functions[i];
		function.name = text(m, function.name);
		function.system_name = text(m, function.system_name);
		function.file = text(m, function.file);
		uint64_t hash = function_hash(&function);
		m->functions[i] = mw_table_find(&known, hash, same_function, m->to, &function);
		if (m->functions[i] == 0) {
			m->functions[i] = mw_profile_append_function(m->to, &function);
			mw_table_add(&known, hash, m->functions[i]);
		}
	}
	mw_table_clear(&known);
}

/* A location of `from`, with the numbers that its parts have in `to`. */
typedef struct place {
	uint64_t address;
	uint32_t mapping, line_count;
	const mw_line_t *lines;
} place_t;

static bool same_place(const void *context, uint32_t entry, const void *key) {
	const mw_profile_t *p = context;
	const mw_location_t *have = &p->locations[entry];
	const place_t *want = key;
	if (have->address != want->address || have->mapping != want->mapping ||
	    have->line_count != want->line_count)
		return false;
	for (uint32_t i = 0; i < want->line_count; i++) {
		const mw_line_t *line = &p->lines[have->line_first + i];
		if (line->function != want->lines[i].function || line->line != want->lines[i].line)
			return false;
	}
	return true;
}

static uint64_t place_hash(const place_t *place) {
	uint64_t key[3] = {place->address, place->mapping, place->line_count};
	uint64_t hash = mw_table_hash(key, sizeof(key));
	for (uint32_t i = 0; i < place->line_count; i++) {
		key[0] = hash;
		key[1] = place->lines[i].function;
		key[2] = (uint64_t)place->lines[i].line;
		hash = mw_table_hash(key, sizeof(key));
	}
	return hash;
}

static void take_location(merge_t *m, uint32_t number) {
	const mw_location_t *l = &m->from->locations[number];
	mw_line_t *lines = mw_xcalloc(l->line_count, sizeof(*lines));
	for (uint32_t i = 0; i < l->line_count; i++) {
		lines[i] = m->from->lines[l->line_first + i];
		lines[i].function = m->functions[lines[i].function];
	}
	uint32_t mapping = m->mappings[l->mapping];
	uint64_t moved = m->to->mappings[mapping].start - m->from->mappings[l->mapping].start;
	const place_t place = {l->address + moved, mapping, l->line_count, lines};
	uint64_t hash = place_hash(&place);
	uint32_t known = mw_table_find(&m->known, hash, same_place, m->to, &place);
	if (known == 0) {
		known = mw_profile_append_location(m->to, mapping, place.address, l->is_exact);
		m->to->locations[known].is_folded = l->is_folded;
		mw_profile_set_lines(m->to, known, lines, l->line_count);
		mw_table_add(&m->known, hash, known);
	}
	m->locations[number] = known;
	free(lines);
}

static void take_locations(merge_t *m) {
	for (size_t i = 1; i < m->to->location_count; i++) {
		const mw_location_t *l = &m->to->locations[i];
		const place_t place = {l->address, l->mapping, l->line_count,
				       l->line_count > 0 ? m->to->lines + l->line_first : NULL};
		uint64_t hash = place_hash(&place);
		if (mw_table_find(&m->known, hash, same_place, m->to, &place) == 0)
			mw_table_add(&m->known, hash, (uint32_t)i);
	}
	for (size_t i = 1; i < m->from->location_count; i++)
		take_location(m, (uint32_t)i);
}

/* Results are capped at 2^62.  Only a damaged profile has larger values. */
static int64_t scaled(int64_t value, double factor) {
	double product = (double)value * factor;
	if (factor >= 1 && factor <= 1)
		return value;
	if (factor >= -1 && factor <= -1)
		return value == INT64_MIN ? INT64_MAX : -value;
	return llround(product > 0x1p62 ? 0x1p62 : product < -0x1p62 ? -0x1p62 : product);
}

static void take_sample(merge_t *m, size_t number, const int *types, double factor) {
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
	for (size_t i = 0; i < m->to->type_count; i++)
		if (types[i] >= 0)
			values[i] = scaled(mw_profile_values(m->from, number)[types[i]], factor);
	mw_profile_add_sample(m->to, frames, s->depth, values, labels, s->label_count);
	free(frames);
	free(labels);
	free(values);
}

static void take(mw_profile_t *to, const mw_profile_t *from, double factor) {
	merge_t m = {.to = to, .from = from};
	m.mappings = mw_xcalloc(from->mapping_count, sizeof(uint32_t));
	m.functions = mw_xcalloc(from->function_count, sizeof(uint32_t));
	m.locations = mw_xcalloc(from->location_count, sizeof(uint32_t));
	take_mappings(&m);
	take_functions(&m);
	take_locations(&m);
	int *types = mw_xcalloc(to->type_count, sizeof(*types));
	for (size_t i = 0; i < to->type_count; i++)
		types[i] = mw_profile_find_type(from, mw_profile_string(to, to->types[i].type));
	for (size_t i = 0; i < from->sample_count; i++)
		take_sample(&m, i, types, factor);
	free(types);
	free(m.mappings);
	free(m.functions);
	free(m.locations);
	mw_table_clear(&m.known);
}

void mw_profile_add(mw_profile_t *to, const mw_profile_t *from) {
	take(to, from, 1);
	mw_origin_t *origin = &to->origin;
	mw_history_clear(&to->history);
	if (strcmp(mw_profile_string(to, origin->program),
		   mw_profile_string(from, from->origin.program)) != 0)
		origin->program = 0;
	origin->pid = 0;
	origin->resident = (mw_resident_t){0};
	origin->flags |= from->origin.flags;
	origin->live_samples += from->origin.live_samples;
	origin->alloc_samples += from->origin.alloc_samples;
	if (to->period != from->period)
		to->period = 0;
	if (to->time_ns < from->time_ns)
		to->time_ns = from->time_ns;
	if (__builtin_add_overflow(to->duration_ns, from->duration_ns, &to->duration_ns))
		to->duration_ns = 0;
}

void mw_profile_subtract(mw_profile_t *profile, const mw_profile_t *base) {
	take(profile, base, -1);
	mw_history_clear(&profile->history);
}

mw_profile_t *mw_profile_copy(const mw_profile_t *from) {
	mw_profile_t *to = mw_profile_new();
	for (size_t i = 0; i < from->type_count; i++)
		mw_profile_add_type(to, mw_profile_string(from, from->types[i].type),
				    mw_profile_string(from, from->types[i].unit));
	to->default_type = from->default_type;
	take(to, from, 1);
	for (size_t i = 0; i < from->comment_count; i++)
		mw_profile_add_comment(to, mw_profile_string(from, from->comments[i]));
	to->period_type.type =
		mw_profile_intern(to, mw_profile_string(from, from->period_type.type));
	to->period_type.unit =
		mw_profile_intern(to, mw_profile_string(from, from->period_type.unit));
	to->period = from->period;
	to->time_ns = from->time_ns;
	to->duration_ns = from->duration_ns;
	to->origin = from->origin;
	mw_history_add(&to->history, &from->history);
	to->drop_frames = from->drop_frames;
	to->keep_frames = from->keep_frames;
	mw_string_t *const texts[] = {&to->drop_frames,   &to->keep_frames,    &to->origin.program,
				      &to->origin.args,   &to->origin.session, &to->origin.version,
				      &to->origin.source, &to->origin.format};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		*texts[i] = mw_profile_intern(to, mw_profile_string(from, *texts[i]));
	return to;
}

void mw_profile_normalize(mw_profile_t *p, const mw_profile_t *base) {
	for (size_t i = 0; i < p->type_count; i++) {
		int type = mw_profile_find_type(base, mw_profile_string(p, p->types[i].type));
		double own = (double)mw_profile_total(p, i);
		double factor = type < 0 || own == 0
					? 1
					: (double)mw_profile_total(base, (size_t)type) / own;
		for (size_t k = 0; k < p->sample_count; k++) {
			int64_t *value = &p->values[k * p->type_count + i];
			*value = scaled(*value, factor);
		}
	}
}

size_t mw_profile_keep_types_of(mw_profile_t *p, const mw_profile_t *other) {
	size_t kept = 0, count = p->type_count;
	bool *keeps = mw_xcalloc(count, sizeof(*keeps));
	for (size_t i = 0; i < count; i++)
		kept += keeps[i] =
			mw_profile_find_type(other, mw_profile_string(p, p->types[i].type)) >= 0;
	if (kept == 0 || kept == count) {
		free(keeps);
		return kept;
	}
	/* Compacts `values` in place: kept values move towards the front. */
	size_t to = 0;
	for (size_t i = 0; i < p->sample_count; i++)
		for (size_t k = 0; k < count; k++)
			if (keeps[k])
				p->values[to++] = p->values[i * count + k];
	uint32_t default_type = 0;
	to = 0;
	for (size_t k = 0; k < count; k++) {
		if (!keeps[k])
			continue;
		if (k <= p->default_type)
			default_type = (uint32_t)to;
		p->types[to++] = p->types[k];
	}
	p->default_type = default_type;
	p->type_count = kept;
	free(keeps);
	return kept;
}

void mw_profile_forget_labels(mw_profile_t *p) {
	for (size_t i = 0; i < p->sample_count; i++)
		p->samples[i].label_count = 0;
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
			mw_profile_move_sample(p, left++, i);
			mw_table_add(&table, hash, (uint32_t)left);
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
