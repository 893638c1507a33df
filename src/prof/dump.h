/* SPDX-License-Identifier: MIT
 * dump.h -- writes the profile into files from inside the process.
 * Layer: prof.  No malloc, no stdio, no waiting for locks; async-signal-safe.  One dump at a time:
 * the others are told so, and come back.  A file gets its name when it is whole, and never takes
 * another's. errno is kept. */
#ifndef MW_PROF_DUMP_H
#define MW_PROF_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "os/lock.h"
#include "prof/out.h"
#include "state/layout.h"

typedef enum mw_dump_format {
	MW_DUMP_PROTO,   /* profile.proto */
	MW_DUMP_HEAP_V2, /* jemalloc's text */
} mw_dump_format_t;

/* Somebody else is dumping, or the tables are being moved: later. */
#define MW_DUMP_BUSY 1

/* The pattern of names (option dump_name), copied: %p pid, %i number of
 * the pid namespace, %h host, %e program, %n number of the
 * dump, %t local time with milliseconds, %r reason, %u bytes in use, %s and %j
 * jemalloc's numbers (of the dump from 0 on; f, i0, m0 or u0 for its reason), %P the prefix, %% a
 * percent sign.  A
 * name that ends in .heap or .txt asks for heap_v2, any other for profile.proto, .gz for gzip. */
void mw_dump_set_name(const char *pattern);
/* What %P stands for, slashes and all: patterns have no room for a long prefix.  Stays where it is.
 */
void mw_dump_start_prefix(const char *prefix);
/* Another, copied, and cut at PATH_MAX characters. */
void mw_dump_set_prefix(const char *prefix);
const char *mw_dump_prefix(void);
/* Newest files of this process to keep, and the one with the most bytes in use; 0: all.  Names of
 * MW_STATE_DUMP_PATH_BYTES and more are not remembered, and stay. */
void mw_dump_set_keep(unsigned newest);

/* heap_v2 dumps say only what is live. */
void mw_dump_leave_out_allocated(bool leave_out);

/* Writes a file, named by `path` as it stands, or by the pattern when it is NULL.  0, MW_DUMP_BUSY,
 * or a negative code; failures are logged, and the first of a kind goes to stderr. */
int mw_dump_to_file(mw_dump_reason_t reason, const char *path);
/* Gives the profile to `write`, piece by piece, whose failure is MW_ERR_IO. */
int mw_dump_to_function(mw_dump_format_t format, mw_out_write_t write, void *context);

/* Held while a dump is written; for its statistics. */
mw_lock_t *mw_dump_lock(void);

/* In the child of a fork: the parent's dumps are not its own. */
void mw_dump_forked(void);

/* What the pattern gives for a moment, NUL-terminated; the length it would have, as mw_fmt().  Is
 * `buffer` too small, the name ends early. */
typedef struct mw_dump_moment {
	mw_dump_reason_t reason;
	uint64_t number, realtime_ns, live_bytes;
	uint64_t reason_number; /* of the dumps for this reason, from 0 on */
} mw_dump_moment_t;
size_t mw_dump_expand(const char *pattern, const mw_dump_moment_t *moment, char *buffer,
		      size_t capacity);

#endif
