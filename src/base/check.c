/* SPDX-License-Identifier: MIT
 * check.c -- ends the program with a message, and prints warnings. */
#include "base/check.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/put.h"

/* Longest line that is written. The names of all options fit. A line is one write(2), so that lines
 * of two threads do not mix. */
#define MESSAGE_BYTES 2048

static void write_line(const char *prefix, const char *format, va_list args) {
	char line[MESSAGE_BYTES];
	size_t length = mw_fmt(line, sizeof line, "%s", prefix);
	length += mw_vfmt(line + length, sizeof line - length - 1, format, args);
	if (length > sizeof line - 2)
		length = sizeof line - 2;
	line[length++] = '\n';
	mw_put(STDERR_FILENO, line, length);
}

_Atomic uintptr_t mw_fatal_hook;

/* Calls the program's own function, once only: that function may itself fail. */
static void tell_program(const char *format, va_list args) {
	/* Relaxed: the variable holds a function's address, and no other data depends on it. */
	uintptr_t function = atomic_exchange_explicit(&mw_fatal_hook, 0, memory_order_relaxed);
	char message[MESSAGE_BYTES];
	if (!function)
		return;
	mw_vfmt(message, sizeof message, format, args);
	((void (*)(const char *))function)(message);
}

/* Thread pointer of the thread that ends the program; 0: no thread does. */
static _Atomic uintptr_t dying_thread;

static _Noreturn void end_program(const char *prefix, const char *format, va_list args) {
	va_list again;
	va_copy(again, args);
	write_line(prefix, format, again);
	va_end(again);
	tell_program(format, args);
	/* Relaxed: the thread compares the value only with its own thread pointer. A program's
	 * handler of SIGABRT may allocate while the interrupted code holds a lock: abort() would
	 * then call that handler again, without end. */
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	if (atomic_load_explicit(&dying_thread, memory_order_relaxed) == self)
		signal(SIGABRT, SIG_DFL);
	atomic_store_explicit(&dying_thread, self, memory_order_relaxed);
	abort();
}

void mw_fatal(const char *format, ...) {
	va_list args;
	va_start(args, format);
	end_program("mallow: ", format, args);
}

static _Noreturn MW_PRINTF(1, 2) void fatal_bare(const char *format, ...) {
	va_list args;
	va_start(args, format);
	end_program("", format, args);
}

void mw_fatal_line(const char *message) {
	fatal_bare("%s", message);
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
