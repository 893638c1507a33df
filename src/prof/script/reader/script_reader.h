/* SPDX-License-Identifier: MIT
 * script_reader.h -- what a reader of an interpreter's frames does.
 * Layer: prof/script/reader, the door of this folder. For prof/script. */
#ifndef MW_PROF_SCRIPT_READER_H
#define MW_PROF_SCRIPT_READER_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/platform/loaded_symbol.h"
#include "prof/script/reader/script_memory.h"
#include "prof/script/reader/script_text.h"
#include "state/layout.h"

/* Most frames of a chain; of a longer one the outermost frames are missing. */
#define MW_SCRIPT_FRAMES_MAX MW_STATE_DEPTH_MAX

/* A walk along the frames of the calling thread, innermost first. */
typedef struct mw_script_walk {
	mw_script_memory_t memory;
	uintptr_t next;  /* the reader's: the frame that comes next; 0: none */
	uintptr_t outer; /* the reader's: the record that the next frame belongs to */
	uintptr_t place; /* the reader's: the place in the script where the next frame is */
	unsigned left;   /* links of the chain that may still be followed */
	bool is_broken;  /* the chain could not be followed to its end */
} mw_script_walk_t;

typedef struct mw_script_frame {
	uintptr_t code;    /* address of the function's code object */
	int64_t position;  /* in the code, in the reader's unit, or the place in the script */
	uint64_t identity; /* hash by which the code object differs from others at its address */
	/* The frame is the outermost one that a run of the interpreter's loop has. */
	bool ends_run;
	/* Address inside of the native frame of that run; 0: the runs are those of the frames whose
	 * PC lies in the loop's code. */
	uintptr_t anchor;
} mw_script_frame_t;

/* The caller asks a reader for one of these texts of a frame's code. */
typedef enum mw_script_question { MW_SCRIPT_NAME, MW_SCRIPT_FILE } mw_script_question_t;

typedef struct mw_script_reader {
	const char *symbol; /* an object that defines it is the interpreter */
	/* Code of the loop, for frames without an anchor: each such frame has a run of its own. */
	const mw_os_symbol_t *loop;
	/* Prepares the reader for the object. Returns false if the version cannot be read. */
	bool (*start)(const struct link_map *object);
	/* Finds the calling thread's innermost frame. The walk's memory and `left` are set. */
	void (*begin)(mw_script_walk_t *walk);
	/* Reads the next frame. Returns false at the end, and if the chain is broken. */
	bool (*next)(mw_script_walk_t *walk, mw_script_frame_t *frame);
	/* The following three read the code of a frame that next() has just returned. */
	void (*text)(mw_script_walk_t *walk, const mw_script_frame_t *frame,
		     mw_script_question_t question, mw_script_text_t *text);
	uint32_t (*first_line)(mw_script_walk_t *walk, const mw_script_frame_t *frame);
	/* Returns the current line; 0: not known. */
	uint32_t (*line)(mw_script_walk_t *walk, const mw_script_frame_t *frame);
} mw_script_reader_t;

extern const mw_script_reader_t mw_cpython_reader, mw_perl_reader, mw_php_reader, mw_ruby_reader;

/* Mixes two words into one: each bit of both reaches all of the result. */
static inline uint64_t mw_script_mix(uint64_t a, uint64_t b) {
	/* Odd constants with irregular bits, of the fractions of square roots. */
	unsigned __int128 product =
		(unsigned __int128)(a ^ 0xbb67ae8584caa73bu) * (b ^ 0x3c6ef372fe94f82bu);
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
