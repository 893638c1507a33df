/* SPDX-License-Identifier: MIT
 * writer.h -- writes a dump to a file or a caller's function, through a buffer, plain or as
 * gzip.
 * Layer: prof/dump. One thread at a time; no malloc, no stdio, no lock: async-signal-safe as far as
 * the caller's function is. gzip output is not compressed (stored blocks): it is for readers that
 * select the format by the file name. After the first failure, which is kept, all output is
 * dropped. */
#ifndef MW_PROF_DUMP_WRITER_H
#define MW_PROF_DUMP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

/* Largest stored block of deflate. */
#define MW_WRITER_BUFFER_BYTES 65535u

/* Receives `length` bytes. Returns false on failure, after which it is not called again. */
typedef bool (*mw_writer_write_t)(void *context, const void *bytes, size_t length);

typedef struct mw_writer {
	/* Set by the caller; all other fields are zero. */
	int file;                /* descriptor, if `write` is NULL */
	mw_writer_write_t write; /* or NULL */
	void *context;
	bool gzip;

	mw_result_t result;
	uint64_t plain_bytes; /* bytes before gzip */
	uint64_t limit_bytes; /* RLIMIT_FSIZE: a write beyond it would raise SIGXFSZ */
	uint64_t file_bytes;
	uint32_t crc;
	size_t length;
	unsigned char buffer[MW_WRITER_BUFFER_BYTES];
} mw_writer_t;

/* Starts output. The caller has set its fields and zeroed the others. */
void mw_writer_start(mw_writer_t *out);
void mw_writer_put(mw_writer_t *out, const void *bytes, size_t length);
/* Writes formatted text as mw_fmt() does, up to 1 KiB. */
void mw_writer_print(mw_writer_t *out, const char *format, ...) MW_PRINTF(2, 3);
/* Writes the rest of the buffer. Returns the first failure, or MW_OK. */
mw_result_t mw_writer_finish(mw_writer_t *out);

#endif
