/* SPDX-License-Identifier: MIT
 * stacks.c -- adds up the samples of each stack. */
#include "report/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "report/interval.h"
#include "report/text/types.h"

static void add(int64_t *sum, int64_t value) {
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

/* Most shares of one kind that are kept.  A stack usually has few, so they are searched one by
 * one; a hostile file may contain millions. */
#define SHARES_MAX 512

static void add_share(mw_stack_t *stack, mw_share_kind_t kind, const mw_share_t *share) {
	mw_share_t *shares = stack->shares[kind];
	size_t *count = &stack->share_counts[kind], i = 0;
	if (share->objects == 0 && share->bytes == 0)
		return;
	while (i < *count && (shares[i].number != share->number || shares[i].name != share->name))
		i++;
	if (i == SHARES_MAX)
		return;
	if (i == *count) {
		shares = stack->shares[kind] = mw_xrealloc(shares, *count + 1, sizeof(mw_share_t));
		shares[(*count)++] = (mw_share_t){.name = share->name, .number = share->number};
	}
	add(&shares[i].objects, share->objects);
	add(&shares[i].bytes, share->bytes);
}

typedef struct columns {
	int inuse_objects, inuse_space, alloc_objects, alloc_space, freed_objects;
} columns_t;

static int64_t value_at(const mw_profile_t *p, size_t sample, int type) {
	return type < 0 ? 0 : mw_profile_values(p, sample)[type];
}

static void add_shares(mw_stack_t *stack, const mw_profile_t *p, size_t i, const columns_t *c) {
	mw_share_t share = {.objects = value_at(p, i, c->inuse_objects),
			    .bytes = value_at(p, i, c->inuse_space)};
	const mw_label_t *size = mw_profile_label(p, i, MW_LABEL_SIZE);
	const mw_label_t *thread = mw_profile_label(p, i, MW_LABEL_THREAD);
	const mw_label_t *id = mw_profile_label(p, i, MW_LABEL_THREAD_ID);
	const mw_label_t *age = mw_profile_label(p, i, MW_LABEL_AGE);
	const mw_label_t *life = mw_profile_label(p, i, MW_LABEL_LIFETIME);
	if (size != NULL) {
		share.number = size->number;
		add_share(stack, MW_SHARE_SIZES, &share);
		mw_share_t made = {.number = size->number,
				   .objects = value_at(p, i, c->alloc_objects),
				   .bytes = value_at(p, i, c->alloc_space)};
		add_share(stack, MW_SHARE_MADE_SIZES, &made);
	}
	if (thread != NULL) {
		share.name = mw_profile_string(p, thread->text);
		share.number = id != NULL ? id->number : 0;
		add_share(stack, MW_SHARE_THREADS, &share);
	}
	if (age != NULL) {
		share.name = mw_profile_string(p, age->text);
		share.number = 0;
		add_share(stack, MW_SHARE_AGES, &share);
	}
	if (life != NULL) {
		share = (mw_share_t){.name = mw_profile_string(p, life->text),
				     .objects = value_at(p, i, c->freed_objects)};
		add_share(stack, MW_SHARE_LIFETIMES, &share);
	}
}

static int compare_shares(const void *left, const void *right) {
	const mw_share_t *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Type for comparisons: qsort() passes no context. */
static __thread size_t sort_type;

static int compare_stacks(const void *left, const void *right) {
	const mw_stack_t *a = left, *b = right;
	if (a->values[sort_type] != b->values[sort_type])
		return a->values[sort_type] < b->values[sort_type] ? 1 : -1;
	return (a->sample > b->sample) - (a->sample < b->sample);
}

static void clear_stack(mw_stack_t *stack) {
	free(stack->values);
	for (int kind = 0; kind < MW_SHARE_KINDS; kind++)
		free(stack->shares[kind]);
}

/* Adds up the samples of one stack, which follow each other from `first` on.  Returns the first
 * sample of the next stack. */
static size_t sum_up(mw_stack_t *stack, const mw_profile_t *p, size_t first, size_t type) {
	mw_interval_types_t interval;
	bool has_interval = mw_interval_types_find(p, type, &interval);
	columns_t columns = {.inuse_objects = mw_profile_find_type(p, "inuse_objects"),
			     .inuse_space = mw_profile_find_type(p, "inuse_space"),
			     .alloc_objects = mw_profile_find_type(p, "alloc_objects"),
			     .alloc_space = mw_profile_find_type(p, "alloc_space"),
			     .freed_objects = mw_profile_find_type(p, "freed_objects")};
	*stack = (mw_stack_t){.sample = first};
	stack->values = mw_xcalloc(p->type_count, sizeof(int64_t));
	size_t i = first;
	do {
		for (size_t k = 0; k < p->type_count; k++)
			add(&stack->values[k], mw_profile_values(p, i)[k]);
		if (has_interval)
			mw_spread_add_sample(&stack->spread, p, i, type, &interval);
		add_shares(stack, p, i++, &columns);
	} while (i < p->sample_count && mw_profile_same_stack(p, first, i));
	return i;
}

int mw_stacks_init(mw_stacks_t *stacks, const mw_profile_t *p, const char *sample_type,
		   mw_error_t *error) {
	*stacks = (mw_stacks_t){0};
	if (mw_report_find_type(p, sample_type, &stacks->type, error) != 0)
		return -1;
	size_t capacity = 0;
	for (size_t i = 0; i < p->sample_count;) {
		stacks->stacks =
			mw_grow(stacks->stacks, &capacity, stacks->count + 1, sizeof(mw_stack_t));
		mw_stack_t *stack = &stacks->stacks[stacks->count];
		i = sum_up(stack, p, i, stacks->type);
		add(&stacks->total, stack->values[stacks->type]);
		if (stack->values[stacks->type] > 0)
			stacks->count++;
		else
			clear_stack(stack);
	}
	for (size_t i = 0; i < stacks->count; i++)
		for (int kind = 0; kind < MW_SHARE_LIFETIMES; kind++)
			if (stacks->stacks[i].share_counts[kind] > 0)
				qsort(stacks->stacks[i].shares[kind],
				      stacks->stacks[i].share_counts[kind], sizeof(mw_share_t),
				      compare_shares);
	sort_type = stacks->type;
	if (stacks->count > 0)
		qsort(stacks->stacks, stacks->count, sizeof(mw_stack_t), compare_stacks);
	return 0;
}

void mw_stacks_release(mw_stacks_t *stacks) {
	for (size_t i = 0; i < stacks->count; i++)
		clear_stack(&stacks->stacks[i]);
	free(stacks->stacks);
}

int64_t mw_stack_value(const mw_profile_t *p, const mw_stack_t *stack, const char *type) {
	int index = mw_profile_find_type(p, type);
	return index < 0 ? -1 : stack->values[index];
}
