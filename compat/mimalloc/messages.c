/* SPDX-License-Identifier: MIT
 * messages.c -- functions that the program registers: for messages, errors and deferred frees;
 * texts of statistics. */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "base/fmt.h"
#include "base/put.h"
#include "compat/mimalloc/mimalloc.h"

#define TEXT_BYTES 1024
#define LINE_BYTES 512

/* The argument is stored before the function, and read after it. */
static struct {
	_Atomic(mi_output_fun *) function;
	void *_Atomic argument;
} output;
static struct {
	_Atomic(mi_error_fun *) function;
	void *_Atomic argument;
} error_handler;
static struct {
	_Atomic(mi_deferred_free_fun *) function;
	void *_Atomic argument;
	_Atomic unsigned long long beats;
} deferred;

/* true: one of the program's functions runs in this thread; allocations of that function call none.
 */
static MW_TLS bool is_calling;

/* Without stdio: a message may be about missing memory. */
void mw_mi_print(const char *format, ...) {
	char text[TEXT_BYTES];
	va_list args;
	va_start(args, format);
	mw_vfmt(text, sizeof text, format, args);
	va_end(args);
	mi_output_fun *function = output.function;
	if (!function || is_calling) {
		mw_put(2, text, strlen(text));
		return;
	}
	is_calling = true;
	function(text, output.argument);
	is_calling = false;
}

/* Returns whether one more message is allowed. */
static bool may_say(void) {
	static _Atomic long said;
	if (!mi_option_is_enabled(mi_option_show_errors) &&
	    !mi_option_is_enabled(mi_option_verbose))
		return false;
	long most = mi_option_get(mi_option_max_errors);
	return most < 0 || said++ < most;
}

void mw_mi_error(int error, const char *format, ...) {
	int saved_errno = errno;
	char text[TEXT_BYTES];
	va_list args;
	va_start(args, format);
	mw_vfmt(text, sizeof text, format, args);
	va_end(args);
	if (may_say())
		mw_mi_print("mallow: %s\n", text);
	mi_error_fun *function = error_handler.function;
	if (function && !is_calling) {
		is_calling = true;
		function(error, error_handler.argument);
		is_calling = false;
	}
	errno = saved_errno;
}

void mw_mi_beat(bool force) {
	mi_deferred_free_fun *function = deferred.function;
	if (MW_LIKELY(!function) || is_calling)
		return;
	is_calling = true;
	function(force, ++deferred.beats, deferred.argument);
	is_calling = false;
}

void mi_register_output(mi_output_fun *out, void *arg) {
	output.argument = arg;
	output.function = out;
}

void mi_register_error(mi_error_fun *fun, void *arg) {
	error_handler.argument = arg;
	error_handler.function = fun;
}

void mi_register_deferred_free(mi_deferred_free_fun *deferred_free, void *arg) {
	deferred.argument = arg;
	deferred.function = deferred_free;
}

void mw_mi_text_add(mw_mi_text_t *text, const char *format, ...) {
	size_t used = text->length < sizeof text->bytes ? text->length : sizeof text->bytes - 1;
	va_list args;
	va_start(args, format);
	text->length += mw_vfmt(text->bytes + used, sizeof text->bytes - used, format, args);
	va_end(args);
}

void mw_mi_text_print(const mw_mi_text_t *text, mi_output_fun *out, void *arg) {
	char line[LINE_BYTES];
	for (const char *at = text->bytes; *at;) {
		size_t length = strcspn(at, "\n") + 1;
		if (length >= sizeof line || at[length - 1] == '\0')
			length = strnlen(at, sizeof line - 1);
		memcpy(line, at, length);
		line[length] = '\0';
		if (out)
			out(line, arg);
		else
			mw_mi_print("%s", line);
		at += length;
	}
}
