/* SPDX-License-Identifier: MIT
 * doctor_environment.c -- checks environment variables of other allocators: which ones have no
 * effect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/doctor/doctor.h"

/* Variables of gperftools that mallow's libtcmalloc.so.4 accepts without effect, and what has the
 * effect here; NULL: nothing. */
static const struct {
	const char *name, *instead;
} unused[] = {
	{"CPUPROFILE", "perf record (there is no CPU profiler)"},
	{"HEAPCHECK", "MALLOW_CONF=prof_final:true and mallow top (there is no leak checker)"},
	{"HEAP_PROFILE_MMAP", NULL},
	{"HEAP_PROFILE_MMAP_LOG", NULL},
	{"HEAP_PROFILE_ONLY_MMAP", NULL},
	{"TCMALLOC_ENABLE_SIZED_DELETE", NULL},
	{"TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD",
	 "MALLOW_CONF=request_limit:N,request_report:true"},
	{"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES", NULL},
	{"TCMALLOC_MAX_FREE_QUEUE_SIZE", NULL},
	{"TCMALLOC_MEMFS_ABORT_ON_FAIL", NULL},
	{"TCMALLOC_MEMFS_DISABLE_FALLBACK", NULL},
	{"TCMALLOC_MEMFS_IGNORE_MMAP_FAIL", NULL},
	{"TCMALLOC_MEMFS_LIMIT_MB", NULL},
	{"TCMALLOC_MEMFS_MALLOC_PATH", "MALLOW_CONF=hugetlb:true"},
	{"TCMALLOC_MEMFS_MAP_PRIVATE", NULL},
	{"TCMALLOC_OVERRIDE_PAGESIZE", NULL},
	{"TCMALLOC_PAGE_FENCE", "MALLOW_CONF=prof_guard:N"},
	{"TCMALLOC_PAGE_FENCE_NEVER_RECLAIM", NULL},
	{"TCMALLOC_PAGE_FENCE_READABLE", NULL},
	{"TCMALLOC_RECLAIM_MEMORY", NULL},
	{"TCMALLOC_SKIP_MMAP", NULL},
	{"TCMALLOC_SKIP_SBRK", NULL},
	{"TCMALLOC_STACKTRACE_METHOD", NULL},
	{"TCMALLOC_STACKTRACE_METHOD_VERBOSE", NULL},
	{"TCMALLOC_SYMBOLIZE_STACKTRACE", NULL},
	{"TCMALLOC_TRACE", NULL},
	{"TCMALLOC_TRACE_FILE", NULL},
	{"TCMALLOC_TRANSFER_NUM_OBJ", NULL},
};

/* Variables that act only with mallow's libtcmalloc.so.4. */
static const char *const needing_library[] = {
	"HEAPPROFILE",
	"MALLOCSTATS",
	"TCMALLOC_AGGRESSIVE_DECOMMIT",
	"TCMALLOC_DISABLE_MEMORY_RELEASE",
	"TCMALLOC_HEAP_LIMIT_MB",
	"TCMALLOC_RELEASE_RATE",
	"TCMALLOC_SAMPLE_PARAMETER",
};

static bool is_set(int pid, const char *name) {
	if (pid == 0)
		return getenv(name) != NULL;
	char *value = mw_doctor_variable(pid, name);
	bool found = value != NULL;
	free(value);
	return found;
}

void mw_doctor_look_at_environment(mw_doctor_t *doctor, int pid, bool has_gperftools) {
	for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++)
		if (is_set(pid, unused[i].name))
			mw_doctor_say(doctor, MW_HEALTH_NOTE, "environment",
				      "%s has no effect with mallow%s%s", unused[i].name,
				      unused[i].instead ? "; use " : "",
				      unused[i].instead ? unused[i].instead : "");
	for (size_t i = 0; i < sizeof(needing_library) / sizeof(needing_library[0]); i++)
		if (!has_gperftools && is_set(pid, needing_library[i]))
			mw_doctor_say(
				doctor, MW_HEALTH_NOTE, "environment",
				"%s acts with mallow's libtcmalloc.so.4 only: preload that, or "
				"start programs linked with it by 'mallow run --as gperftools'",
				needing_library[i]);
}
