/* SPDX-License-Identifier: MIT
 * program.h -- can the loader put libmallow.so into this program?
 * Layer: live. */
#ifndef MW_LIVE_PROGRAM_H
#define MW_LIVE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* The file execvp(3) would run for `name`; false: none. */
bool mw_program_find(const char *name, char *path, size_t size);

/* Why the file at `path` never loads what LD_PRELOAD names ("it is statically linked"), or NULL
 * when nothing about it says so.  Scripts are followed to their interpreter. */
const char *mw_program_refuses_preload(const char *path);

#endif
