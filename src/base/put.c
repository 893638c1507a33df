/* SPDX-License-Identifier: MIT
 * put.c -- write(2) with SIGXFSZ blocked; a signal that the write raised is removed again. */
#include "base/put.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Layout of the kernel's sigset_t: bit n - 1 stands for signal n. */
#define SIGNAL_BIT ((uint64_t)1 << (SIGXFSZ - 1))

_Atomic bool mw_put_is_plain;

static long call(long number, long a, const void *b, void *c, long d) {
	return mw_system_call6(number, a, (long)b, (long)c, d, 0, 0);
}

static long plain_write(int file, const void *bytes, size_t length) {
	return mw_system_call6(SYS_write, file, (long)bytes, (long)length, 0, 0, 0);
}

long mw_put(int file, const void *bytes, size_t length) {
	static const uint64_t signals = SIGNAL_BIT;
	uint64_t before, pending;
	if (atomic_load_explicit(&mw_put_is_plain, memory_order_relaxed))
		return plain_write(file, bytes, length);
	/* A filter of system calls refused rt_sigprocmask(2): call plain write(2). */
	bool is_blocked =
		call(SYS_rt_sigprocmask, SIG_BLOCK, &signals, &before, sizeof signals) == 0;
	/* A SIGXFSZ that was pending before this write belongs to the program and stays pending. */
	bool is_waiting = is_blocked && before & SIGNAL_BIT &&
			  mw_system_call6(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0,
					  0, 0) == 0 &&
			  pending & SIGNAL_BIT;
	long written = plain_write(file, bytes, length);
	int write_errno = errno;
	if (!is_blocked)
		return written;
	/* The kernel sends SIGXFSZ to this thread before write(2) returns. */
	if (written < 0 && write_errno == EFBIG && !is_waiting) {
		const struct timespec no_time = {0};
		mw_system_call6(SYS_rt_sigtimedwait, (long)&signals, 0, (long)&no_time,
				sizeof signals, 0, 0);
	}
	call(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
	errno = write_errno;
	return written;
}

bool mw_put_is_allowed(const struct stat *file) {
	bool is_own = file->st_uid == geteuid();
	return S_ISCHR(file->st_mode) || (S_ISFIFO(file->st_mode) && is_own) ||
	       (S_ISREG(file->st_mode) && is_own && file->st_nlink == 1);
}

bool mw_put_stat(int file, struct stat *info) {
	return call(SYS_fstat, file, info, NULL, 0) == 0;
}

/* Empties an existing file, or leaves it for appending. False: errno says why not. */
static bool take_file(int file, bool appends) {
	struct stat info;
	if (!mw_put_stat(file, &info))
		return false;
	if (!mw_put_is_allowed(&info)) {
		errno = EPERM;
		return false;
	}
	int flags = fcntl(file, F_GETFL);
	if (flags < 0 || fcntl(file, F_SETFL, flags & ~O_NONBLOCK) != 0)
		return false;
	return appends || !S_ISREG(info.st_mode) || ftruncate(file, 0) == 0;
}

int mw_put_open(const char *path, bool appends, mode_t mode) {
	const int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | (appends ? O_APPEND : 0);
	/* A file that this call makes is not examined: some file systems give it another owner. */
	int file = open(path, flags | O_CREAT | O_EXCL, mode);
	if (file >= 0 || errno != EEXIST)
		return file;
	file = open(path, flags | O_NONBLOCK);
	if (file >= 0 && !take_file(file, appends)) {
		int reason = errno;
		close(file);
		errno = reason;
		file = -1;
	}
	return file;
}
