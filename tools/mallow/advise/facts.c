/* SPDX-License-Identifier: MIT
 * facts.c -- adds up a profile by functions of the program. */
#include "advise/facts.h"

#include <stdlib.h>
#include <string.h>

#include "advise/growers.h"
#include "model/memory.h"
#include "model/table.h"
#include "symbol/symbolize.h"
#include "view/select/wrappers.h"

/* Lifetimes below 10 us. */
#define AT_ONCE_DECADES 2

typedef enum value {
#define MW_SAMPLE_TYPE(name, text, unit) VALUE_##name,
#include "state/sample_types.def"
#undef MW_SAMPLE_TYPE
	VALUES,
} value_t;

static const char *const value_names[VALUES] = {
#define MW_SAMPLE_TYPE(name, text, unit) text,
#include "state/sample_types.def"
#undef MW_SAMPLE_TYPE
};

typedef struct maker {
	mw_facts_t *facts;
	mw_profile_t *profile;
	mw_wrappers_t *wrappers;
	mw_growers_t *growers;
	mw_fact_callee_t *callee;
	void *context;
	mw_table_t by_name;
	size_t function; /* of the last sample */
	const char *grows;
	int types[VALUES];             /* types of the profile; -1: it has none */
	bool has_sizes, has_lifetimes; /* labels of what was allocated and freed */
} maker_t;

static int64_t value_of(const maker_t *m, size_t sample, value_t value) {
	int type = m->types[value];
	return type >= 0 ? mw_profile_values(m->profile, sample)[type] : 0;
}

static int64_t number_of(const maker_t *m, size_t sample, const char *key) {
	const mw_label_t *label = mw_profile_label(m->profile, sample, key);
	return label != NULL ? label->number : 0;
}

/* Returns the name of line `line` of a location. */
static const char *name_at(const mw_profile_t *p, uint32_t location, uint32_t line, char *buffer,
			   size_t size) {
	const mw_line_t *at = mw_location_line(p, &p->locations[location], line);
	if (at != NULL && at->function != 0)
		return mw_profile_string(p, p->functions[at->function].name);
	return mw_location_name(p, location, buffer, size);
}

static bool name_equal(const void *context, uint32_t entry, const void *key) {
	return strcmp(((const mw_facts_t *)context)->functions[entry - 1].name, key) == 0;
}

static size_t find_function(maker_t *m, const char *name) {
	mw_facts_t *facts = m->facts;
	uint64_t hash = mw_table_hash(name, strlen(name));
	uint32_t found = mw_table_find(&m->by_name, hash, name_equal, facts, name);
	if (found != 0)
		return found - 1;
	facts->functions = mw_grow(facts->functions, &facts->function_capacity,
				   facts->function_count + 1, sizeof(*facts->functions));
	facts->functions[facts->function_count++] = (mw_fact_function_t){.name = mw_xstrdup(name)};
	mw_table_add(&m->by_name, hash, (uint32_t)facts->function_count);
	return facts->function_count - 1;
}

/* Returns the program's function of a stack; if it has none, the first that is no wrapper.  *grows:
 * what functions between it and malloc make larger, or NULL. */
static size_t function_of(maker_t *m, const mw_sample_t *sample, const char **grows) {
	const mw_profile_t *p = m->profile;
	const uint32_t *frames = p->frames + sample->frame_first;
	char buffer[512], first[512];
	mw_frame_position_t own = mw_wrappers_skip(m->wrappers, frames, sample->depth);
	const char *name = "[stack unknown]", *shown = NULL;
	*grows = NULL;
	for (uint32_t i = 0; i < sample->depth; i++) {
		uint32_t lines = mw_location_frames(&p->locations[frames[i]]);
		for (uint32_t k = 0; k < lines; k++) {
			name = name_at(p, frames[i], k, buffer, sizeof(buffer));
			bool is_wrapper = i < own.frame || (i == own.frame && k < own.line);
			if (!is_wrapper &&
			    mw_wrappers_kind(m->wrappers, frames[i], k) == MW_FRAME_OWN) {
				if (i == 0 && m->callee != NULL && *grows == NULL) {
					const char *callee = m->callee(m->context, frames[i]);
					if (callee != NULL)
						*grows = mw_growers_find(m->growers, callee);
				}
				return find_function(m, name);
			}
			if (!is_wrapper && shown == NULL)
				shown = name_at(p, frames[i], k, first, sizeof(first));
			if (*grows == NULL)
				*grows = mw_growers_find(m->growers, name);
		}
	}
	return find_function(m, shown != NULL ? shown : name);
}

