/* SPDX-License-Identifier: MIT
 * formats.h -- the writers of the single formats.
 * Layer: tools/write.  Private to this folder; they cannot fail but through `output`. */
#ifndef MW_TOOL_WRITE_FORMATS_H
#define MW_TOOL_WRITE_FORMATS_H

#include "model/profile.h"
#include "write/output.h"

/* Which sample types hold what the text formats can say; -1: not there. */
typedef struct mw_heap_types {
	int inuse_objects;
	int inuse_space;
	int alloc_objects;
	int alloc_space;
} mw_heap_types_t;

void mw_write_proto(const mw_profile_t *profile, mw_output_t *output);
void mw_write_heap_v2(const mw_profile_t *profile, const mw_heap_types_t *types,
		      mw_output_t *output);
void mw_write_symbolized(const mw_profile_t *profile, const mw_heap_types_t *types,
			 mw_output_t *output);
void mw_write_gperftools(const mw_profile_t *profile, const mw_heap_types_t *types,
			 mw_output_t *output);

#endif
