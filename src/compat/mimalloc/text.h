/* SPDX-License-Identifier: MIT
 * text.h -- a text that is put together and then printed or copied.
 * Layer: compat/mimalloc.  On the stack: statistics are printed while there is no memory, too. */
#ifndef MW_COMPAT_MIMALLOC_TEXT_H
#define MW_COMPAT_MIMALLOC_TEXT_H

#include "compat/mimalloc/mimalloc.h"

#include <mimalloc-stats.h>

#define MW_MI_TEXT_BYTES 16384

/* `length` counts what did not fit as well. */
typedef struct mw_mi_text {
	size_t length;
	char bytes[MW_MI_TEXT_BYTES];
} mw_mi_text_t;

void mw_mi_text_add(mw_mi_text_t *text, const char *format, ...) MW_PRINTF(2, 3);
/* Passes the text line by line to the function; NULL: where messages go. */
void mw_mi_text_print(const mw_mi_text_t *text, mi_output_fun *out, void *arg);
/* Adds two lines about times and memory of the process. */
void mw_mi_text_process(mw_mi_text_t *text);

#endif
