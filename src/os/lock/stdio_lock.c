/* SPDX-License-Identifier: MIT
 * stdio_lock.c -- the lock of stdio's list of streams. */
#include "os/lock/stdio_lock.h"

#include "base/compiler.h"

/* glibc exports them, in no header. */
// NOLINTBEGIN(bugprone-reserved-identifier)
void _IO_list_lock(void) __attribute__((weak));
void _IO_list_unlock(void) __attribute__((weak));
void _IO_list_resetlock(void) __attribute__((weak));
// NOLINTEND(bugprone-reserved-identifier)

MW_COLD static int has_lock(void) {
	return _IO_list_lock && _IO_list_unlock && _IO_list_resetlock;
}

MW_COLD void mw_os_stdio_fork_prepare(void) {
	if (has_lock())
		_IO_list_lock();
}

MW_COLD void mw_os_stdio_fork_parent(void) {
	if (has_lock())
		_IO_list_unlock();
}

/* glibc resets the lock only if the process had several threads. */
MW_COLD void mw_os_stdio_fork_child(void) {
	if (has_lock())
		_IO_list_resetlock();
}
