/* SPDX-License-Identifier: MIT
 * mallow.h -- controls mallow's heap profiler from inside the program.
 *
 * Link with -lmallow (pkg-config --cflags --libs mallow).  A program that also has to run without
 * mallow defines MALLOW_WEAK before the #include and compares each function with NULL before it
 * calls it: the functions are there when libmallow.so is preloaded.  Reference: mallow(3).
 *
 * Errors: a function that returns int returns 0, or a number of <errno.h>; errno is not changed.
 * Threads: all functions may be called by any thread at any time.
 * Signal handlers: they may call mallow_dump(), mallow_dump_to() and mallow_status() after the
 * first sample.  These functions take no lock and allocate nothing.
 * Ownership: strings and structures stay the caller's; none is kept after the call. */
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

/* The version of the library that runs, such as "0.1.0".  The string is constant. */
MALLOW_API const char *mallow_version(void);

/* Turn sampling on and off, as `mallow start` and `mallow stop` do: at once for the calling thread,
 * for the other threads at their next slow path of malloc.  EPERM: the program is set-uid.  ENOMEM:
 * the kernel refused memory for the profile's tables. */
MALLOW_API int mallow_start(void);
MALLOW_API int mallow_stop(void);
/* Sets all counters to zero.  Blocks that are live now no longer count, and neither do their
 * frees. */
MALLOW_API int mallow_reset(void);
/* Changes an option while the program runs: prof_active, prof_sample, dump_name, and the options
 * that `mallow set --help` lists.  `value` is written as in MALLOC_CONF ("true", "64K", "12").
 * ENOENT: there is no such option, or it cannot change while the program runs.  EINVAL: the value
 * is out of range or malformed. */
MALLOW_API int mallow_set(const char *option, const char *value);

/* Writes the profile into a new file.  The format is profile.proto, or jemalloc's heap_v2 when
 * `path` ends in .heap; with .gz appended to the name the file is in gzip format, not compressed.
 * `path` == NULL: the option dump_name gives the name, and dump_keep limits the number of files.
 * An existing file is never replaced: ".1" or another number is appended to the name.
 * EBUSY: another dump was still being written after five seconds. */
MALLOW_API int mallow_dump(const char *path);

typedef enum mallow_format {
	MALLOW_PROTO = 0,   /* profile.proto, not compressed */
	MALLOW_HEAP_V2 = 1, /* jemalloc's text */
} mallow_format_t;

/* Receives `length` bytes of the profile, which are valid during the call, and the caller's
 * `context`.  Returns 0 to go on.  May allocate. */
typedef int (*mallow_write_t)(void *context, const void *bytes, size_t length);
/* Passes the profile to `write`, piece by piece, in order, in the calling thread.  EIO: `write`
 * returned another value than 0.  EINVAL: no `write`, or no such format.  EBUSY: as mallow_dump().
 */
MALLOW_API int mallow_dump_to(mallow_format_t format, mallow_write_t write, void *context);

/* The profile's totals at the time of the call.  Bytes and objects are unbiased estimates made
 * from samples; in exact mode (prof_sample:1) they are exact.  Later versions append fields. */
typedef struct {
	size_t size;         /* set by the caller to sizeof(mallow_status_t) before the call */
	uint64_t active;     /* 1: sampling is on; 0: off */
	uint64_t mean_bytes; /* mean number of bytes between two samples */
	uint64_t samples;    /* samples since the start or the last reset */
	int64_t live_bytes;  /* usable bytes of live blocks */
	int64_t live_objects;
	int64_t allocated_bytes; /* usable bytes since the start or the last reset */
	int64_t allocated_objects;
	uint64_t dumps_written, dumps_failed; /* files, since the start */
} mallow_status_t;
/* Fills `status`.  EINVAL: `size` is smaller than any version of the structure. */
MALLOW_API int mallow_status(mallow_status_t *status);

/* Sets the calling thread's name, for the kernel and in profiles.  Cut to 15 bytes. */
MALLOW_API int mallow_thread_name(const char *name);

/* The calling thread's allocations between begin and end are not recorded, nor counted in the
 * totals.  Pairs may be nested.  For a program's own diagnostics, and for tests. */
MALLOW_API void mallow_ignore_begin(void);
MALLOW_API void mallow_ignore_end(void);

/* Result of mallow_leak_check(). Bytes are usable bytes. Later versions append fields. */
typedef struct {
	size_t size;          /* set by the caller to sizeof(mallow_leaks_t) before the call */
	uint64_t live_blocks; /* all blocks that were allocated and not freed */
	uint64_t live_bytes;
	uint64_t direct_blocks; /* leaked: no pointer leads to them */
	uint64_t direct_bytes;
	uint64_t indirect_blocks; /* leaked: only pointers in leaked blocks lead to them */
	uint64_t indirect_bytes;
	uint64_t root_bytes;   /* read: registers, stacks, data, other private mappings */
	uint64_t block_bytes;  /* read: blocks */
	uint64_t unread_bytes; /* roots that could not be read; leaks may be wrong if not 0 */
	uint64_t pause_ns;     /* for how long the other threads were stopped */
	uint64_t scan_ns;      /* time of the search, in a copy of the process */
	uint64_t threads;
	uint64_t running_threads; /* that block every signal: their registers were not read */
} mallow_leaks_t;
/* Finds blocks that the program can no longer reach, and fills `leaks`. A block counts as reachable
 * if a word in a register, a stack, thread-local storage, writable data or another private mapping,
 * or in a reachable block, is an address inside the block. The other threads stop for a moment;
 * calls such as poll(2) and nanosleep(2) may return EINTR in them. The search runs in a copy of the
 * process (clone(2)), for which the caller waits. Not for signal handlers.
 * EINVAL: `size` is smaller than any version of the structure. ENOMEM: no memory, or the copy was
 * ended. ENOSYS: no /proc, or the program forbids system calls. EAGAIN: the program handles every
 * real-time signal. EBUSY: another check runs, or the thread is inside malloc. */
MALLOW_API int mallow_leak_check(mallow_leaks_t *leaks);

/* Exempts a block from leak checks, or with on == 0 not any more: it does not count as leaked, nor
 * do the blocks that it leads to. Freeing the block ends the exemption. ENOENT: the address is not
 * in a block, or the block is not recorded; with prof_sample:1 every block is. */
MALLOW_API int mallow_leak_ignore(const void *block, int on);
/* Exempts the recorded blocks that the calling thread allocates between begin and end. Pairs may be
 * nested. */
MALLOW_API void mallow_leak_ignore_begin(void);
MALLOW_API void mallow_leak_ignore_end(void);

#ifdef __cplusplus
}
#endif

#endif
