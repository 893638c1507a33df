/* SPDX-License-Identifier: MIT
 * complain.c -- messages on standard error. */
#include "cli/complain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/terminal.h"
#include "model/text.h"

void mw_complain(const char *format, ...) {
	va_list args;
	va_start(args, format);
	/* Prints pending output first, so that the message follows it. */
	fflush(stdout);
	mw_progress_clear();
	char *text = NULL;
	int length = vasprintf(&text, format, args);
	va_end(args);
	/* Without memory, the unformatted message is better than no message. */
	fputs("mallow: ", stderr);
	mw_text_print(stderr, length >= 0 ? text : format);
	fputc('\n', stderr);
	if (length >= 0)
		free(text);
}
