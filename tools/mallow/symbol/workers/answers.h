/* SPDX-License-Identifier: MIT
 * answers.h -- puts one worker's answers into the profile.
 * Layer: symbol/workers.  Private to this folder.  A hostile file may have taken over the worker
 * that reads it.  The profile stays valid whatever the worker sends. */
#ifndef MW_TOOL_SYMBOL_WORKERS_ANSWERS_H
#define MW_TOOL_SYMBOL_WORKERS_ANSWERS_H

#include "symbol/elf/elf_object.h"
#include "symbol/workers/worker.h"

/* State of one call of mw_symbolize(). */
typedef struct mw_session {
	mw_profile_t *profile;
	const mw_symbolize_options_t *options;
	mw_symbol_job_t *jobs;
	size_t job_count;
	/* job_of_mapping[i]: 1 + index of the job of mapping i; 0 = none. */
	uint32_t *job_of_mapping;
	size_t done_count; /* number of jobs that are done or given up */
	size_t note_count; /* number of files that could not be used */
} mw_session_t;

/* State of one worker.  All fields but the first three are zero before its first message. */
typedef struct mw_answers {
	mw_session_t *session;
	int fd; /* read end of the worker's pipe */
	const mw_symbol_job_t *helped;
	mw_symbol_job_t *current; /* job that the worker is doing; NULL = none */
	bool is_done;             /* the worker has sent its last message */
	/* Number of locations that other workers may help with; the reader sets it to 0. */
	size_t wants_help;

	uint32_t *functions; /* functions[i]: number in the profile of the worker's function i */
	size_t function_capacity;
	uint32_t location; /* location whose frames are being collected; 0 = none */
	mw_line_t lines[MW_OBJECT_INLINE_MAX];
	size_t line_count;
	char buffer[64 << 10];
	size_t used;
} mw_answers_t;

/* Most files that notes name as unusable.  The others are counted. */
#define MW_NOTES_MAX 3

void mw_session_end_job(mw_session_t *session, mw_symbol_job_t *job);

/* Reads and takes the available messages.  Returns 1, or 0 at the end, or -1 if a message is
 * invalid. */
int mw_answers_take(mw_answers_t *answers);
void mw_answers_release(mw_answers_t *answers);

#endif
