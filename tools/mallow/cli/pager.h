/* SPDX-License-Identifier: MIT
 * pager.h -- colours, and a pager for output that is longer than the terminal.
 * Layer: cli. */
#ifndef MW_TOOL_CLI_PAGER_H
#define MW_TOOL_CLI_PAGER_H

#include "cli/options.h"

/* Rows of the option table for the options that mw_pager_begin() reads. */
#define MW_COLOR_OPTION                                                                            \
	{                                                                                          \
		"color", 0, MW_BOUND(CHOICE, color), "WHEN", "auto|always|never",                  \
			"colours: auto (default) means on terminals, unless NO_COLOR is set"       \
	}
#define MW_NO_PAGER_OPTION                                                                         \
	{                                                                                          \
		"no-pager", 0, MW_BOUND(FLAG, no_pager), NULL, NULL,                               \
			"do not start a pager (MALLOW_PAGER, PAGER or less) for long output"       \
	}

/* Decides whether output is coloured.  If standard output is a terminal, output is collected
 * until mw_pager_end() shows it, in a pager if it is longer than the screen. */
void mw_pager_begin(const mw_arguments_t *arguments);
void mw_pager_end(void);

#endif
