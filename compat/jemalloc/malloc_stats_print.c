/* SPDX-License-Identifier: MIT
 * malloc_stats_print.c -- malloc_stats_print(): selects the output function and the sections by
 * letters. */
#include <stdarg.h>
#include <string.h>

#include "api/process/compat_hooks.h"
#include "api/process/start.h"
#include "base/check.h"
#include "base/fmt.h"
#include "compat/jemalloc/jemalloc.h"
#include "compat/jemalloc/mallctl/mallctl.h"
#include "compat/jemalloc/stats_print.h"

static void to_stderr(void *context, const char *text) {
	(void)context;
	size_t length = strlen(text);
	if (length > 0 && text[length - 1] == '\n')
		length--;
	mw_print_line("%.*s", (int)length, text);
}

void mw_print_text(const mw_printer_t *out, const char *format, ...) {
	char text[600];
	va_list args;
	va_start(args, format);
	mw_vfmt(text, sizeof text, format, args);
	va_end(args);
	out->write(out->context, text);
}

uint64_t mw_print_figure(const char *name) {
	uint64_t value = 0;
	for (size_t length = 8; length >= 1; length /= 2) {
		size_t room = length;
		if (mw_mallctl(name, &value, &room, NULL, 0) == 0)
			return value;
		value = 0;
	}
	return 0;
}

const char *mw_print_words(const char *name) {
	const char *text = "";
	size_t length = sizeof text;
	return mw_mallctl(name, &text, &length, NULL, 0) == 0 && text ? text : "";
}

void mw_print_fixed(uint32_t value, char *text, size_t room) {
	enum { DIGITS = 14 };
	char fraction[DIGITS + 1] = "";
	uint32_t rest = value & UINT16_MAX;
	for (size_t i = 0; i < DIGITS && (i == 0 || rest); i++, rest &= UINT16_MAX) {
		rest *= 10;
		fraction[i] = (char)('0' + (rest >> 16));
	}
	if (value == UINT32_MAX)
		mw_fmt_copy(text, room, "\"-1\"");
	else
		mw_fmt(text, room, "\"%u.%s\"", value >> 16, fraction);
}

void malloc_stats_print(void (*write)(void *, const char *), void *context, const char *options) {
	if (!mw_api_started)
		mw_api_start();
	mw_printer_t out = {.write = write            ? write
				     : malloc_message ? malloc_message
						      : to_stderr,
			    .context = context,
			    .general = true,
			    .merged = true,
			    .destroyed = true,
			    .unmerged = true,
			    .bins = true,
			    .large = true,
			    .mutexes = true,
			    .extents = true,
			    .hpa = true};
	bool *const left_out[] = {&out.general,  &out.merged,  &out.destroyed,
				  &out.unmerged, &out.bins,    &out.large,
				  &out.mutexes,  &out.extents, &out.hpa};
	static const char letters[] = "gmdablxeh";
	bool json = false;
	for (const char *o = options ? options : ""; *o; o++) {
		const char *letter = strchr(letters, *o);
		json |= *o == 'J';
		if (letter)
			*left_out[letter - letters] = false;
	}
	mw_mallctl_refresh();
	if (json)
		mw_print_json(&out);
	else
		mw_print_tables(&out);
}

void mw_compat_print_stats(const char *letters) {
	malloc_stats_print(NULL, NULL, letters);
}