static void add_rung(mw_fact_function_t *f, uint64_t block_bytes, int64_t objects,
		     int64_t samples) {
	size_t at = f->rung_count;
	while (at > 0 && f->rungs[at - 1].block_bytes > block_bytes)
		at--;
	if (at == 0 || f->rungs[at - 1].block_bytes != block_bytes) {
		f->rungs =
			mw_grow(f->rungs, &f->rung_capacity, f->rung_count + 1, sizeof(*f->rungs));
		memmove(&f->rungs[at + 1], &f->rungs[at], (f->rung_count - at) * sizeof(*f->rungs));
		f->rungs[at] = (mw_fact_rung_t){.block_bytes = block_bytes};
		f->rung_count++;
		at++;
	}
	f->rungs[at - 1].objects += objects;
	f->rungs[at - 1].samples += samples;
}

static void add_block(maker_t *m, size_t i, size_t function) {
	mw_facts_t *facts = m->facts;
	int64_t usable = number_of(m, i, MW_LABEL_SIZE);
	int64_t bytes = value_of(m, i, VALUE_INUSE_SPACE);
	if (usable <= 0 || bytes <= 0)
		return;
	facts->blocks = mw_grow(facts->blocks, &facts->block_capacity, facts->block_count + 1,
				sizeof(*facts->blocks));
	facts->blocks[facts->block_count++] = (mw_fact_block_t){
		.function = function,
		.usable_bytes = usable,
		/* Both sums have the sample's weight. */
		.requested_bytes =
			(int64_t)((double)usable * (double)value_of(m, i, VALUE_INUSE_REQUESTED) /
					  (double)bytes +
				  0.5),
		.objects = value_of(m, i, VALUE_INUSE_OBJECTS),
		.bytes = bytes,
		.samples = value_of(m, i, VALUE_INUSE_SAMPLES),
		.made_ns = number_of(m, i, MW_LABEL_MADE),
		.address = (uint64_t)number_of(m, i, MW_LABEL_ADDRESS),
		.untouched_bytes = -1,
	};
}

static bool is_at_once(const maker_t *m, size_t sample) {
	const mw_label_t *label = mw_profile_label(m->profile, sample, MW_LABEL_LIFETIME);
	int decade = label != NULL ? mw_decade_of(mw_profile_string(m->profile, label->text)) : -1;
	return decade >= 0 && decade < AT_ONCE_DECADES;
}

static void add_sample(maker_t *m, size_t i) {
	mw_facts_t *facts = m->facts;
	const mw_sample_t *sample = &m->profile->samples[i];
	if (i == 0 || !mw_profile_same_stack(m->profile, i - 1, i) || facts->function_count == 0)
		m->function = function_of(m, sample, &m->grows);
	const char *grows = m->grows;
	mw_fact_function_t *f = &facts->functions[m->function];
	int64_t objects = value_of(m, i, VALUE_ALLOC_OBJECTS);
	int64_t freed = value_of(m, i, VALUE_FREED_OBJECTS);
	f->alloc_objects += objects;
	f->alloc_bytes += value_of(m, i, VALUE_ALLOC_SPACE);
	f->live_objects += value_of(m, i, VALUE_INUSE_OBJECTS);
	f->live_bytes += value_of(m, i, VALUE_INUSE_SPACE);
	f->alloc_samples += value_of(m, i, VALUE_ALLOC_SAMPLES);
	f->live_samples += value_of(m, i, VALUE_INUSE_SAMPLES);
	f->freed_objects += freed;
	f->freed_elsewhere += value_of(m, i, VALUE_FREED_ELSEWHERE);
	f->pinned_bytes += value_of(m, i, VALUE_PINNED_SPACE);
	facts->alloc_objects += objects;
	facts->alloc_bytes += value_of(m, i, VALUE_ALLOC_SPACE);
	facts->live_bytes += value_of(m, i, VALUE_INUSE_SPACE);
	facts->freed_objects += freed;
	int64_t size = number_of(m, i, MW_LABEL_SIZE);
	m->has_sizes = m->has_sizes || (objects > 0 && size > 0);
	m->has_lifetimes =
		m->has_lifetimes ||
		(freed > 0 && mw_profile_label(m->profile, i, MW_LABEL_LIFETIME) != NULL);
	if (grows != NULL && f->grows == NULL)
		f->grows = grows;
	if (grows != NULL && objects > 0 && size > 0)
		add_rung(f, (uint64_t)size, objects, value_of(m, i, VALUE_ALLOC_SAMPLES));
	if (grows == NULL && freed > 0 && is_at_once(m, i))
		f->freed_at_once += freed;
	add_block(m, i, m->function);
}

