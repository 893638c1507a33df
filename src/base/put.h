/* SPDX-License-Identifier: MIT
 * put.h -- write(2) that cannot end the program, and files that are safe to write.
 * Layer: base.  No locks, never allocates, async-signal-safe. */
#ifndef MW_BASE_PUT_H
#define MW_BASE_PUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/compiler.h"

/* Makes a system call past libc (os/platform/system_call.h).  Returns -1, with errno set, if the
 * kernel refuses. */
MW_HOOK long mw_system_call6(long number, long a, long b, long c, long d, long e, long f);

/* true: the program forbids system calls (seccomp), so that mw_put() calls write(2) only */
extern _Atomic bool mw_put_is_plain;
/* Like write(2): returns the number of bytes written, or -1 with errno. If the file would exceed
 * RLIMIT_FSIZE, the result is -1 with EFBIG, and SIGXFSZ, which ends a program by default, is not
 * delivered. Not a cancellation point. */
long mw_put(int file, const void *bytes, size_t length);

/* fstat(2), a function of libc only since glibc 2.33. Returns false with errno: refused. */
bool mw_put_stat(int file, struct stat *info);

/* In a folder like /tmp any user can make a file or a link with a name that he guesses, so that
 * this process writes over a file of its user, or tells another user what it writes. This returns
 * whether an existing file may be written: it is a regular file with one name or a FIFO, and
 * belongs to the process's effective user; or it is a device. */
bool mw_put_is_allowed(const struct stat *file);

/* Opens a file for writing, and makes it with `mode`, reduced by the umask, if there is none. An
 * existing file that mw_put_is_allowed() is emptied, or with `appends` continued. Returns a
 * descriptor that is closed on exec, or -1 with errno: ELOOP for a symbolic link as the last
 * component, EPERM for a file that is not allowed. Does not wait for the reader of a FIFO. */
int mw_put_open(const char *path, bool appends, mode_t mode);

#endif
