/* SPDX-License-Identifier: MIT
 * lookup.h -- looks up many addresses of one file.
 * Layer: tools/symbol.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_LOOKUP_H
#define MW_TOOL_SYMBOL_LOOKUP_H

#include "symbol/found.h"
#include "symbol/object.h"
#include "symbol/queue.h"

typedef struct mw_lookup {
	const mw_profile_t *profile;
	const mw_mapping_t *mapping;
	const mw_symbolize_options_t *options;
	uint64_t bias;     /* of the mapping */
	mw_found_t *names; /* what is found is added */
	mw_queue_t *queue; /* perhaps shared with other processes */
	/* Takes a location of the profile and what is there: functions of `names`. */
	void (*found)(void *context, uint32_t location, const mw_line_t *lines, size_t count);
	/* Called before a unit of the debug information is read. */
	void (*before_unit)(void *context);
	void *context;
} mw_lookup_t;

/* Fills the queue with locations, as many as it has room for at most, and opens it. */
void mw_lookup_list(const mw_lookup_t *lookup, mw_object_t *object, const uint32_t *locations,
		    size_t count);
/* Looks up what is in the queue, or what other processes leave of it, in the open `*object`.  That
 * one may be closed and opened anew; NULL afterwards: it could not be. */
void mw_lookup_all(const mw_lookup_t *lookup, mw_object_t **object);

#endif
