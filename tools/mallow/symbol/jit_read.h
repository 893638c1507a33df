/* SPDX-License-Identifier: MIT
 * jit_read.h -- reads the two kinds of files in which compilers list the code that they generate:
 * the map for perf(1), with a line for each function, and the jitdump, with a record for each.
 * Layer: symbol.  The content counts as hostile: every number and name is bounded, and a file that
 * breaks the format ends there. */
#ifndef MW_TOOL_SYMBOL_JIT_READ_H
#define MW_TOOL_SYMBOL_JIT_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Room for a name: that of a function and perhaps the path of its source. The rest is cut. */
#define MW_JIT_NAME_BYTES 1024

typedef struct mw_jit_reader {
	FILE *file;
	bool is_dump;
	uint32_t pid; /* of the process, as a jitdump has it; 0: not told */
} mw_jit_reader_t;

/* A piece of code. */
typedef struct mw_jit_code {
	uint64_t start, bytes;
	off_t at; /* for mw_jit_read_name() */
} mw_jit_code_t;

/* Recognises the kind of an open file, which remains the caller's.  False: a jitdump of another
 * kind of machine, or of another version. */
bool mw_jit_reader_open(mw_jit_reader_t *reader, FILE *file);
/* Reads on to the next piece of code, in the order of the file.  False: the file ends. */
bool mw_jit_read(mw_jit_reader_t *reader, mw_jit_code_t *out);
/* Reads the name of a piece of code, safe to print.  False: it has none. Changes the place from
 * which mw_jit_read() reads. */
bool mw_jit_read_name(mw_jit_reader_t *reader, off_t at, char name[MW_JIT_NAME_BYTES]);

#endif
