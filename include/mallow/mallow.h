/* SPDX-License-Identifier: MIT
 * mallow.h -- the program's own hand on mallow's heap profiler.
 *
 * Link with -lmallow (pkg-config --cflags --libs mallow).  A program that shall also run without
 * mallow, and use it when it is preloaded, defines MALLOW_WEAK before the #include and tests the
 * functions against NULL.  Reference: mallow(3).
 *
 * Functions that return int return 0, or a number of <errno.h>; errno itself is left alone.  All
 * may be called by any thread at any time; in signal handlers only mallow_dump(), mallow_dump_to()
 * and mallow_status(), which take no lock and allocate nothing. */
#ifndef MALLOW_MALLOW_H
#define MALLOW_MALLOW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef MALLOW_WEAK
#define MALLOW_API __attribute__((weak))
#else
#define MALLOW_API __attribute__((visibility("default")))
#endif

/* "0.1.0" */
MALLOW_API const char *mallow_version(void);

/* Sampling on and off, at once for the calling thread and soon for the others, as `mallow start`
 * and `mallow stop`.  EPERM: not in a set-uid program; ENOMEM: the kernel refused the tables. */
MALLOW_API int mallow_start(void);
MALLOW_API int mallow_stop(void);
/* All counters to zero; what is live now does not count any more. */
MALLOW_API int mallow_reset(void);
/* Changes an option in the running program: prof_active, prof_sample, dump_name, and all that
 * `mallow set --help` lists; values as in MALLOW_CONF ("true", "64K", "12").  ENOENT: no such
 * option, or not while the program runs; EINVAL: not in its range. */
MALLOW_API int mallow_set(const char *option, const char *value);

/* Writes the profile to a new file: profile.proto, or jemalloc's heap_v2 if the name ends in .heap,
 * with .gz behind it in the frame of gzip; NULL: named by the option dump_name, and subject to
 * dump_keep.  When `path` is taken, ".1" or another number is put behind it.  EBUSY: another dump
 * took longer than five seconds. */
MALLOW_API int mallow_dump(const char *path);

typedef enum mallow_format {
	MALLOW_PROTO = 0,   /* profile.proto, not compressed */
	MALLOW_HEAP_V2 = 1, /* jemalloc's text */
} mallow_format_t;

/* Takes a piece of the profile; 0 to go on.  It may allocate. */
typedef int (*mallow_write_t)(void *context, const void *bytes, size_t length);
/* Hands the profile to `write`, piece by piece.  EIO: `write` returned something else than 0. */
MALLOW_API int mallow_dump_to(mallow_format_t format, mallow_write_t write, void *context);

/* Estimates as of now.  Later versions append fields: `size` says how far to fill it in. */
typedef struct {
	size_t size;         /* set by the caller: sizeof(mallow_status_t) */
	uint64_t active;     /* 1: sampling is on */
	uint64_t mean_bytes; /* between samples */
	uint64_t samples;    /* taken since the start or the last reset */
	int64_t live_bytes;  /* usable bytes of live blocks */
	int64_t live_objects;
	int64_t allocated_bytes; /* since the start or the last reset */
	int64_t allocated_objects;
	uint64_t dumps_written, dumps_failed;
} mallow_status_t;
MALLOW_API int mallow_status(mallow_status_t *status);

/* Names the calling thread, for the kernel and in profiles; cut to 15 bytes. */
MALLOW_API int mallow_thread_name(const char *name);

/* What the calling thread allocates between the two is left out of the profile, also from the
 * totals. They nest.  For a program's own diagnostics, and for tests. */
MALLOW_API void mallow_ignore_begin(void);
MALLOW_API void mallow_ignore_end(void);

#ifdef __cplusplus
}
#endif

#endif
