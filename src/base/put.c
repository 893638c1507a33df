/* SPDX-License-Identifier: MIT
 * put.c -- write(2) with SIGXFSZ blocked; a signal that the write raised is removed again. */
#include "base/put.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Layout of the kernel's sigset_t: bit n - 1 stands for signal n. */
#define SIGNAL_BIT ((uint64_t)1 << (SIGXFSZ - 1))

_Atomic bool mw_put_is_plain;

long mw_put(int file, const void *bytes, size_t length) {
	static const uint64_t signals = SIGNAL_BIT;
	uint64_t before, pending;
	if (atomic_load_explicit(&mw_put_is_plain, memory_order_relaxed))
		return syscall(SYS_write, file, bytes, length);
	/* A filter of system calls refused rt_sigprocmask(2): call plain write(2). */
	bool is_blocked =
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signals, &before, sizeof signals) == 0;
	/* A SIGXFSZ that was pending before this write belongs to the program and stays pending. */
	bool is_waiting = is_blocked && before & SIGNAL_BIT &&
			  syscall(SYS_rt_sigpending, &pending, sizeof pending) == 0 &&
			  pending & SIGNAL_BIT;
	long written = syscall(SYS_write, file, bytes, length);
	int write_errno = errno;
	if (!is_blocked)
		return written;
	/* The kernel sends SIGXFSZ to this thread before write(2) returns. */
	if (written < 0 && write_errno == EFBIG && !is_waiting) {
		const struct timespec no_time = {0};
		syscall(SYS_rt_sigtimedwait, &signals, NULL, &no_time, sizeof signals);
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
	errno = write_errno;
	return written;
}
