/* SPDX-License-Identifier: MIT
 * write.h -- writes a profile to a file.
 * Layer: formats.  A file appears under its name only when it is complete: it is written under a
 * temporary name and renamed.  After an error the old file is unchanged and no temporary file is
 * left.  "-" means stdout. */
#ifndef MW_TOOL_FORMATS_WRITE_H
#define MW_TOOL_FORMATS_WRITE_H

#include <stdio.h>

#include "model/error.h"
#include "model/profile.h"

typedef enum mw_format {
	MW_FORMAT_PROTO,      /* profile.proto, for pprof */
	MW_FORMAT_JEMALLOC,   /* heap_v2, for jeprof */
	MW_FORMAT_SYMBOLIZED, /* heap_v2 after a table of names, as jeprof --raw writes it */
	/* For gperftools' pprof: "heap profile:", or the binary format for a profile of CPU time
	 * or of wall-clock time. */
	MW_FORMAT_GPERFTOOLS,
	MW_FORMAT_GROWTH, /* the highest use of the heap, as gperftools' growth profile */
} mw_format_t;

typedef enum mw_gzip {
	/* By the file's name. profile.proto: compressed unless the name ends in .pb, .proto or
	 * .raw.  Text: compressed if the name ends in .gz. */
	MW_GZIP_BY_NAME,
	MW_GZIP_ON,
	MW_GZIP_OFF,
} mw_gzip_t;

/* Reads the name of a format: "proto" (or "pprof"), "jemalloc" (or "heap_v2"), "symbolized",
 * "gperftools", "growth".  Returns 0 or -1. */
int mw_format_parse(const char *name, mw_format_t *format);

/* Writes a profile to `path`; NULL or "-" means stdout.  The text formats need the types
 * alloc_objects, alloc_space, inuse_objects and inuse_space, or only the last two; otherwise the
 * call fails. */
int mw_write_profile(const mw_profile_t *profile, const char *path, mw_format_t format,
		     mw_gzip_t gzip, mw_error_t *error);

#endif
