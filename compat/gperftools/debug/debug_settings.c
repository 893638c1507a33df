/* SPDX-License-Identifier: MIT
 * debug_settings.c -- TCMALLOC_ variables of the debug library. */
#include "compat/gperftools/debug/debug_settings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/put.h"
#include "compat/gperftools/futex_lock.h"
#include "compat/gperftools/variables.h"
#include "os/platform/secure_environment.h"

#define QUEUE_BYTES ((int64_t)10 << 20)

static mw_gpd_settings_t settings = {
	.reclaim = true, .names = true, .queue_max_bytes = (size_t)QUEUE_BYTES, .trace_file = -1};
static mw_gp_once_t once;

/* gperftools appends to the file, so that processes of one run share it. */
static int open_trace(void) {
	if (!mw_gp_flag_from("TCMALLOC_TRACE", false))
		return -1;
	const char *path = mw_environment("TCMALLOC_TRACE_FILE");
	if (!path || !*path)
		path = "/tmp/google.alloc";
	int file = mw_put_open(path, true, 0644);
	if (file < 0)
		mw_warn("TCMALLOC_TRACE_FILE: cannot open '%.200s' (error %d); no trace is written",
			path, errno);
	return file;
}

static void read_settings(void) {
	int saved_errno = errno;
	if (!mw_gp_is_secure()) {
		settings.page_fence = mw_gp_flag_from("TCMALLOC_PAGE_FENCE", false);
		settings.page_fence_never_reclaim =
			mw_gp_flag_from("TCMALLOC_PAGE_FENCE_NEVER_RECLAIM", false);
		settings.page_fence_readable =
			mw_gp_flag_from("TCMALLOC_PAGE_FENCE_READABLE", false);
		settings.reclaim = mw_gp_flag_from("TCMALLOC_RECLAIM_MEMORY", true);
		settings.names = mw_gp_flag_from("TCMALLOC_SYMBOLIZE_STACKTRACE", true);
		settings.queue_max_bytes = (size_t)mw_gp_number_from("TCMALLOC_MAX_FREE_QUEUE_SIZE",
								     QUEUE_BYTES, 0, INT64_MAX);
		settings.trace_file = open_trace();
	}
	errno = saved_errno;
}

const mw_gpd_settings_t *mw_gpd_settings(void) {
	if (mw_environment_has_begun())
		mw_gp_call_once(&once, read_settings);
	return &settings;
}
