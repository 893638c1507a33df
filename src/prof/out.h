/* SPDX-License-Identifier: MIT
 * out.h -- where a dump goes: a file or a caller's function, through a buffer, plain or as gzip.
 * Layer: prof.  One thread at a time; no malloc, no stdio, no lock: async-signal-safe as far as the
 * caller's function is.  gzip is written without compression (stored blocks): it is for readers
 * that go by the name.  The first failure is kept, what comes after it is dropped. */
#ifndef MW_PROF_OUT_H
#define MW_PROF_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

/* A stored block of deflate holds no more. */
#define MW_OUT_BUFFER_BYTES 65535u

/* Takes `length` bytes; false: it could not, and is not called again. */
typedef bool (*mw_out_write_t)(void *context, const void *bytes, size_t length);

typedef struct mw_out {
	/* Set by the caller; the rest is zero. */
	int file;             /* when `write` is NULL */
	mw_out_write_t write; /* or NULL */
	void *context;
	bool gzip;

	mw_result_t result;
	uint64_t plain_bytes; /* given so far */
	uint64_t limit_bytes; /* RLIMIT_FSIZE: beyond it lies SIGXFSZ */
	uint64_t file_bytes;
	uint32_t crc;
	size_t length;
	unsigned char buffer[MW_OUT_BUFFER_BYTES];
} mw_out_t;

/* After the caller's fields are set, in memory that was zero. */
void mw_out_start(mw_out_t *out);
void mw_out_put(mw_out_t *out, const void *bytes, size_t length);
/* As mw_fmt(); up to 1 KiB. */
void mw_out_print(mw_out_t *out, const char *format, ...) MW_PRINTF(2, 3);
/* Sends what is left; the first failure, or MW_OK. */
mw_result_t mw_out_finish(mw_out_t *out);

#endif
