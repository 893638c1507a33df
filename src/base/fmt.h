/* SPDX-License-Identifier: MIT
 * fmt.h -- the printf subset of the library: stdio may allocate and lock, this does neither.
 * Layer: base.  Async-signal-safe. */
#ifndef MW_BASE_FMT_H
#define MW_BASE_FMT_H

#include <stdarg.h>
#include <stddef.h>

#include "base/compiler.h"

/* Conversions: %d %i %u %x %p %s %c %% with the length modifiers l, ll and z, the flags 0 and #
 * (for %x), a minimum width, and %.*s / %.Ns.  Anything else is copied as it stands.
 * Writes at most `capacity` bytes including the terminating NUL (always there when capacity > 0);
 * returns the length the whole text would have had, as snprintf(3). */
size_t mw_fmt(char *buffer, size_t capacity, const char *format, ...) MW_PRINTF(3, 4);
size_t mw_vfmt(char *buffer, size_t capacity, const char *format, va_list args) MW_PRINTF(3, 0);
/* As "%s" alone does; text is not NULL. */
size_t mw_fmt_copy(char *buffer, size_t capacity, const char *text);

#endif
