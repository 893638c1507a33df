/* SPDX-License-Identifier: MIT
 * checker_settings.c -- the modes differ in the start of what counts and in the roots. */
#include "compat/gperftools/checker/checker_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/fmt.h"
#include "compat/gperftools/variables.h"
#include "os/platform/secure_environment.h"

static void set_mode(mw_gp_checker_settings_t *settings, const char *mode) {
	bool is_local = strcmp(mode, "local") == 0;
	settings->checks_at_end = !is_local;
	if (strcmp(mode, "minimal") == 0)
		settings->ignores_earlier = true;
	else if (strcmp(mode, "draconian") == 0)
		settings->skips_threads = settings->skips_data = true;
	else if (is_local || strcmp(mode, "as-is") == 0) {
		settings->skips_threads = !mw_gp_flag_from("HEAP_CHECK_IGNORE_THREAD_LIVE", true);
		settings->skips_data = !mw_gp_flag_from("HEAP_CHECK_IGNORE_GLOBAL_LIVE", true);
	} else if (strcmp(mode, "normal") != 0 && strcmp(mode, "strict") != 0)
		mw_fatal("Unsupported heap_check flag: %.100s; allowed: minimal, normal, strict, "
			 "draconian, as-is, local",
			 mode);
}

/* Pointers are looked for at each multiple of this many bytes. */
static size_t step_from_environment(void) {
	const int64_t word = sizeof(void *);
	int64_t step = mw_gp_number_from("HEAP_CHECK_POINTER_SOURCE_ALIGNMENT", word, 1, word);
	/* Rounded down to a power of two, so that aligned pointers are found. */
	while ((step & (step - 1)) != 0)
		step &= step - 1;
	return (size_t)step;
}

static void set_prefix(mw_gp_checker_settings_t *settings) {
	const char *directory = mw_environment("HEAP_CHECK_DUMP_DIRECTORY");
	if (!directory || !*directory)
		directory = "/tmp";
	mw_fmt(settings->prefix, sizeof settings->prefix, "%.2000s/%.200s.%u", directory,
	       program_invocation_short_name, (unsigned)getpid());
}

bool mw_gp_checker_read_settings(mw_gp_checker_settings_t *settings) {
	const char *mode = mw_environment("HEAPCHECK");
	if (mw_gp_is_secure() && mw_environment_is_set("HEAPCHECK")) {
		mw_gp_log(-2, "HeapChecker: ignoring HEAPCHECK because program seems to be setuid");
		return false;
	}
	if (!mode || !*mode)
		return false;
	set_mode(settings, mode);
	settings->shows_addresses = mw_gp_flag_from("HEAP_CHECK_IDENTIFY_LEAKS", false);
	settings->tries_unaligned = mw_gp_flag_from("HEAP_CHECK_TEST_POINTER_ALIGNMENT", false);
	settings->step_bytes = step_from_environment();
	settings->max_offset =
		mw_gp_number_from("HEAP_CHECK_MAX_POINTER_OFFSET", 1024, -1, INT64_MAX);
	settings->max_leaks = mw_gp_number_from("HEAP_CHECK_MAX_LEAKS", 20, INT64_MIN, INT64_MAX);
	set_prefix(settings);
	return true;
}
