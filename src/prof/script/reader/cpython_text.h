/* SPDX-License-Identifier: MIT
 * cpython_text.h -- strings and lines of CPython's code objects.
 * Layer: prof/script/reader. Private to this folder. */
#ifndef MW_PROF_SCRIPT_CPYTHON_TEXT_H
#define MW_PROF_SCRIPT_CPYTHON_TEXT_H

#include "prof/script/reader/cpython_layout.h"
#include "prof/script/reader/script_reader.h"

/* Reads a string object whose head was found readable. Leaves `text` empty if it has another form
 * than the strings that the compiler makes. A long text is cut. */
void mw_cpython_read_text(mw_script_memory_t *memory, const mw_cpython_layout_t *layout,
			  uintptr_t string, mw_script_text_t *text);
/* Returns the line of a position; 0: the code there has none, or the table cannot be read. `table`:
 * a byte string. `position`: in bytes (MW_CPYTHON_BYTES) or in units of two bytes. */
uint32_t mw_cpython_line(mw_script_memory_t *memory, const mw_cpython_layout_t *layout,
			 uintptr_t table, uint32_t first_line, int64_t position);

#endif
