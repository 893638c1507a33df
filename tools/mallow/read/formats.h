/* SPDX-License-Identifier: MIT
 * formats.h -- the readers of the single formats, of bytes in memory.
 * Layer: tools/read.  Private to this folder.  They fill an empty profile; `name` is for messages.
 */
#ifndef MW_TOOL_READ_FORMATS_H
#define MW_TOOL_READ_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/error.h"
#include "model/profile.h"

/* The most entries of a kind (samples, locations, ...) a profile may have. */
#define MW_READ_ENTRIES_MAX ((size_t)1 << 25)
/* The deepest stack: eight times what any profiler here records. */
#define MW_READ_DEPTH_MAX ((size_t)1 << 15)

/* profile.proto, not compressed. */
int mw_read_proto(mw_profile_t *profile, const char *name, const unsigned char *bytes,
		  size_t length, mw_error_t *error);

/* jemalloc's heap_v2 and gperftools' "heap profile:".  `bytes` is followed by a NUL. */
bool mw_is_heap_text(const char *bytes, size_t length);
int mw_read_heap_text(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		      mw_error_t *error);

#endif
