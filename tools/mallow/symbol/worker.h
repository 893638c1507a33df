/* SPDX-License-Identifier: MIT
 * worker.h -- the process that reads ELF and DWARF, and what it says to its parent.
 * Layer: tools/symbol.  Private to this folder.
 *
 * Debug information is the largest and least trustworthy input there is, so it is read in a forked
 * process of limited memory: whatever it does to that one, the command goes on with what was found
 * until then.  There may be several, each with a pipe.  A worker writes messages to its pipe: a
 * mw_message_t and `length` bytes after it. */
#ifndef MW_TOOL_SYMBOL_WORKER_H
#define MW_TOOL_SYMBOL_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"
#include "symbol/object.h"
#include "symbol/queue.h"
#include "symbol/symbolize.h"

typedef enum mw_message_kind {
	MW_MESSAGE_BEGIN = 1, /* number = mapping: it is being read */
	MW_MESSAGE_NOTE,      /* text: the mapping cannot be used */
	MW_MESSAGE_OPENED,    /* number = mapping, value = bias, detail = has debug information,
			       * text: build-id of the file, where it was opened */
	MW_MESSAGE_FUNCTION, /* number = function, of what began last; once, before its first frame.
			      * text: name NUL system name NUL file NUL */
	MW_MESSAGE_FRAME,    /* number = location, detail = function, value = line.  Innermost
			      * function first, all of a location in a row */
	MW_MESSAGE_END,      /* number = mapping: all its locations were tried */
	MW_MESSAGE_LOOKUP,   /* number = mapping, value = how many locations are not known yet:
			      * others may take part */
	MW_MESSAGE_DONE,     /* the last one */
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

/* Files with fewer locations are read beside one that takes its time: mostly they are the libraries
 * of a large program, and unpacking libc's debug information takes as long as thousands of
 * look-ups. */
#define MW_JOB_SMALL_MAX 1000

/* Locations of one mapping that want names. */
typedef struct mw_symbol_job {
	uint32_t mapping;
	uint32_t *locations;
	size_t count, capacity;
	mw_queue_t *queue; /* what several workers share; NULL: one does it */
	bool is_done;      /* or given up */
	bool is_whole;     /* and no worker died of it */
	bool has_debug;
	char build_id[MW_BUILD_ID_BYTES]; /* the file's; "": that of the mapping counts */
	bool has_news;                    /* something was not known from earlier runs */
} mw_symbol_job_t;

typedef struct mw_shift {
	const mw_profile_t *profile;
	const mw_symbol_job_t *jobs;
	size_t job_count;
	const mw_symbolize_options_t *options;
	_Atomic bool *taken; /* of each job, shared by all workers of a shift */
	/* NULL: does all jobs, large ones first.  Otherwise takes small ones, and then part in this
	 * one. */
	const mw_symbol_job_t *helped;
} mw_shift_t;

/* Runs in the forked process: works off jobs, and ends the process. */
_Noreturn void mw_symbol_worker(const mw_shift_t *shift, int pipe_fd);

#endif
