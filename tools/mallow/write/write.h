/* SPDX-License-Identifier: MIT
 * write.h -- writes a profile to a file.
 * Layer: tools/write.  A file appears under its name only when it is whole: it is written beside it
 * and renamed; on any error the old file stays and nothing is left behind.  "-" is stdout. */
#ifndef MW_TOOL_WRITE_WRITE_H
#define MW_TOOL_WRITE_WRITE_H

#include <stdio.h>

#include "model/error.h"
#include "model/profile.h"

typedef enum mw_format {
	MW_FORMAT_PROTO,      /* profile.proto, for pprof */
	MW_FORMAT_JEMALLOC,   /* heap_v2, for jeprof */
	MW_FORMAT_SYMBOLIZED, /* heap_v2 behind a table of names, as jeprof --raw writes it */
	MW_FORMAT_GPERFTOOLS, /* "heap profile:", for gperftools' pprof */
} mw_format_t;

typedef enum mw_gzip {
	MW_GZIP_BY_NAME, /* profile.proto: unless the name ends in .pb, .proto or .raw;
			  * text: when it ends in .gz */
	MW_GZIP_ON,
	MW_GZIP_OFF,
} mw_gzip_t;

/* "proto" (also "pprof"), "jemalloc" (also "heap_v2"), "symbolized", "gperftools"; 0 or
 * -1. */
int mw_format_parse(const char *name, mw_format_t *format);

/* `path` NULL or "-": stdout.  The text formats need alloc_objects, alloc_space, inuse_objects and
 * inuse_space (or just the latter two); anything else is an error. */
int mw_write_profile(const mw_profile_t *profile, const char *path, mw_format_t format,
		     mw_gzip_t gzip, mw_error_t *error);

#endif
