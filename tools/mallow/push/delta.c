/* SPDX-License-Identifier: MIT
 * delta.c -- subtracts profiles of one process. */
#include "push/delta.h"

#include "model/merge.h"

/* Returns an empty profile with the types of a kind, from value `first` on. */
static mw_profile_t *types_of(const mw_kind_values_t *kind, int first) {
	mw_profile_t *p = mw_profile_new();
	for (int i = first; i < MW_VALUES; i++)
		if (kind->values[i].type != NULL)
			mw_profile_add_type(p, kind->values[i].type, kind->values[i].unit);
	return p;
}

/* Returns an empty profile with all types that are counts since the last push. */
static mw_profile_t *types_of_counts(void) {
	mw_profile_t *p = mw_profile_new();
	for (const mw_kind_values_t *k = mw_kinds; k->name != NULL; k++)
		for (int i = MW_VALUE_SINCE_COUNT; i < MW_VALUES; i++)
			if (k->values[i].type != NULL)
				mw_profile_add_type(p, k->values[i].type, k->values[i].unit);
	return p;
}

/* In a profile of several clocks, samples of the others have a number, too. */
static void count_cpu_samples_only(mw_profile_t *p) {
	int samples = mw_profile_find_type(p, "samples"), cpu = mw_profile_find_type(p, "cpu");
	for (size_t i = 0; i < p->sample_count && samples >= 0 && cpu >= 0; i++)
		if (p->values[i * p->type_count + (size_t)cpu] == 0)
			p->values[i * p->type_count + (size_t)samples] = 0;
}

static void remove_empty_samples(mw_profile_t *p) {
	size_t left = 0;
	for (size_t i = 0; i < p->sample_count; i++) {
		bool is_any = false;
		for (size_t k = 0; k < p->type_count; k++)
			is_any |= mw_profile_values(p, i)[k] != 0;
		if (is_any)
			mw_profile_move_sample(p, left++, i);
	}
	p->sample_count = left;
}

bool mw_delta_prepare(mw_profile_t *p, mw_kind_t kind) {
	mw_profile_t *types = types_of(mw_kind_values(kind), 0);
	if (kind == MW_KIND_CPU)
		count_cpu_samples_only(p);
	bool is_any = mw_kind_is_in(kind, p) && mw_profile_keep_types_of(p, types) > 0;
	mw_profile_free(types);
	if (!is_any)
		return false;
	mw_profile_forget_labels(p);
	mw_profile_combine(p);
	remove_empty_samples(p);
	mw_history_clear(&p->history);
	return true;
}

/* Returns since when the profile counts; 0 = not known. */
static int64_t counted_since(const mw_profile_t *p) {
	return p->duration_ns > 0 ? p->time_ns - p->duration_ns : 0;
}

/* Sets the values of a type that is not subtracted to 0. */
static void forget_type(mw_profile_t *p, size_t type) {
	for (size_t i = 0; i < p->sample_count; i++)
		p->values[i * p->type_count + type] = 0;
}

/* Takes up to *missing from a value. */
static void take(int64_t *value, uint64_t *missing) {
	uint64_t part = *value > 0 ? (uint64_t)*value : 0;
	part = part < *missing ? part : *missing;
	*value -= (int64_t)part;
	*missing -= part;
}

/* Takes what became negative from the largest value, and the rest from any: a stack that was given
 * up is part of the unknown one now, which has grown by as much. */
static void take_back_negative(mw_profile_t *p, size_t type) {
	int64_t *values = p->values + type;
	size_t step = p->type_count, largest = 0;
	uint64_t missing = 0;
	for (size_t i = 0; i < p->sample_count; i++) {
		if (values[i * step] < 0) {
			missing += -(uint64_t)values[i * step];
			values[i * step] = 0;
		}
		if (values[i * step] > values[largest * step])
			largest = i;
	}
	for (size_t i = largest; i < p->sample_count && missing > 0; i++)
		take(&values[i * step], &missing);
	for (size_t i = 0; i < largest && missing > 0; i++)
		take(&values[i * step], &missing);
}

void mw_delta_subtract(mw_profile_t *p, const mw_profile_t *earlier) {
	mw_profile_t *base = mw_profile_copy(earlier), *counts = types_of_counts();
	int64_t since = counted_since(p), base_since = counted_since(earlier);
	bool was_reset = since != 0 && base_since != 0 && since != base_since;
	if (!was_reset && mw_profile_keep_types_of(base, counts) > 0) {
		for (size_t i = 0; i < base->type_count; i++) {
			int type = mw_profile_find_type(
				p, mw_profile_string(base, base->types[i].type));
			if (type >= 0 &&
			    mw_profile_total(p, (size_t)type) < mw_profile_total(base, i))
				forget_type(base, i);
		}
		mw_profile_subtract(p, base);
		mw_profile_combine(p);
		for (size_t i = 0; i < p->type_count; i++)
			take_back_negative(p, i);
	}
	/* Not known if the clock was set back in between. */
	if (!was_reset && earlier->time_ns > 0)
		p->duration_ns = p->time_ns > earlier->time_ns ? p->time_ns - earlier->time_ns : 0;
	mw_profile_free(counts);
	mw_profile_free(base);
}
