/* SPDX-License-Identifier: MIT
 * doctor_environment.c -- checks environment variables of other allocators: which ones have no
 * effect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/doctor/doctor.h"

/* Variables of gperftools and mimalloc that mallow's libraries accept without effect, and what has
 * the effect here; NULL: nothing. */
static const struct {
	const char *name, *instead;
} unused[] = {
	{"HEAPCHECK", "MALLOW_CONF=prof_final:true and mallow top (there is no leak checker)"},
	{"HEAP_CHECK_AFTER_DESTRUCTORS", NULL},
	{"HEAP_CHECK_RUN_UNDER_GDB", NULL},
	{"HEAP_CHECK_STRICT_CHECK", NULL},
	{"MIMALLOC_ABANDONED_PAGE_PURGE", NULL},
	{"MIMALLOC_ABANDONED_PAGE_RESET", NULL},
	{"MIMALLOC_ABANDONED_RECLAIM_ON_FREE", NULL},
	{"MIMALLOC_ARENA_EAGER_COMMIT", NULL},
	{"MIMALLOC_ARENA_MAX_OBJECT_SIZE", NULL},
	{"MIMALLOC_ARENA_RESERVE", NULL},
	{"MIMALLOC_DESTROY_ON_EXIT", NULL},
	{"MIMALLOC_DISALLOW_ARENA_ALLOC", NULL},
	{"MIMALLOC_DISALLOW_OS_ALLOC", "MALLOW_CONF=hard_limit:N"},
	{"MIMALLOC_EAGER_COMMIT", NULL},
	{"MIMALLOC_EAGER_COMMIT_DELAY", NULL},
	{"MIMALLOC_EAGER_REGION_COMMIT", NULL},
	{"MIMALLOC_GENERIC_COLLECT", NULL},
	{"MIMALLOC_GUARDED_MAX", "MALLOW_CONF=prof_guard:N"},
	{"MIMALLOC_GUARDED_MIN", "MALLOW_CONF=prof_guard:N"},
	{"MIMALLOC_GUARDED_PRECISE", "MALLOW_CONF=prof_guard:N"},
	{"MIMALLOC_GUARDED_SAMPLE_RATE", "MALLOW_CONF=prof_guard:N"},
	{"MIMALLOC_GUARDED_SAMPLE_SEED", "MALLOW_CONF=prof_seed:N"},
	{"MIMALLOC_LIMIT_OS_ALLOC", "MALLOW_CONF=hard_limit:N"},
	{"MIMALLOC_MAX_SEGMENT_RECLAIM", NULL},
	{"MIMALLOC_MAX_VABITS", NULL},
	{"MIMALLOC_MAX_WARNINGS", NULL},
	{"MIMALLOC_MINIMAL_PURGE_SIZE", NULL},
	{"MIMALLOC_OS_TAG", NULL},
	{"MIMALLOC_PAGEMAP_COMMIT", NULL},
	{"MIMALLOC_PAGE_COMMIT_ON_DEMAND", NULL},
	{"MIMALLOC_PAGE_CROSS_THREAD_MAX_RECLAIM", NULL},
	{"MIMALLOC_PAGE_FULL_RETAIN", NULL},
	{"MIMALLOC_PAGE_MAX_CANDIDATES", NULL},
	{"MIMALLOC_PAGE_MAX_RECLAIM", NULL},
	{"MIMALLOC_PAGE_RECLAIM_ON_FREE", NULL},
	{"MIMALLOC_PAGE_RESET", NULL},
	{"MIMALLOC_PURGE_EXTEND_DELAY", NULL},
	{"MIMALLOC_RESERVE_HUGE_OS_PAGES_AT", "numactl"},
	{"MIMALLOC_RESERVE_OS_MEMORY", NULL},
	{"MIMALLOC_RETRY_ON_OOM", NULL},
	{"MIMALLOC_SEGMENT_CACHE", NULL},
	{"MIMALLOC_SEGMENT_RESET", NULL},
	{"MIMALLOC_TARGET_SEGMENTS_PER_THREAD", NULL},
	{"MIMALLOC_VISIT_ABANDONED", NULL},
	{"TCMALLOC_ENABLE_SIZED_DELETE", NULL},
	{"TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD",
	 "MALLOW_CONF=request_limit:N,request_report:true"},
	{"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES", NULL},
	{"TCMALLOC_MEMFS_ABORT_ON_FAIL", NULL},
	{"TCMALLOC_MEMFS_DISABLE_FALLBACK", NULL},
	{"TCMALLOC_MEMFS_IGNORE_MMAP_FAIL", NULL},
	{"TCMALLOC_MEMFS_LIMIT_MB", NULL},
	{"TCMALLOC_MEMFS_MALLOC_PATH", "MALLOW_CONF=hugetlb:true"},
	{"TCMALLOC_MEMFS_MAP_PRIVATE", NULL},
	{"TCMALLOC_OVERRIDE_PAGESIZE", NULL},
	{"TCMALLOC_SKIP_MMAP", NULL},
	{"TCMALLOC_SKIP_SBRK", NULL},
	{"TCMALLOC_STACKTRACE_METHOD", NULL},
	{"TCMALLOC_STACKTRACE_METHOD_VERBOSE", NULL},
	{"TCMALLOC_TRANSFER_NUM_OBJ", NULL},
};

