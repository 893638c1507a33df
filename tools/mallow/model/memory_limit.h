/* SPDX-License-Identifier: MIT
 * memory_limit.h -- bounds the memory that reading one file may take.
 * Layer: model.  A crafted file of some megabytes can ask for gigabytes.  Between
 * mw_memory_limit_begin() and mw_memory_limit_end() the process gets at most the limit in addition
 * to the memory that it already has.  When memory is refused, mw_xcalloc() and mw_grow() print a
 * message and end the command. */
#ifndef MW_TOOL_MODEL_MEMORY_LIMIT_H
#define MW_TOOL_MODEL_MEMORY_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* Most entries of one kind (samples, locations, ...) in a profile. */
#define MW_READ_ENTRIES_MAX ((size_t)1 << 25)
/* Most frames of a stack: eight times the depth that any supported profiler records. */
#define MW_READ_DEPTH_MAX ((size_t)1 << 15)

/* Sets the limit for the next mw_memory_limit_begin().  The default is 1 GiB; a profile of a
 * million stacks needs a quarter of the default. */
void mw_limit_set(uint64_t bytes);

/* `name` is the file that is read.  It appears in the message, and stays valid until
 * mw_memory_limit_end().  Calls nest, and only the outermost sets the limit.  The caller starts no
 * program before mw_memory_limit_end(), because a child inherits the limit. */
void mw_memory_limit_begin(const char *name);
void mw_memory_limit_end(void);

/* Prints "NAME: takes more than 1.00 GiB ..." on stderr while a limit is set, otherwise "out of
 * memory ...". */
void mw_limit_complain(uint64_t refused_bytes);

#endif
