/* SPDX-License-Identifier: MIT
 * inputs.c -- reads targets one after the other and adds them up. */
#include "cmd/inputs.h"

#include "cmd/command.h"
#include "cmd/directory.h"
#include "model/merge.h"

static int load_one(const char *text, const mw_inputs_t *inputs, mw_profile_t **out,
		    mw_error_t *error) {
	mw_target_t target;
	if (mw_load_resolve(text, &target, error) != 0)
		return -1;
	int result = mw_load_of_program(&target, inputs->program, MW_LOAD_SYMBOLS_NOTES,
					inputs->detail, out, error);
	mw_target_release(&target);
	return result;
}

/* The types both have. */
static int meet(mw_profile_t *a, const char *a_name, mw_profile_t *b, const char *b_name,
		mw_error_t *error) {
	if (mw_profile_keep_types_of(a, b) > 0 && mw_profile_keep_types_of(b, a) > 0)
		return 0;
	return mw_error_set(error,
			    "%s and %s: they have no sample type in common; give profiles of one "
			    "kind",
			    a_name, b_name);
}

static int load_files(const char *const *names, size_t count, const mw_inputs_t *inputs,
		      mw_profile_t **out, mw_error_t *error) {
	int result = load_one(names[0], inputs, out, error);
	for (size_t i = 1; i < count && result == 0; i++) {
		mw_profile_t *next = NULL;
		result = load_one(names[i], inputs, &next, error);
		if (result == 0)
			result = meet(*out, names[0], next, names[i], error);
		if (result == 0)
			mw_profile_add(*out, next);
		mw_profile_free(next);
		if (result != 0) {
			mw_profile_free(*out);
			*out = NULL;
		}
	}
	if (result == 0 && count > 1)
		mw_profile_combine(*out);
	return result;
}

/* In place of a directory, dumps in it. */
static int load_sum(const char *const *names, size_t count, const mw_inputs_t *inputs,
		    mw_profile_t **out, mw_error_t *error) {
	mw_paths_t paths = {0};
	int result = 0;
	for (size_t i = 0; i < count && result == 0; i++)
		if (mw_is_directory(names[i]))
			result = mw_directory_newest(names[i], &paths, error);
		else
			mw_paths_add(&paths, names[i]);
	if (result == 0)
		result = load_files((const char *const *)paths.items, paths.count, inputs, out,
				    error);
	mw_paths_release(&paths);
	return result;
}

static int subtract(const mw_inputs_t *inputs, mw_profile_t *profile, mw_error_t *error) {
	mw_profile_t *base = NULL;
	int result = load_sum(inputs->bases, inputs->base_count, inputs, &base, error);
	if (result != 0)
		return result;
	result = meet(profile, inputs->targets[0], base, inputs->bases[0], error);
	if (result == 0 && inputs->normalize)
		mw_profile_normalize(profile, base);
	if (result == 0)
		mw_profile_subtract(profile, base);
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
