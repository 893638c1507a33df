/* SPDX-License-Identifier: MIT
 * put.h -- write(2) that cannot end the program.
 * Layer: base.  No locks, never allocates, async-signal-safe. */
#ifndef MW_BASE_PUT_H
#define MW_BASE_PUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* true: the program forbids system calls (seccomp), so that mw_put() calls write(2) only */
extern _Atomic bool mw_put_is_plain;
/* Like write(2): returns the number of bytes written, or -1 with errno. If the file would exceed
 * RLIMIT_FSIZE, the result is -1 with EFBIG, and SIGXFSZ, which ends a program by default, is not
 * delivered. Not a cancellation point. */
long mw_put(int file, const void *bytes, size_t length);

#endif
