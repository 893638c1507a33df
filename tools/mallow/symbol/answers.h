/* SPDX-License-Identifier: MIT
 * answers.h -- what one worker says, put into the profile.
 * Layer: tools/symbol.  Private to this folder.  A worker may have been taken over by the file it
 * reads: whatever it says, the profile stays a sound one. */
#ifndef MW_TOOL_SYMBOL_ANSWERS_H
#define MW_TOOL_SYMBOL_ANSWERS_H

#include "symbol/object.h"
#include "symbol/worker.h"

/* All of a call of mw_symbolize(). */
typedef struct mw_session {
	mw_profile_t *profile;
	const mw_symbolize_options_t *options;
	mw_symbol_job_t *jobs;
	size_t job_count;
	uint32_t *job_of_mapping; /* index + 1 */
} mw_session_t;

/* Of one worker.  Zeroed, but for the first three, before it says anything. */
typedef struct mw_answers {
	const mw_session_t *session;
	int fd; /* of the pipe */
	const mw_symbol_job_t *helped;
	mw_symbol_job_t *current; /* what it is at; NULL: nothing */
	bool is_done;             /* has said all it has to say */
	size_t wants_help;        /* locations that others may take part in; to be set to 0 then */

	uint32_t *functions; /* in the profile, of the worker's numbers */
	size_t function_capacity;
	uint32_t location; /* whose frames are being collected; 0: none */
	mw_line_t lines[MW_OBJECT_INLINE_MAX];
	size_t line_count;
	char buffer[64 << 10];
	size_t used;
} mw_answers_t;

/* Takes what there is to read: 1, 0 at the end, -1 if it says what no worker would. */
int mw_answers_take(mw_answers_t *answers);
void mw_answers_release(mw_answers_t *answers);

#endif
