/* SPDX-License-Identifier: MIT
 * check.h -- assertions, warnings, and the one function that ends the program.
 * Layer: base.  Nothing here allocates, locks or uses stdio. */
#ifndef MW_BASE_CHECK_H
#define MW_BASE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* Writes "mallow: <message>\n" to stderr and aborts.  `format` takes what mw_fmt() takes.
 * For corruption and misuse only: a failure of the kernel is returned, never fatal.
 * Async-signal-safe. */
_Noreturn MW_COLD void mw_fatal(const char *format, ...) MW_PRINTF(1, 2);
/* Address of the program's own function, which gets the message before the program ends; 0:
 * none. */
extern _Atomic uintptr_t mw_fatal_hook;

/* Like mw_fatal(), without the prefix "mallow: ": for messages in jemalloc's words. */
_Noreturn MW_COLD void mw_fatal_line(const char *message);

/* Writes "mallow: <message>\n" to stderr in one write(2) and returns. Keeps errno. */
extern bool mw_warnings_are_fatal; /* true: a warning ends the program; set before threads exist */
MW_COLD void mw_warn(const char *format, ...) MW_PRINTF(1, 2);

/* Writes "<message>\n" to stderr in one write(2). Keeps errno. */
MW_COLD void mw_print_line(const char *format, ...) MW_PRINTF(1, 2);

#ifdef MW_DEBUG
#define MW_ASSERT(condition)                                                                       \
	((condition) ? (void)0                                                                     \
		     : mw_fatal("assertion failed: %s (%s:%d)", #condition, __FILE__, __LINE__))
#else
#define MW_ASSERT(condition) ((void)sizeof(condition))
#endif

#endif
