/* SPDX-License-Identifier: MIT
 * names.h -- fits names and source places into table columns.
 * Layer: report/text.  Private to this folder. */
#ifndef MW_TOOL_REPORT_TEXT_NAMES_H
#define MW_TOOL_REPORT_TEXT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the columns of UTF-8 text, one for each character. */
size_t mw_text_width(const char *text);
/* Returns the bytes of the first `width` columns. */
size_t mw_text_prefix(const char *text, size_t width);

/* Keeps names whole from now on, for the whole run: the functions below that shorten names copy
 * them. */
void mw_names_keep_whole(bool whole);

/* Writes a name without template arguments and tags: "map<string, int>::find[abi:cxx11]" becomes
 * "map<...>::find", with one character for the dots.  A lambda among the arguments stays; so do
 * operator< and Rust's leading <T as Trait>. The page has the same function (web/src/trees.js). */
void mw_name_without_arguments(const char *name, char *buffer, size_t size);

/* Writes a name for a text that has no width, such as a file: template arguments of names above 80
 * columns are removed. */
void mw_short_name(const char *name, char *buffer, size_t size);

/* Writes `name` in at most `width` columns: template arguments are removed first, then the
 * middle. */
void mw_fit_name(const char *name, size_t width, char *buffer, size_t size);

/* Writes a name without template arguments and parameters:
 * "std::vector<int>::at(unsigned long)" becomes "std::vector::at"; so are tags.  "(anonymous
 * namespace)", names of operators, and Rust's "<T as Trait>::f" stay. */
void mw_bare_name(const char *name, char *buffer, size_t size);

/* Numbers that a table has room for beside its names. */
typedef enum mw_room {
	MW_ROOM_ALL,
	MW_ROOM_TWO, /* flat and cum */
	MW_ROOM_ONE, /* the value that the rows are sorted by */
} mw_room_t;

/* Returns the room on a terminal of `columns` columns; 0 = no terminal. */
mw_room_t mw_room_of(int columns);

#endif
