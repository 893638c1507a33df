/* SPDX-License-Identifier: MIT
 * worker.h -- the process that reads ELF and DWARF, and its messages to the parent.
 * Layer: symbol/workers.  Debug information is the largest and least trustworthy input of the
 * command.  A forked process with limited memory reads it.  If the process dies, the command
 * continues with the names found until then.  There may be several workers, each with its own
 * pipe.  A message on the pipe is a mw_message_t and `length` bytes of text. */
#ifndef MW_TOOL_SYMBOL_WORKERS_WORKER_H
#define MW_TOOL_SYMBOL_WORKERS_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"
#include "symbol/elf/elf_object.h"
#include "symbol/files/symbol_options.h"
#include "symbol/workers/job_queue.h"

typedef enum mw_message_kind {
	MW_MESSAGE_BEGIN = 1, /* number = mapping, which is being read from now on */
	MW_MESSAGE_NOTE,      /* text = why the mapping cannot be used */
	/* Number = mapping, value = bias, detail = 1 if it has debug information; text: build-id
	 * NUL identity of the opened file NUL. */
	MW_MESSAGE_OPENED,
	/* Number = function of the current mapping; sent once, before the function's first
	 * frame; text: name NUL system name NUL file NUL. */
	MW_MESSAGE_FUNCTION,
	/* Number = location, detail = function, value = line; all frames of a location follow
	 * each other, innermost function first. */
	MW_MESSAGE_FRAME,
	MW_MESSAGE_END, /* number = mapping: all its locations were tried */
	/* Number = mapping, value = locations that are not cached, so that other workers may
	 * help. */
	MW_MESSAGE_LOOKUP,
	/* Split debug information of the current mapping is missing: the names are not kept for
	 * later runs, which may find it. */
	MW_MESSAGE_INCOMPLETE,
	MW_MESSAGE_DONE, /* the last message */
} mw_message_kind_t;

typedef struct mw_message {
	uint32_t kind;
	uint32_t number;
	uint64_t value;
	uint32_t detail;
	uint32_t length; /* bytes of the text, at most MW_MESSAGE_TEXT_MAX */
} mw_message_t;

/* Room for three names; longer names are cut. */
#define MW_MESSAGE_TEXT_MAX (3u * 16384)

/* Most locations of a small file.  Workers read small files while another worker reads a large
 * one.  Small files are mostly libraries of a large program, and unpacking libc's debug
 * information takes as long as thousands of lookups. */
#define MW_JOB_SMALL_MAX 1000

/* Locations of one mapping that need names. */
typedef struct mw_symbol_job {
	uint32_t mapping;
	uint32_t *locations;
	size_t count, capacity;
	mw_queue_t *queue; /* places that several workers share; NULL = one worker does the job */
	bool is_done;      /* true: done, or given up */
	bool is_whole;     /* true: done, and no worker died of it */
	bool has_debug;    /* true: the file has all of its debug information */
	char build_id[MW_BUILD_ID_BYTES]; /* the file's build-id; "" = the mapping's is used */
	char identity[MW_IDENTITY_BYTES]; /* identity of the opened file; "" = no file was opened */
	bool has_news;                    /* true: some names are not in the cache yet */
} mw_symbol_job_t;

typedef struct mw_worker_input {
	const mw_profile_t *profile;
	const mw_symbol_job_t *jobs;
	size_t job_count;
	const mw_symbolize_options_t *options;
	_Atomic bool *taken; /* taken[i]: a worker has taken job i; shared by all workers */
	/* NULL: the worker does all jobs, large ones first.  Otherwise the worker does the small
	 * jobs, and then helps with this one. */
	const mw_symbol_job_t *helped;
} mw_worker_input_t;

/* Runs in the forked process: does jobs, then ends the process. */
_Noreturn void mw_symbol_worker(const mw_worker_input_t *input, int pipe_fd);

#endif
