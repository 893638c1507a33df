/* SPDX-License-Identifier: MIT
 * complain.h -- exit statuses, and the one function that prints error messages.
 * Layer: cli. */
#ifndef MW_TOOL_CLI_COMPLAIN_H
#define MW_TOOL_CLI_COMPLAIN_H

#include "base/compiler.h"

/* Exit statuses.  `mallow run` instead ends with the status of the program that it ran. */
enum {
	MW_EXIT_FINE = 0,
	MW_EXIT_FINDING = 1,
	MW_EXIT_TROUBLE = 2,
	/* The program was found, but could not be executed (as env(1)). */
	MW_EXIT_NOT_EXECUTABLE = 126,
	MW_EXIT_NOT_FOUND = 127, /* the program was not found (as env(1)) */
};

/* Prints "mallow: <message>" and a newline on stderr.  A message is lower case: what failed, why,
 * what to do. */
void mw_complain(const char *format, ...) MW_PRINTF(1, 2);

#endif
