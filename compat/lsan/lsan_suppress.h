/* SPDX-License-Identifier: MIT
 * lsan_suppress.h -- suppressions: lines "leak:PATTERN" of a file and of the program's
 * __lsan_default_suppressions().
 * Layer: compat/lsan. One thread at a time. */
#ifndef MW_COMPAT_LSAN_LSAN_SUPPRESS_H
#define MW_COMPAT_LSAN_LSAN_SUPPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mw_lsan_suppression {
	struct mw_lsan_suppression *next;
	uint64_t blocks, bytes; /* leaks that it suppressed */
	char pattern[];
} mw_lsan_suppression_t;

/* Adds the lines of a text; NULL: none. A line that is no suppression ends the program. */
void mw_lsan_suppressions_add(const char *text);
/* Adds the lines of a file, whose path is relative to the working directory or, where there is no
 * file of that name, to the program's directory. A file that cannot be read ends the program. */
void mw_lsan_suppressions_read(const char *path);
/* Returns the first of the suppressions; NULL: there is none. */
mw_lsan_suppression_t *mw_lsan_suppressions(void);

#endif
