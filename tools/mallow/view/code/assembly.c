/* SPDX-License-Identifier: MIT
 * assembly.c -- finds matching symbols and adds up the samples by instruction. */
#include "view/code/assembly.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "view/select/pattern.h"

typedef struct sum {
	int64_t flat, flat_divisor;
	int64_t cum, cum_divisor;
	size_t last_sample; /* 1 + number of the last sample that was counted in cum */
} sum_t;

typedef struct search {
	const mw_view_t *view;
	mw_assembly_of_t of;
	mw_pattern_t *pattern;
	uint64_t address; /* address that the pattern names; 0 = none */
	sum_t *sums;      /* sums[i] belongs to location i */
	bool *is_failed;  /* is_failed[i]: the file of mapping i could not be read */
	mw_assemblies_t *found;
	mw_error_t error; /* error of the first file that could not be read */
} search_t;

static void add(int64_t *sum, int64_t value) {
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

static void sum_up(search_t *s) {
	const mw_profile_t *p = s->view->profile;
	s->sums = mw_xcalloc(p->location_count, sizeof(sum_t));
	for (size_t i = 0; i < p->sample_count; i++) {
		const mw_sample_t *sample = &p->samples[i];
		const int64_t *values = mw_profile_values(p, i);
		for (uint32_t k = 0; k < sample->depth; k++) {
			sum_t *sum = &s->sums[p->frames[sample->frame_first + k]];
			if (k == 0) {
				add(&sum->flat, values[s->view->type]);
				add(&sum->flat_divisor, values[0]);
			}
			if (sum->last_sample == i + 1)
				continue;
			sum->last_sample = i + 1;
			add(&sum->cum, values[s->view->type]);
			add(&sum->cum_divisor, values[0]);
		}
	}
	for (size_t i = 1; s->view->graph.is_mean && i < p->location_count; i++) {
		sum_t *sum = &s->sums[i];
		sum->flat = sum->flat_divisor > 0 ? sum->flat / sum->flat_divisor : sum->flat;
		sum->cum = sum->cum_divisor > 0 ? sum->cum / sum->cum_divisor : sum->cum;
	}
}

/* True if the location may lie in a wanted symbol.  Only then its file is read. */
static bool is_candidate(const search_t *s, uint32_t location) {
	const mw_profile_t *p = s->view->profile;
	const mw_location_t *l = &p->locations[location];
	if (l->mapping == 0 || (s->sums[location].cum == 0 && s->sums[location].flat == 0))
		return false;
	if (s->address != 0 && s->of == MW_ASSEMBLY_OF_SYMBOLS)
		return true;
	for (uint32_t k = 0; k < l->line_count; k++) {
		const mw_function_t *f = &p->functions[p->lines[l->line_first + k].function];
		if (mw_pattern_matches(s->pattern, mw_profile_string(p, f->name)))
			return true;
	}
	return false;
}

static mw_code_t *code_of(search_t *s, uint32_t mapping) {
	mw_code_t **code = &s->found->codes[mapping];
	mw_error_t error;
	if (*code != NULL || s->is_failed[mapping])
		return *code;
	*code = mw_code_open(s->view->profile, mapping, s->view->symbols, s->view->syntax, &error);
	s->is_failed[mapping] = *code == NULL;
	if (*code == NULL && s->error.text[0] == '\0')
		s->error = error;
	return *code;
}

static bool is_known(const search_t *s, const mw_code_t *code, uint64_t address) {
	for (size_t i = 0; i < s->found->count; i++) {
		const mw_assembly_t *a = &s->found->functions[i];
		if (a->code == code && address >= a->range.start && address < a->range.end)
			return true;
	}
	return false;
}

static bool is_wanted(const search_t *s, const mw_code_t *code, const mw_code_range_t *range) {
	if (s->of == MW_ASSEMBLY_OF_LINES || mw_pattern_matches(s->pattern, range->name))
		return true;
	uint64_t in_file = s->address - mw_code_bias(code);
	return s->address != 0 && ((s->address >= range->start && s->address < range->end) ||
				   (in_file >= range->start && in_file < range->end));
}

static void add_symbol(search_t *s, uint32_t location) {
	const mw_location_t *l = &s->view->profile->locations[location];
	mw_code_t *code = code_of(s, l->mapping);
	mw_code_range_t range;
	if (code == NULL)
		return;
	uint64_t address = l->address - mw_code_bias(code);
	if (is_known(s, code, address) || !mw_code_find(code, address, &range))
		return;
	if (!is_wanted(s, code, &range)) {
		free(range.name);
		return;
	}
	mw_assemblies_t *found = s->found;
	found->functions = mw_grow(found->functions, &found->capacity, found->count + 1,
				   sizeof(mw_assembly_t));
	found->functions[found->count++] =
		(mw_assembly_t){.code = code,
				.range = range,
				.module = s->view->profile->mappings[l->mapping].path};
}

static int read_rows(mw_assembly_t *a, mw_error_t *error) {
	mw_instruction_t *instructions;
	if (mw_code_read(a->code, &a->range, &instructions, &a->row_count, error) != 0)
		return -1;
	a->rows = mw_xcalloc(a->row_count, sizeof(mw_assembly_row_t));
	for (size_t i = 0; i < a->row_count; i++)
		a->rows[i] = (mw_assembly_row_t){.address = instructions[i].address,
						 .text = instructions[i].text};
	free(instructions);
	return 0;
}

/* Returns the row of the instruction that contains an address.  The address of a call is its
 * last byte. */
static mw_assembly_row_t *row_at(const mw_assembly_t *a, uint64_t address) {
	size_t low = 0, high = a->row_count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (a->rows[middle].address <= address)
			low = middle;
		else
			high = middle;
	}
	return &a->rows[low];
}

