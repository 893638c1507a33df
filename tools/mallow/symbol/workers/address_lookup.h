/* SPDX-License-Identifier: MIT
 * address_lookup.h -- looks up many addresses of one file.
 * Layer: symbol/workers.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_WORKERS_ADDRESS_LOOKUP_H
#define MW_TOOL_SYMBOL_WORKERS_ADDRESS_LOOKUP_H

#include "symbol/elf/elf_object.h"
#include "symbol/workers/found.h"
#include "symbol/workers/job_queue.h"

typedef struct mw_lookup {
	const mw_profile_t *profile;
	const mw_mapping_t *mapping;
	const mw_symbolize_options_t *options;
	uint64_t bias;     /* bias of the mapping */
	mw_found_t *names; /* found functions are added here */
	mw_queue_t *queue; /* may be shared with other processes */
	/* Called for each location of the profile with the functions found there, which are
	 * functions of `names`. */
	void (*found)(void *context, uint32_t location, const mw_line_t *lines, size_t count);
	/* Called before a unit of the debug information is read. */
	void (*before_unit)(void *context);
	void *context;
} mw_lookup_t;

/* Fills the queue with locations, up to its capacity, and opens it. */
void mw_lookup_list(const mw_lookup_t *lookup, mw_object_t *object, const uint32_t *locations,
		    size_t count);
/* Looks up all places of the queue that other processes do not take.  `*object` is open; the
 * call may close it and open it anew, and sets it to NULL if that fails. */
void mw_lookup_all(const mw_lookup_t *lookup, mw_object_t **object);

#endif
