/* SPDX-License-Identifier: MIT
 * terminal.h -- the terminal behind standard output and error: width, colours, pager, progress.
 * Layer: cmd. */
#ifndef MW_CMD_TERMINAL_H
#define MW_CMD_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#include "base/compiler.h"
#include "cmd/options.h"

/* Rows of the option table, which mw_terminal_page() takes. */
#define MW_COLOR_OPTION                                                                            \
	{                                                                                          \
		"color", 0, MW_OPTION_CHOICE, "WHEN", "auto|always|never",                         \
			"colours: on terminals unless NO_COLOR is set (default), or not"           \
	}
#define MW_NO_PAGER_OPTION                                                                         \
	{                                                                                          \
		"no-pager", 0, MW_OPTION_FLAG, NULL, NULL,                                         \
			"print what is longer than the terminal straight on, without "             \
			"MALLOW_PAGER, "                                                           \
			"PAGER or less"                                                            \
	}

/* Width of the terminal behind `out`, or 0; also while a pager's text is collected. */
int mw_terminal_columns(FILE *out);

/* Is standard output one? */
bool mw_stdout_is_terminal(void);

/* From here on standard output is collected, if it is a terminal, until mw_terminal_end() shows it:
 * in a pager when it is longer than the screen.  Settles also whether there are colours. */
void mw_terminal_page(const mw_arguments_t *arguments);
void mw_terminal_end(void);

/* What takes its time, on a standard error that is a terminal, once half a second has passed: text
 * as of printf(3).  The line goes when mw_progress_end() is called, or something else is said. */
void mw_progress(const char *format, ...) MW_PRINTF(1, 2);
void mw_progress_clear(void);
void mw_progress_end(void);

#endif
