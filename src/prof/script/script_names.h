/* SPDX-License-Identifier: MIT
 * script_names.h -- functions and texts of the state file, each once, and frames by code object and
 * position.
 * Layer: prof/script. Private to this folder. Lock-free, async-signal-safe. */
#ifndef MW_PROF_SCRIPT_NAMES_H
#define MW_PROF_SCRIPT_NAMES_H

#include "prof/script/reader/script_reader.h"

typedef struct mw_script_names {
	const mw_script_reader_t *reader;
	uint64_t module; /* of the frames, in its place in a frame */
	mw_script_kind_t kind;
} mw_script_names_t;

/* Called once, when a reader is started. */
void mw_script_names_start(void);
/* Returns the frame (state/script_frames.h) of a script frame that the walk has just returned. */
uint64_t mw_script_frame_word(const mw_script_names_t *names, mw_script_walk_t *walk,
			      const mw_script_frame_t *frame);
MW_COLD void mw_script_names_visit(void (*see)(uintptr_t start, uintptr_t limit));

#endif
