/* SPDX-License-Identifier: MIT
 * lookup.h -- looks up many addresses of one file, on all processors.
 * Layer: tools/symbol.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_LOOKUP_H
#define MW_TOOL_SYMBOL_LOOKUP_H

#include "symbol/known.h"
#include "symbol/object.h"

typedef struct mw_lookup {
	const mw_profile_t *profile;
	const mw_mapping_t *mapping;
	const mw_symbolize_options_t *options;
	uint64_t bias;     /* of the mapping */
	mw_known_t *known; /* what is found is added */
	/* Takes a location of the profile and the one in `known` that says what it is.  Both are
	 * called by one thread at a time. */
	void (*found)(void *context, uint32_t location, uint32_t known);
	/* Called before a unit of the debug information is read. */
	void (*before_unit)(void *context);
	void *context;
} mw_lookup_t;

/* Looks up `count` locations, none of which is known, in the open `*object`.  That one may be
 * closed and opened anew; NULL afterwards: it could not be. */
void mw_lookup_all(const mw_lookup_t *lookup, mw_object_t **object, const uint32_t *locations,
		   size_t count);

#endif
