/* SPDX-License-Identifier: MIT
 * symbol_cache.h -- keeps the functions at addresses of one build of a file between runs.
 * Layer: symbol/cache.  The folder's door; cache_folder.h has the folder on disk and its limit.
 * A cache file is a profile.proto without samples: its mapping is the build, its locations are
 * addresses of the ELF file.  A location without lines is an address without a name.
 * Any file may claim any build-id.  A cached name is therefore used only for the same file that
 * it came from; or, if that file no longer exists, when the file was at the profile's path.
 * Only names from debug information are cached: symbol tables are fast to read, and debug
 * information may be installed later. */
#ifndef MW_TOOL_SYMBOL_CACHE_SYMBOL_CACHE_H
#define MW_TOOL_SYMBOL_CACHE_SYMBOL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"

typedef struct mw_symbol_cache mw_symbol_cache_t;

/* Identifies the file whose functions are cached. */
typedef struct mw_symbol_cache_file {
	const char *path; /* path in the profile */
	const char *build_id;
	const char *identity; /* identity of the file (object.h); "" = there is no file */
} mw_symbol_cache_file_t;

/* Opens a cache.  Never NULL. Without a directory or a build-id the cache is empty and is not
 * written.  A cache file that is damaged, or of another user, file or version, counts as empty. */
mw_symbol_cache_t *mw_symbol_cache_open(const char *directory, const mw_symbol_cache_file_t *file);
/* Writes the added names to disk and frees the cache.  Errors are ignored: the next run reads
 * the debug information again. */
void mw_symbol_cache_close(mw_symbol_cache_t *cache);

/* Returns the cached locations, functions and texts, valid until the next call with this cache. */
const mw_profile_t *mw_symbol_cache_profile(const mw_symbol_cache_t *cache);
/* True if an earlier run wrote names. */
bool mw_symbol_cache_has_names(const mw_symbol_cache_t *cache);
/* Returns the location of an address; 0 = the address is not cached. */
uint32_t mw_symbol_cache_find(const mw_symbol_cache_t *cache, uint64_t address);
/* Adds an address with the functions of `location` in the profile `from`.  A location without
 * functions records that the address has no name.  An address that is cached already stays
 * unchanged.  All calls with one cache pass one profile. */
void mw_symbol_cache_add(mw_symbol_cache_t *cache, uint64_t address, const mw_profile_t *from,
			 uint32_t location);

#endif
