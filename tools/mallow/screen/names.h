/* SPDX-License-Identifier: MIT
 * names.h -- the names of a live process's addresses, each looked up once.
 * Layer: tools/screen.  A profile of the same process comes twice a second; only what is new in it
 * is symbolized. */
#ifndef MW_TOOL_SCREEN_NAMES_H
#define MW_TOOL_SCREEN_NAMES_H

#include "model/profile.h"
#include "symbol/symbolize.h"

typedef struct mw_names mw_names_t;

/* The innermost function at an address, and the file it is in. */
typedef struct mw_name {
	uint64_t address;
	const char *function; /* or "libfoo.so+0x12" */
	const char *module;   /* base name; "[anonymous]" without one */
} mw_name_t;

mw_names_t *mw_names_new(void);
void mw_names_free(mw_names_t *names);

/* Looks up the locations of `profile` that are new.  `options` as for mw_symbolize(). */
void mw_names_add(mw_names_t *names, const mw_profile_t *profile,
		  const mw_symbolize_options_t *options);
/* The name of a location of a profile that was added; valid until the next addition. */
const mw_name_t *mw_names_find(const mw_names_t *names, const mw_profile_t *profile,
			       uint32_t location);

#endif
