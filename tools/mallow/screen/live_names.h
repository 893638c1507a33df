/* SPDX-License-Identifier: MIT
 * live_names.h -- names of a live process's addresses, each looked up once, and the filter.
 * Layer: screen.  A profile of the process is read twice a second.  Only locations that are new
 * in it are symbolized. */
#ifndef MW_TOOL_SCREEN_LIVE_NAMES_H
#define MW_TOOL_SCREEN_LIVE_NAMES_H

#include <stdbool.h>

#include "model/profile.h"
#include "symbol/symbolize.h"
#include "view/select/pattern.h"
#include "view/select/wrappers.h"

typedef struct mw_names mw_names_t;

/* The functions at an address.  Texts are valid until the next addition. */
typedef struct mw_name {
	const mw_names_t *names;
	uint32_t number; /* private to live_names.c */
} mw_name_t;

mw_names_t *mw_names_new(void);
void mw_names_free(mw_names_t *names);

/* Looks up the new locations of `profile`.  `options` as for mw_symbolize(). */
void mw_names_add(mw_names_t *names, const mw_profile_t *profile,
		  const mw_symbolize_options_t *options);
/* Returns the name of a location of an added profile. */
mw_name_t mw_names_find(mw_names_t *names, const mw_profile_t *profile, uint32_t location);

/* Allocation wrappers are left out of stacks unless they are shown. */
void mw_names_show_wrappers(mw_names_t *names, bool shown);
/* Learns the wrappers of all stacks of an added profile. */
void mw_names_learn(mw_names_t *names, const mw_profile_t *profile);
/* Returns the first frame of the sample that is shown. */
mw_frame_position_t mw_names_first(mw_names_t *names, const mw_profile_t *profile,
				   const mw_sample_t *sample);

/* Returns the number of functions at the address, at least 1: the innermost function and the
 * functions that it was inlined into. */
uint32_t mw_name_functions(mw_name_t name);
/* Returns the k-th function from the innermost, or "libfoo.so+0x12". */
const char *mw_name_function(mw_name_t name, uint32_t k);
/* Returns the base name of the file that holds the address; "[anonymous]" if there is none. */
const char *mw_name_module(mw_name_t name);

/* Sets the filter: only stacks with a matching frame are counted, as for --focus.  NULL = all
 * stacks.  `names` owns the pattern from now on. */
void mw_names_focus(mw_names_t *names, mw_pattern_t *pattern);
bool mw_names_in_focus(mw_names_t *names, const mw_profile_t *profile, const mw_sample_t *sample);

#endif