static const char *const library_names[MW_DOCTOR_LIBRARIES] = {
	[MW_DOCTOR_HEAP] = "libtcmalloc.so.4",
	[MW_DOCTOR_DEBUG] = "libtcmalloc_debug.so.4",
	[MW_DOCTOR_PROFILER] = "libprofiler.so.0",
};

/* Variables that act only with one of these. */
static const struct {
	const char *name;
	mw_doctor_library_t library;
} needing_library[] = {
	{"CPUPROFILE", MW_DOCTOR_PROFILER},
	{"HEAPCHECK", MW_DOCTOR_HEAP},
	{"HEAPPROFILE", MW_DOCTOR_HEAP},
	{"MALLOCSTATS", MW_DOCTOR_HEAP},
	{"TCMALLOC_AGGRESSIVE_DECOMMIT", MW_DOCTOR_HEAP},
	{"TCMALLOC_DISABLE_MEMORY_RELEASE", MW_DOCTOR_HEAP},
	{"TCMALLOC_HEAP_LIMIT_MB", MW_DOCTOR_HEAP},
	{"TCMALLOC_MAX_FREE_QUEUE_SIZE", MW_DOCTOR_DEBUG},
	{"TCMALLOC_PAGE_FENCE", MW_DOCTOR_DEBUG},
	{"TCMALLOC_PAGE_FENCE_NEVER_RECLAIM", MW_DOCTOR_DEBUG},
	{"TCMALLOC_PAGE_FENCE_READABLE", MW_DOCTOR_DEBUG},
	{"TCMALLOC_RECLAIM_MEMORY", MW_DOCTOR_DEBUG},
	{"TCMALLOC_RELEASE_RATE", MW_DOCTOR_HEAP},
	{"TCMALLOC_SAMPLE_PARAMETER", MW_DOCTOR_HEAP},
	{"TCMALLOC_SYMBOLIZE_STACKTRACE", MW_DOCTOR_DEBUG},
	{"TCMALLOC_TRACE", MW_DOCTOR_DEBUG},
	{"TCMALLOC_TRACE_FILE", MW_DOCTOR_DEBUG},
};

static bool is_set(int pid, const char *name) {
	if (pid == 0)
		return getenv(name) != NULL;
	char *value = mw_doctor_variable(pid, name);
	bool found = value != NULL;
	free(value);
	return found;
}

static void look_at_unused(mw_doctor_t *doctor, int pid) {
	for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++)
		if (is_set(pid, unused[i].name))
			mw_doctor_say(doctor, MW_HEALTH_NOTE, "environment",
				      "%s has no effect with mallow%s%s", unused[i].name,
				      unused[i].instead ? "; use " : "",
				      unused[i].instead ? unused[i].instead : "");
}

void mw_doctor_look_at_environment(mw_doctor_t *doctor, int pid,
				   const bool loaded[MW_DOCTOR_LIBRARIES]) {
	look_at_unused(doctor, pid);
	for (size_t i = 0; i < sizeof(needing_library) / sizeof(needing_library[0]); i++) {
		mw_doctor_library_t library = needing_library[i].library;
		if (loaded[library] || !is_set(pid, needing_library[i].name))
			continue;
		mw_doctor_say(doctor, MW_HEALTH_NOTE, "environment",
			      "%s has an effect only with mallow's %s; preload that library, or "
			      "start programs linked with it by 'mallow run --as gperftools'",
			      needing_library[i].name, library_names[library]);
	}
}