static bool is_of_heap(const maker_t *m, size_t sample) {
	for (size_t value = 0; value < VALUE_ALLOC_MAPPINGS; value++)
		if (value_of(m, sample, (value_t)value) != 0)
			return true;
	return false;
}

static bool has_blocks(const mw_facts_t *facts) {
	for (size_t i = 0; i < facts->block_count; i++)
		if (facts->blocks[i].made_ns != 0)
			return true;
	return facts->live_bytes == 0;
}

static void set_unanswered(const maker_t *m) {
	mw_facts_t *facts = m->facts;
	const char **why = facts->unanswered;
	static const char *const no_lifetimes =
		"the profile holds no lifetimes of freed blocks; 'mallow dump --labels' keeps them";
	static const char *const no_sizes =
		"the profile holds no sizes of allocated blocks; 'mallow dump --labels' keeps them";
	static const char *const no_blocks =
		"only live processes and state files tell when blocks were allocated";
	if (m->types[VALUE_FREED_OBJECTS] < 0)
		why[MW_FINDING_freed_at_once] = why[MW_FINDING_other_threads] = no_lifetimes;
	else if (!m->has_lifetimes && facts->freed_objects > 0)
		why[MW_FINDING_freed_at_once] = no_lifetimes;
	if (m->types[VALUE_ALLOC_SAMPLES] < 0 || (!m->has_sizes && facts->alloc_objects > 0))
		why[MW_FINDING_reserve] = no_sizes;
	if (m->types[VALUE_PINNED_SPACE] < 0)
		why[MW_FINDING_fragmentation] = "the profile has no walk of the heap";
	if (!has_blocks(facts))
		why[MW_FINDING_only_grows] = why[MW_FINDING_sizes] = no_blocks;
}

void mw_facts_make(mw_facts_t *facts, mw_profile_t *p, mw_fact_callee_t *callee, void *context) {
	maker_t m = {.facts = facts,
		     .profile = p,
		     .wrappers = mw_wrappers_new(p, MW_WRAPPERS_ALL),
		     .growers = mw_growers_new(),
		     .callee = callee,
		     .context = context};
	*facts = (mw_facts_t){.time_ns = p->time_ns, .cpu_ns = p->duration_ns};
	if (p->duration_ns > 0 && p->time_ns > p->duration_ns)
		facts->began_ns = p->time_ns - p->duration_ns;
	for (size_t value = 0; value < VALUES; value++)
		m.types[value] = mw_profile_find_type(p, value_names[value]);
	for (size_t i = 0; i < p->sample_count; i++)
		mw_wrappers_learn(m.wrappers, p->frames + p->samples[i].frame_first,
				  p->samples[i].depth);
	for (size_t i = 0; i < p->sample_count; i++)
		if (is_of_heap(&m, i))
			add_sample(&m, i);
	set_unanswered(&m);
	mw_table_clear(&m.by_name);
	mw_wrappers_free(m.wrappers);
	mw_growers_free(m.growers);
}

const char *mw_fact_thread_start(mw_wrappers_t *wrappers, const mw_profile_t *p,
				 const mw_sample_t *sample) {
	for (uint32_t i = sample->depth; i-- > 0;) {
		uint32_t number = p->frames[sample->frame_first + i];
		const mw_location_t *location = &p->locations[number];
		for (uint32_t k = mw_location_frames(location); k-- > 0;) {
			const mw_line_t *line = mw_location_line(p, location, k);
			if (line == NULL || line->function == 0)
				continue;
			const char *name = mw_profile_string(p, p->functions[line->function].name);
			if (mw_wrappers_kind(wrappers, number, k) == MW_FRAME_OWN && name[0] != '[')
				return name;
		}
	}
	return NULL;
}

void mw_facts_free(mw_facts_t *facts) {
	for (size_t i = 0; i < facts->function_count; i++) {
		free(facts->functions[i].name);
		free(facts->functions[i].rungs);
	}
	for (size_t i = 0; i < facts->stack_count; i++)
		free(facts->stacks[i].function);
	free(facts->functions);
	free(facts->blocks);
	free(facts->stacks);
	*facts = (mw_facts_t){0};
}
