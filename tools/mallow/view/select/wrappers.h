/* SPDX-License-Identifier: MIT
 * wrappers.h -- functions that allocate for their callers: allocation wrappers such as xmalloc(),
 * and functions of language libraries such as std::vector::push_back().
 * Layer: view/select.
 * A function at the inner end of a stack is a wrapper if
 * - a row of wrappers.def names it, or
 * - it has "alloc" in its name and behaves like one: at least three other functions allocate
 *   through it, and it never calls anything that allocates besides wrappers.
 * Functions of libraries count as wrappers up to the program's first own function.  In a stack
 * without an own function they do not. */
#ifndef MW_TOOL_VIEW_SELECT_WRAPPERS_H
#define MW_TOOL_VIEW_SELECT_WRAPPERS_H

#include "model/profile.h"
#include "view/select/pattern.h"

/* Which functions count as wrappers. */
typedef enum mw_wrapper_kinds {
	MW_WRAPPERS_OF_MALLOC, /* allocation wrappers */
	MW_WRAPPERS_ALL,       /* functions of language libraries, too */
} mw_wrapper_kinds_t;

/* A frame of a stack. */
typedef struct mw_frame_position {
	uint32_t frame; /* index of the location in the stack */
	uint32_t line;  /* index of the line in the location; inner lines come first */
} mw_frame_position_t;

/* Knows the wrappers among the functions of a profile.  Stacks are numbers of locations of that
 * profile, the function that allocated first.  The profile may get locations and functions while
 * it is in use. */
typedef struct mw_wrappers mw_wrappers_t;

mw_wrappers_t *mw_wrappers_new(mw_profile_t *profile, mw_wrapper_kinds_t kinds);
void mw_wrappers_free(mw_wrappers_t *wrappers);
/* Learns from a stack which functions behave like wrappers. */
void mw_wrappers_learn(mw_wrappers_t *wrappers, const uint32_t *locations, uint32_t depth);
/* Returns the first frame that is no wrapper; of a stack of wrappers only, the outermost. */
mw_frame_position_t mw_wrappers_skip(mw_wrappers_t *wrappers, const uint32_t *locations,
				     uint32_t depth);

/* Whose code a frame is. */
typedef enum mw_frame_kind {
	MW_FRAME_OWN,    /* the program's, or not known */
	MW_FRAME_HOLDER, /* a library's, into which the program's own code may be inlined: MW_OWN */
	MW_FRAME_START,  /* what calls the program or its threads, in a static program: MW_START */
	MW_FRAME_LIBRARY,
} mw_frame_kind_t;

/* Returns the kind of a line of a location, by wrappers.def alone.  With MW_WRAPPERS_OF_MALLOC
 * every frame is the program's. */
mw_frame_kind_t mw_wrappers_kind(mw_wrappers_t *wrappers, uint32_t location, uint32_t line);

/* Removes the wrappers at the inner end of each stack, so that the flat value goes to the
 * function that wanted the memory.  A stack of wrappers only keeps its outermost frame.  `kept`:
 * functions whose names match are no wrappers; NULL = none.  Returns how many samples were
 * changed.  CPU time belongs to the function that used it: such samples are not changed. */
size_t mw_wrappers_cut(mw_profile_t *profile, mw_wrapper_kinds_t kinds, const mw_pattern_t *kept);

/* Removes interpreters' own frames from the stacks that have functions of scripts: frames in files
 * that wrappers.def names, generated code without a file, and what called the interpreter.  Frames
 * of extensions stay.  `kept`: functions whose names match stay, too; NULL = none. */
void mw_interpreters_fold(mw_profile_t *profile, const mw_pattern_t *kept);

/* Adds file and first line to the names of scripts' functions, "main app.py:7": functions of
 * different files have one name more often than in other languages. */
void mw_script_places_add(mw_profile_t *profile);

#endif
