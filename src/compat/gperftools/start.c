/* SPDX-License-Identifier: MIT
 * start.c -- start and end of the process: libmallow's table and the environment variables. */
#include <errno.h>
#include <gperftools/malloc_extension_c.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/check.h"
#include "base/fmt.h"
#include "base/put.h"
#include "compat/gperftools/gperftools.h"

#define ERROR_LEVEL (-2)
#define LINE_BYTES 512
#define STATS_BYTES 16384

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

static double rate_from(const char *text) {
	char *end;
	double rate = strtod(text, &end);
	if (end != text && *end == '\0' && rate >= 0 && rate <= 1e6)
		return rate;
	mw_warn("TCMALLOC_RELEASE_RATE: '%.100s' is not a number from 0 to 1000000; 1 is used",
		text);
	return 1;
}

static void set_from(const char *variable, const char *property, int64_t max) {
	int64_t value = mw_gp_number_from(variable, -1, 0, max);
	if (value >= 0)
		MallocExtension_SetNumericProperty(property, (size_t)value);
}

/* Variables that act on the heap.  Without them, mallow's own options are in force. */
static void configure(void) {
	set_from("TCMALLOC_HEAP_LIMIT_MB", "tcmalloc.heap_limit_mb", 1 << 20);
	set_from("TCMALLOC_SAMPLE_PARAMETER", "tcmalloc.sample_parameter", (int64_t)1 << 40);
	if (mw_gp_flag_from("TCMALLOC_AGGRESSIVE_DECOMMIT", false))
		MallocExtension_SetNumericProperty("tcmalloc.aggressive_memory_decommit", 1);
	const char *rate = getenv("TCMALLOC_RELEASE_RATE");
	if (rate && *rate)
		mw_gp_set_release_rate(rate_from(rate));
	if (mw_gp_flag_from("TCMALLOC_DISABLE_MEMORY_RELEASE", false))
		mw_gp_set_release_rate(0);
}

/* true: the user who started the program is not the one whose rights it has. */
static bool is_secure(void) {
	return getauxval(AT_SECURE) != 0;
}

__attribute__((constructor)) static void begin(void) {
	mw_gp_calls();
	if (!is_secure())
		configure();
	mw_gp_profiler_start();
}

__attribute__((destructor)) static void finish(void) {
	mw_gp_profiler_finish();
	int64_t level = is_secure() ? 0 : mw_gp_number_from("MALLOCSTATS", 0, 0, 100);
	if (level < 1)
		return;
	static char text[STATS_BYTES];
	mw_gp_stats_text(text, sizeof text, level > 1);
	mw_put(2, text, strlen(text));
}