static void fill_rows(const search_t *s, mw_assembly_t *a) {
	const mw_profile_t *p = s->view->profile;
	for (size_t i = 1; i < p->location_count && a->row_count > 0; i++) {
		const mw_location_t *l = &p->locations[i];
		if (l->mapping == 0 || s->found->codes[l->mapping] != a->code)
			continue;
		uint64_t address = l->address - mw_code_bias(a->code);
		if (address < a->range.start || address >= a->range.end)
			continue;
		mw_assembly_row_t *row = row_at(a, address);
		add(&row->flat, s->sums[i].flat);
		add(&row->cum, s->sums[i].cum);
		add(&a->flat, s->sums[i].flat);
		add(&a->cum, s->sums[i].cum);
	}
}

static int compare_functions(const void *left, const void *right) {
	const mw_assembly_t *a = left, *b = right;
	int order = strcmp(a->range.name, b->range.name);
	return order != 0 ? order
			  : (a->range.start > b->range.start) - (a->range.start < b->range.start);
}

static int find_and_read(search_t *s, mw_error_t *error) {
	mw_assemblies_t *found = s->found;
	sum_up(s);
	for (uint32_t i = 1; i < s->view->profile->location_count; i++)
		if (is_candidate(s, i))
			add_symbol(s, i);
	if (found->count == 0 && s->error.text[0] != '\0') {
		*error = s->error;
		return -1;
	}
	if (found->count == 0)
		return mw_error_set(error,
				    "no function in this profile matches '%s'; 'mallow top' lists "
				    "the functions",
				    s->view->pattern);
	for (size_t i = 0; i < found->count; i++) {
		if (read_rows(&found->functions[i], error) != 0)
			return -1;
		fill_rows(s, &found->functions[i]);
	}
	qsort(found->functions, found->count, sizeof(mw_assembly_t), compare_functions);
	return 0;
}

static uint64_t address_of(const char *pattern) {
	char *end;
	uint64_t address = strtoull(pattern, &end, 0);
	return *pattern >= '0' && *pattern <= '9' && *end == '\0' ? address : 0;
}

int mw_assemblies_make(const mw_view_t *v, mw_assembly_of_t of, mw_assemblies_t *out,
		       mw_error_t *error) {
	const mw_profile_t *p = v->profile;
	search_t s = {.view = v, .of = of, .found = out, .error = {.text = ""}};
	*out = (mw_assemblies_t){.code_count = p->mapping_count};
	if (mw_pattern_make(v->name, v->pattern, &s.pattern, error) != 0)
		return -1;
	if (s.pattern == NULL)
		return mw_error_set(error, "%s: the pattern is empty; '.' matches every function",
				    v->name);
	s.address = address_of(v->pattern);
	s.is_failed = mw_xcalloc(p->mapping_count, sizeof(bool));
	out->codes = mw_xcalloc(p->mapping_count, sizeof(mw_code_t *));
	int result = find_and_read(&s, error);
	free(s.sums);
	free(s.is_failed);
	mw_pattern_free(s.pattern);
	return result;
}

void mw_assemblies_release(mw_assemblies_t *a) {
	for (size_t i = 0; i < a->count; i++) {
		for (size_t k = 0; k < a->functions[i].row_count; k++)
			free(a->functions[i].rows[k].text);
		free(a->functions[i].rows);
		free(a->functions[i].range.name);
	}
	for (size_t i = 0; i < a->code_count && a->codes != NULL; i++)
		mw_code_close(a->codes[i]);
	free(a->functions);
	free(a->codes);
}
