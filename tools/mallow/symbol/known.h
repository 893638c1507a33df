/* SPDX-License-Identifier: MIT
 * known.h -- what is known of one build of a file: the functions at its addresses, from earlier
 * runs and from this one. Layer: tools/symbol.  Private to this folder.  Kept in a profile.proto
 * without samples, a file a build-id (cache.h): its one mapping is the build, its locations are
 * addresses of the ELF file, and a location without lines is one that has no name.  Only what came
 * from debug information is kept: symbol tables are fast to read, and debug information may be
 * installed later. */
#ifndef MW_TOOL_SYMBOL_KNOWN_H
#define MW_TOOL_SYMBOL_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"

typedef struct mw_known mw_known_t;

/* `directory` NULL, or a build-id that is none: nothing is kept.  What a file holds that is
 * damaged, somebody else's or of another version is as if it were not there. */
mw_known_t *mw_known_open(const char *directory, const char *build_id);
/* Keeps what was added; what goes wrong is nobody's business. */
void mw_known_close(mw_known_t *known);

/* Locations, functions and their texts; valid until the next call here. */
const mw_profile_t *mw_known_profile(const mw_known_t *known);
/* Whether earlier runs left something. */
bool mw_known_was_kept(const mw_known_t *known);
/* The location of an address; 0: not known yet. */
uint32_t mw_known_find(const mw_known_t *known, uint64_t address);
/* Adds an address that is not known yet, with the functions of a location of another profile (none:
 * it has no name).  That one is the same each time. */
void mw_known_take(mw_known_t *known, uint64_t address, const mw_profile_t *from,
		   uint32_t location);

#endif
