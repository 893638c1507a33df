/* SPDX-License-Identifier: MIT
 * gperftools.c -- libmallow's table of functions, messages, and environment variables as values. */
#include "compat/gperftools/gperftools.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/fmt.h"
#include "base/put.h"

#define LINE_BYTES 512

const mw_compat_calls_t *mw_gp_calls(void) {
	static const mw_compat_calls_t *_Atomic known;
	const mw_compat_calls_t *calls = known;
	if (MW_LIKELY(calls != NULL))
		return calls;
	calls = mallow_compat_calls();
	if (strcmp(calls->version, MALLOW_VERSION) != 0)
		mw_fatal("libgperftools_mallow.so %s cannot use libmallow.so %s; install both of "
			 "one version",
			 MALLOW_VERSION, calls->version);
	known = calls;
	return calls;
}

void mw_gp_log(int level, const char *format, ...) {
	static _Atomic int verbosity = INT32_MIN;
	if (verbosity == INT32_MIN)
		verbosity = (int)mw_gp_number_from("PERFTOOLS_VERBOSE", 0, -100, 100);
	if (level > verbosity)
		return;
	int saved_errno = errno;
	char line[LINE_BYTES];
	va_list args;
	va_start(args, format);
	size_t length = mw_vfmt(line, sizeof line - 1, format, args);
	va_end(args);
	if (length > sizeof line - 2)
		length = sizeof line - 2;
	line[length++] = '\n';
	mw_put(2, line, length);
	errno = saved_errno;
}

int64_t mw_gp_number_from(const char *variable, int64_t standard, int64_t min, int64_t max) {
	const char *text = getenv(variable);
	if (!text || !*text)
		return standard;
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (errno == 0 && *end == '\0' && value >= min && value <= max)
		return value;
	mw_warn("%s: '%.100s' is not a whole number from %ld to %ld; %ld is used", variable, text,
		(long)min, (long)max, (long)standard);
	return standard;
}

bool mw_gp_flag_from(const char *variable, bool standard) {
	const char *text = getenv(variable);
	return text ? strchr("tTyY1", *text) != NULL : standard;
}
