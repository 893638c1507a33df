/* SPDX-License-Identifier: MIT
 * constructor.c -- start and end of the process: environment variables that act on the heap, the
 * heap profiler, the statistics of MALLOCSTATS, the leak checker. */
#include <gperftools/malloc_extension_c.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/put.h"
#include "compat/gperftools/checker/heap_checker.h"
#include "compat/gperftools/extension/extension.h"
#include "compat/gperftools/gperftools.h"
#include "compat/gperftools/profile/growth.h"
#include "compat/gperftools/profile/heap_profiler.h"
#include "compat/gperftools/variables.h"
#include "os/platform/secure_environment.h"

#define STATS_BYTES 16384

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
	const char *rate = mw_environment("TCMALLOC_RELEASE_RATE");
	if (rate && *rate)
		mw_gp_set_release_rate(rate_from(rate));
	if (mw_gp_flag_from("TCMALLOC_DISABLE_MEMORY_RELEASE", false))
		mw_gp_set_release_rate(0);
}

__attribute__((constructor)) static void begin(void) {
	mw_gp_calls();
	if (!mw_gp_is_secure())
		configure();
	mw_gp_growth_start();
	mw_gp_profiler_start();
	mw_gp_checker_start();
}

static void print_stats(void) {
	int64_t level = mw_gp_is_secure() ? 0 : mw_gp_number_from("MALLOCSTATS", 0, 0, 100);
	if (level < 1)
		return;
	static char text[STATS_BYTES];
	mw_gp_stats_text(text, sizeof text, level > 1);
	mw_put(2, text, strlen(text));
}

__attribute__((destructor)) static void finish(void) {
	mw_gp_profiler_finish(true);
	print_stats();
	mw_gp_checker_finish();
}
