/* SPDX-License-Identifier: MIT
 * worker.h -- the process that reads ELF and DWARF, and what it says to its parent.
 * Layer: tools/symbol.  Private to this folder.
 *
 * Debug information is the largest and least trustworthy input there is, so it is read in a forked
 * process of limited memory: whatever it does to that one, the command goes on with what was found
 * until then.  The worker writes messages to a pipe: a mw_message_t and `length` bytes after it. */
#ifndef MW_TOOL_SYMBOL_WORKER_H
#define MW_TOOL_SYMBOL_WORKER_H

#include <stdint.h>

#include "model/profile.h"
#include "symbol/symbolize.h"

typedef enum mw_message_kind {
	MW_MESSAGE_BEGIN = 1, /* number = mapping: it is being read */
	MW_MESSAGE_NOTE,      /* text: the mapping cannot be used */
	MW_MESSAGE_OPENED,    /* number = mapping, value = bias, detail = has debug information */
	MW_MESSAGE_FUNCTION,  /* number = function, of the mapping; once, before its first frame.
			       * text: name NUL system name NUL file NUL */
	MW_MESSAGE_FRAME,     /* number = location, detail = function, value = line.  Innermost
			       * function first, all of a location in a row */
	MW_MESSAGE_END,       /* number = mapping: all its locations were tried */
	MW_MESSAGE_OF,        /* number = mapping; those up to the next of this kind are its own */
} mw_message_kind_t;

typedef struct mw_message {
	uint32_t kind;
	uint32_t number;
	uint64_t value;
	uint32_t detail;
	uint32_t length; /* of the text, <= MW_MESSAGE_TEXT_MAX */
} mw_message_t;

/* Three names; longer ones are cut. */
#define MW_MESSAGE_TEXT_MAX (3u * 16384)

/* Locations of one mapping that want names. */
typedef struct mw_symbol_job {
	uint32_t mapping;
	uint32_t *locations;
	size_t count, capacity;
	bool done;
	bool is_begun;       /* and not done: if the worker dies, perhaps of this one */
	uint32_t *functions; /* in the profile, of the worker's numbers */
	size_t function_capacity;
} mw_symbol_job_t;

/* Runs in the forked process: works off the jobs that are not done, and ends the process.
 * `is_alone`: one after the other, so that it is known of which it died. */
_Noreturn void mw_symbol_worker(const mw_profile_t *profile, const mw_symbol_job_t *jobs,
				size_t job_count, const mw_symbolize_options_t *options,
				bool is_alone, int pipe_fd);

#endif
