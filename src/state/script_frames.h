/* SPDX-License-Identifier: MIT
 * script_frames.h -- functions of interpreted languages in the state file.
 * Layer: state. Part of layout.h. A frame of a script stands in a stack behind (further out than)
 * the native frame of the interpreter's loop that ran it. Its frame word has MW_FRAME_EXACT, and as
 * its module an entry of MW_SECTION_MODULES whose path is the name of a script_kinds.def row. The
 * frame's address is the number of an entry of MW_SECTION_FUNCTIONS and a line of its file. */
#ifndef MW_STATE_SCRIPT_FRAMES_H
#define MW_STATE_SCRIPT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum mw_script_kind {
#define MW_SCRIPT_KIND(name, module) MW_SCRIPT_##name,
#include "state/script_kinds.def"
#undef MW_SCRIPT_KIND
	MW_SCRIPT_KINDS
} mw_script_kind_t;

/* Bits 47..22 of a frame's address: number of the function. Bits 21..0: the line; 0: not known. */
#define MW_SCRIPT_LINE_BITS 22u
#define MW_SCRIPT_LINE_MAX ((UINT32_C(1) << MW_SCRIPT_LINE_BITS) - 1)
#define MW_SCRIPT_FUNCTION_MAX ((UINT32_C(1) << 26) - 1)

/* Start and bias of the pseudo-module with this index: above all addresses of code, so that a
 * frame's address plus the bias is in no other module. The limit is the start of index + 1. */
#define MW_SCRIPT_MODULE_SHIFT 48
static inline uint64_t mw_script_module_start(uint64_t index) {
	return (index + 1) << MW_SCRIPT_MODULE_SHIFT;
}
static inline bool mw_script_is_module(uint64_t start) {
	return start >> MW_SCRIPT_MODULE_SHIFT != 0;
}

/* A function, each once. */
typedef struct mw_state_function {
	uint64_t hash;       /* of kind, file, name and first line */
	uint32_t name, file; /* entries of MW_SECTION_TEXTS; 0: not known */
	uint32_t first_line; /* 0: not known */
	uint32_t kind;       /* mw_script_kind_t */
	uint64_t reserved;   /* padding: the size of an entry divides a page */
} mw_state_function_t;

/* A text, each once, in neighbouring entries of MW_SECTION_TEXTS: a hash, the number of bytes, the
 * bytes in UTF-8, without a NUL. */
#define MW_TEXT_HEAD_ENTRIES 2u
#define MW_TEXT_BYTES_MAX 1024u

_Static_assert(sizeof(mw_state_function_t) == 32, "file format");

#endif
