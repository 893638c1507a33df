/* SPDX-License-Identifier: MIT
 * program.h -- tells whether the loader can preload libmallow.so into a program.
 * Layer: live/files. */
#ifndef MW_TOOL_LIVE_FILES_PROGRAM_H
#define MW_TOOL_LIVE_FILES_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the file that execvp(3) would run for `name`.  False: there is none. */
bool mw_program_find(const char *name, char *path, size_t size);

/* Returns why the file at `path` never loads the libraries of LD_PRELOAD, and after a semicolon
 * what to do instead ("it is statically linked; link it with libmallow.a"). NULL: no reason was
 * found in five seconds, or the file has mallow by itself. For a script its interpreter is
 * examined. */
const char *mw_program_refuses_preload(const char *path);

#endif
