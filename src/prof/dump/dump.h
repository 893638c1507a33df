/* SPDX-License-Identifier: MIT
 * dump.h -- writes the profile into files from inside the process.
 * Layer: prof/dump, the door of this folder. No malloc, no stdio, no waiting for locks;
 * async-signal-safe; errno is kept. One dump at a time: another caller gets MW_DUMP_BUSY. A file
 * gets its name when it is complete, and never replaces a file.
 *
 * Reading order: writer (output to a file or a function), dump_view (reads the tables), dump_proto
 * and dump_text (the formats), dump_threads, dump_name (patterns), crash (reports on a fatal
 * signal), pc_name (names of PCs). */
#ifndef MW_PROF_DUMP_DUMP_H
#define MW_PROF_DUMP_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "os/lock/lock.h"
#include "prof/dump/writer.h"
#include "state/layout.h"

typedef enum mw_dump_format {
	MW_DUMP_PROTO,   /* profile.proto */
	MW_DUMP_HEAP_V2, /* jemalloc's text format */
} mw_dump_format_t;

/* Another dump is being written, or the tables are being copied: try again later. */
#define MW_DUMP_BUSY 1

/* Sets the pattern of dump names (option dump_name); the text is copied. %p pid, %i number of the
 * pid namespace, %h host, %e program, %n number of the dump, %t local time with milliseconds, %r
 * reason, %u bytes in use, %s and %j jemalloc's numbers (of the dump from 0 on; f, i0, m0 or u0 for
 * its reason), %P the prefix, %% a percent sign. A name that ends in .heap or .txt selects heap_v2,
 * any other profile.proto; .gz adds gzip. */
void mw_dump_set_name(const char *pattern);
/* Sets the text of %P, which may contain slashes; patterns have no room for a long prefix. The text
 * is not copied and must stay valid. */
void mw_dump_start_prefix(const char *prefix);
/* Changes the prefix; the text is copied and cut at PATH_MAX characters. */
void mw_dump_set_prefix(const char *prefix);
const char *mw_dump_prefix(void);
/* Sets how many of the newest files of this process are kept, besides the one with the most bytes
 * in use; 0: all. Files with names of MW_STATE_DUMP_PATH_BYTES or more are never removed. */
void mw_dump_set_keep(unsigned newest);

/* true: heap_v2 dumps contain live blocks only. */
void mw_dump_leave_out_allocated(bool leave_out);

/* Returns why a file could not be written, as part of a message. */
const char *mw_dump_failure(mw_result_t result);
/* Writes a file, named `path` or, if that is NULL, by the pattern. Returns 0, MW_DUMP_BUSY, or a
 * negative code. Failures are logged, and the first of each kind is printed on stderr. */
int mw_dump_to_file(mw_dump_reason_t reason, const char *path);
/* Passes the profile to `write`, piece by piece. MW_ERR_IO: `write` failed. */
int mw_dump_to_function(mw_dump_format_t format, mw_writer_write_t write, void *context);

/* Returns the lock that is held while a dump is written, for its statistics. */
mw_lock_t *mw_dump_lock(void);

/* Called in the child of a fork: the parent's dumps do not count there. */
void mw_dump_forked(void);

/* Facts from which a dump's name is made. mw_dump_name() ends the name with NUL, truncates it to
 * the buffer, and returns the whole length, as mw_fmt() does. */
typedef struct mw_dump_moment {
	mw_dump_reason_t reason;
	uint64_t number, realtime_ns, live_bytes;
	uint64_t reason_number; /* number of dumps for this reason, from 0 on */
} mw_dump_moment_t;
size_t mw_dump_expand(const char *pattern, const mw_dump_moment_t *moment, char *buffer,
		      size_t capacity);

#endif
