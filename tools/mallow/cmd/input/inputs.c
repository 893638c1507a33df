/* SPDX-License-Identifier: MIT
 * inputs.c -- reads targets one by one and adds them up. */
#include "cmd/input/inputs.h"

#include <stdlib.h>

#include "cmd/input/directory.h"
#include "model/memory.h"
#include "model/merge.h"
#include "report/text/pprof_units.h"

/* Keeps the sample types that both profiles have. */
static int meet(mw_profile_t *a, const char *a_name, mw_profile_t *b, const char *b_name,
		mw_error_t *error) {
	if (mw_profile_keep_types_of(a, b) > 0 && mw_profile_keep_types_of(b, a) > 0)
		return 0;
	return mw_error_set(error,
			    "%s and %s have no sample type in common; give profiles of one kind",
			    a_name, b_name);
}

typedef struct sum {
	const mw_inputs_t *inputs;
	mw_profile_t *profile; /* sum of the targets so far; NULL = none yet */
	char *first;           /* name of the first target of the sum */
	size_t count;
} sum_t;

static int add(void *context, const mw_target_t *target, mw_profile_t *part, mw_error_t *error) {
	sum_t *sum = context;
	mw_load_names(target, sum->inputs->program, MW_LOAD_SYMBOLS_NOTES, part);
	if (sum->count++ == 0) {
		sum->first = mw_xstrdup(target->shown);
		sum->profile = part;
		return 0;
	}
	int result = meet(sum->profile, sum->first, part, target->shown, error);
	if (result == 0) {
		mw_units_agree(sum->profile, part);
		mw_profile_add(sum->profile, part);
	}
	mw_profile_free(part);
	return result;
}

static int add_target(sum_t *sum, const char *text, mw_error_t *error) {
	mw_target_t target;
	mw_profile_t *part;
	if (mw_load_resolve(text, &target, error) != 0)
		return -1;
	int result = mw_load(&target, MW_LOAD_NO_SYMBOLS, sum->inputs->detail, &part, error);
	if (result == 0)
		result = add(sum, &target, part, error);
	mw_target_release(&target);
	return result;
}

/* A directory is replaced by its dumps. */
static int load_sum(const char *const *names, size_t count, const mw_inputs_t *inputs,
		    mw_profile_t **out, mw_error_t *error) {
	sum_t sum = {.inputs = inputs};
	int result = 0;
	*out = NULL;
	for (size_t i = 0; i < count && result == 0; i++)
		result = mw_is_directory(names[i])
				 ? mw_directory_newest(names[i], inputs->detail, add, &sum, error)
				 : add_target(&sum, names[i], error);
	free(sum.first);
	if (result != 0) {
		mw_profile_free(sum.profile);
		return result;
	}
	if (sum.count > 1)
		mw_profile_combine(sum.profile);
	*out = sum.profile;
	return 0;
}

static int subtract(const mw_inputs_t *inputs, mw_profile_t *profile, mw_error_t *error) {
	mw_profile_t *base = NULL;
	int result = load_sum(inputs->bases, inputs->base_count, inputs, &base, error);
	if (result != 0)
		return result;
	result = meet(profile, inputs->targets[0], base, inputs->bases[0], error);
	if (result == 0)
		mw_units_agree(profile, base);
	if (result == 0 && inputs->normalize)
		mw_profile_normalize(profile, base);
	if (result == 0)
		mw_profile_subtract(profile, base);
	profile->origin.base_time_ns = base->time_ns;
	mw_profile_free(base);
	return result;
}

int mw_inputs_load(const mw_inputs_t *inputs, mw_profile_t **out, size_t *base_first,
		   mw_error_t *error) {
	if (load_sum(inputs->targets, inputs->target_count, inputs, out, error) != 0)
		return -1;
	if (inputs->comment != NULL)
		mw_profile_add_comment(*out, inputs->comment);
	*base_first = (*out)->sample_count;
	if (inputs->base_count == 0)
		return 0;
	if (subtract(inputs, *out, error) != 0) {
		mw_profile_free(*out);
		*out = NULL;
		return -1;
	}
	if (!inputs->is_diff) {
		mw_profile_combine(*out);
		*base_first = (*out)->sample_count;
	}
	return 0;
}
