/* SPDX-License-Identifier: MIT
 * terminal.h -- the terminal behind standard output and standard error: its width, and a
 * progress line.
 * Layer: cli. */
#ifndef MW_TOOL_CLI_TERMINAL_H
#define MW_TOOL_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#include "base/compiler.h"

/* Width in columns of the terminal behind `out`, also while output is collected for a pager; 0 =
 * no terminal. */
int mw_terminal_columns(FILE *out);

/* True if standard output is a terminal, also while output is collected for a pager. */
bool mw_stdout_is_terminal(void);

/* Says that standard output is now collected for a pager; `fd` is the terminal. -1: the
 * collection has ended. */
void mw_terminal_collect(int fd);

/* Shows a progress line on standard error if that is a terminal, from half a second on; the text
 * is formatted as by printf(3). mw_progress_end() or a message erases the line. */
void mw_progress(const char *format, ...) MW_PRINTF(1, 2);
void mw_progress_clear(void);
void mw_progress_end(void);

#endif
