/* SPDX-License-Identifier: MIT
 * cpython_layout.h -- where a version of CPython keeps what the reader reads: offsets in bytes.
 * Layer: prof/script/reader. Private to this folder. */
#ifndef MW_PROF_SCRIPT_CPYTHON_LAYOUT_H
#define MW_PROF_SCRIPT_CPYTHON_LAYOUT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* How a frame says where it is in its code. */
typedef enum mw_cpython_position {
	MW_CPYTHON_BYTES,   /* an int: offset of the last instruction in bytes */
	MW_CPYTHON_UNITS,   /* an int: in units of two bytes */
	MW_CPYTHON_POINTER, /* the address of an instruction in the code object */
} mw_cpython_position_t;

/* How a code object says which lines it has. */
typedef enum mw_cpython_lines {
	MW_CPYTHON_LNOTAB,    /* up to 3.9 */
	MW_CPYTHON_LINETABLE, /* 3.10 */
	MW_CPYTHON_LOCATIONS, /* from 3.11 */
} mw_cpython_lines_t;

/* How the run of the loop that has a frame is found. */
typedef enum mw_cpython_runs {
	MW_CPYTHON_EACH,   /* each frame has its own */
	MW_CPYTHON_CFRAME, /* 3.11: frames marked is_entry, and records on the C stack */
	MW_CPYTHON_OWNER,  /* entry frames on the C stack */
} mw_cpython_runs_t;

/* Fields of 8 bytes if no other size is named. */
typedef struct mw_cpython_layout {
	uint16_t version; /* 0x30b: 3.11 */
	uint8_t position, lines, runs;
	/* Thread state: the innermost frame, or if has_cframe the record that leads to it. */
	uint8_t has_cframe;
	uint16_t state_frame;
	uint16_t cframe_frame, cframe_previous;
	/* Frame. entry: one byte; is_entry, or the owner, which is entry_least or more. */
	uint16_t frame_code, frame_previous, frame_position, frame_entry;
	uint8_t entry_least;
	/* Code object. first_line, argument_count: 4 bytes. code: the first instruction. */
	uint16_t file, name, qualified_name, first_line, argument_count, table, code;
	uint16_t ascii; /* string: its first byte, if it has ASCII only */
	uint16_t wide;  /* string: its first character, if it has others */
} mw_cpython_layout_t;

/* Strings and byte strings, in all versions. */
enum {
	MW_CPYTHON_TYPE = 8,
	MW_CPYTHON_LENGTH = 16,
	MW_CPYTHON_HASH = 24,
	MW_CPYTHON_STATE = 32, /* 4 bytes */
	MW_CPYTHON_STRING_BYTES = 40,
	MW_CPYTHON_BYTES_DATA = 32,
};

/* Finds the layout of the version in the object. Returns false for versions that are not known, and
 * for builds without the global lock. */
bool mw_cpython_find_layout(const struct link_map *object, mw_cpython_layout_t *layout);

#endif
