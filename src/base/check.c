/* SPDX-License-Identifier: MIT
 * check.c -- the one fatal path, and warnings. */
#include "base/check.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fmt.h"

/* Longest line written: fits the names of all options; one write(2), so lines of threads do not
 * mix.
 */
#define MESSAGE_BYTES 2048

static void write_line(const char *prefix, const char *format, va_list args) {
	char line[MESSAGE_BYTES];
	size_t length = mw_fmt(line, sizeof line, "%s", prefix);
	length += mw_vfmt(line + length, sizeof line - length - 1, format, args);
	if (length > sizeof line - 2)
		length = sizeof line - 2;
	line[length++] = '\n';
	/* A raw system call: write() is a cancellation point. */
	long written = syscall(SYS_write, STDERR_FILENO, line, length);
	(void)written;
}

_Atomic uintptr_t mw_fatal_hook;

/* Once: what it does may be wrong as well. */
static void tell_program(const char *format, va_list args) {
	/* Relaxed: a function's address. */
	uintptr_t function = atomic_exchange_explicit(&mw_fatal_hook, 0, memory_order_relaxed);
	char message[MESSAGE_BYTES];
	if (!function)
		return;
	mw_vfmt(message, sizeof message, format, args);
	((void (*)(const char *))function)(message);
}

/* Thread pointer of whoever ends the program; 0: nobody. */
static _Atomic uintptr_t dying_thread;

void mw_fatal(const char *format, ...) {
	va_list args;
	va_start(args, format);
	write_line("mallow: ", format, args);
	va_end(args);
	va_start(args, format);
	tell_program(format, args);
	va_end(args);
	/* Relaxed: only the own value counts.  The program's handler of SIGABRT allocates, and what
	 * it interrupted holds a lock: abort() would call that handler again, without end. */
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	if (atomic_load_explicit(&dying_thread, memory_order_relaxed) == self)
		signal(SIGABRT, SIG_DFL);
	atomic_store_explicit(&dying_thread, self, memory_order_relaxed);
	abort();
}

bool mw_warnings_are_fatal;

void mw_warn(const char *format, ...) {
	int saved_errno = errno;
	va_list args;
	va_start(args, format);
	write_line("mallow: ", format, args);
	va_end(args);
	if (mw_warnings_are_fatal)
		abort();
	errno = saved_errno;
}

void mw_print_line(const char *format, ...) {
	int saved_errno = errno;
	va_list args;
	va_start(args, format);
	write_line("", format, args);
	va_end(args);
	errno = saved_errno;
}
