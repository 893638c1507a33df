/* SPDX-License-Identifier: MIT
 * fmt.h -- the library's printf subset. Unlike stdio it neither allocates nor locks.
 * Layer: base.  Async-signal-safe. */
#ifndef MW_BASE_FMT_H
#define MW_BASE_FMT_H

#include <stdarg.h>
#include <stddef.h>

#include "base/compiler.h"

/* Conversions: %d %i %u %x %p %s %c %% with the length modifiers l, ll and z, the flags 0 and #
 * (for %x), a minimum width, and %.*s / %.Ns. Any other text is copied unchanged. Writes at most
 * `capacity` bytes including the terminating NUL, which is always written if capacity > 0. Returns
 * the length of the whole text, as snprintf(3) does. */
size_t mw_fmt(char *buffer, size_t capacity, const char *format, ...) MW_PRINTF(3, 4);
size_t mw_vfmt(char *buffer, size_t capacity, const char *format, va_list args) MW_PRINTF(3, 0);
/* Like mw_fmt(buffer, capacity, "%s", text). `text` is not NULL. */
size_t mw_fmt_copy(char *buffer, size_t capacity, const char *text);

#endif
