/* SPDX-License-Identifier: MIT
 * process_info.c -- times and memory of the process, subprocesses, and functions of mimalloc that
 * have no effect in mallow. */
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "compat/mimalloc/mimalloc.h"
#include "os/file/proc.h"
#include "os/time/clock.h"

/* ---- times and memory ---- */

static size_t milliseconds(const struct timeval *time) {
	return (size_t)time->tv_sec * 1000 + (size_t)time->tv_usec / 1000;
}

/* Returns the nanoseconds since the process began, known to a tick of 10 ms; 0: /proc is not
 * there. */
static uint64_t age_ns(void) {
	struct timespec now;
	uint64_t ticks = mw_os_start_ticks(), a_second = (uint64_t)sysconf(_SC_CLK_TCK);
	if (ticks == 0 || a_second == 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
		return 0;
	uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	uint64_t start_ns = ticks * (1000000000u / a_second);
	return now_ns > start_ns ? now_ns - start_ns : 0;
}

/* The elapsed time counts from the process's start, as the first call may be its last: the
 * statistics at exit. */
static size_t elapsed(void) {
	static _Atomic uint64_t start_ns;
	uint64_t now_ns = mw_os_monotonic_ns(), expected = 0;
	if (start_ns == 0)
		atomic_compare_exchange_strong(&start_ns, &expected, now_ns - age_ns());
	return (size_t)((now_ns - start_ns) / 1000000);
}

static void store(size_t *place, size_t value) {
	if (place)
		*place = value;
}

void mi_process_info(size_t *elapsed_msecs, size_t *user_msecs, size_t *system_msecs,
		     size_t *current_rss, size_t *peak_rss, size_t *current_commit,
		     size_t *peak_commit, size_t *page_faults) {
	struct rusage usage = {0};
	getrusage(RUSAGE_SELF, &usage);
	mi_stats_t stats;
	mi_stats_get(sizeof stats, &stats);
	uint64_t resident = mw_os_resident_bytes(NULL);
	store(elapsed_msecs, elapsed());
	store(user_msecs, milliseconds(&usage.ru_utime));
	store(system_msecs, milliseconds(&usage.ru_stime));
	store(current_rss, resident);
	store(peak_rss, (size_t)usage.ru_maxrss * 1024);
	store(current_commit, (size_t)stats.committed.current);
	store(peak_commit, (size_t)stats.committed.peak);
	store(page_faults, (size_t)usage.ru_majflt);
}

void mw_mi_text_process(mw_mi_text_t *text) {
	size_t wall, user, system, faults, rss, peak_rss, commit, peak_commit;
	mi_process_info(&wall, &user, &system, &rss, &peak_rss, &commit, &peak_commit, &faults);
	mw_mi_text_add(text, "%10s %zu.%03zu s\n", "elapsed:", wall / 1000, wall % 1000);
	mw_mi_text_add(text,
		       "%10s user: %zu.%03zu s, system: %zu.%03zu s, faults: %zu, rss: %zu KiB, "
		       "peak rss: %zu KiB, commit: %zu KiB, peak commit: %zu KiB\n",
		       "process:", user / 1000, user % 1000, system / 1000, system % 1000, faults,
		       rss >> 10, peak_rss >> 10, commit >> 10, peak_commit >> 10);
}

void mi_process_info_print_out(mi_output_fun *out, void *arg) {
	mw_mi_text_t text = {.length = 0};
	mw_mi_text_process(&text);
	mw_mi_text_print(&text, out, arg);
}

void mi_process_info_print(void) {
	mi_process_info_print_out(NULL, NULL);
}

/* ---- subprocesses: all share one heap ---- */

static MW_TLS mi_subproc_id_t current_subproc;

mi_subproc_id_t mi_subproc_main(void) {
	return NULL;
}

mi_subproc_id_t mi_subproc_new(void) {
	static _Atomic uintptr_t newest;
	return (mi_subproc_id_t)(atomic_fetch_add(&newest, 1) + 1);
}

mi_subproc_id_t mi_subproc_current(void) {
	return current_subproc;
}

void mi_subproc_add_current_thread(mi_subproc_id_t subproc) {
	current_subproc = subproc;
}

void mi_subproc_delete(mi_subproc_id_t subproc) {
	(void)subproc;
}

void mi_subproc_destroy(mi_subproc_id_t subproc) {
	(void)subproc;
}

/* ---- guard pages: the option prof_guard ---- */

void mi_heap_guarded_set_sample_rate(mi_heap_t *heap, size_t sample_rate, size_t seed) {
	(void)heap;
	(void)sample_rate;
	(void)seed;
}

void mi_heap_guarded_set_size_bound(mi_heap_t *heap, size_t min, size_t max) {
	(void)heap;
	(void)min;
	(void)max;
}

void mi_theap_guarded_set_sample_rate(mi_theap_t *theap, size_t sample_rate, size_t seed) {
	(void)theap;
	(void)sample_rate;
	(void)seed;
}

void mi_theap_guarded_set_size_bound(mi_theap_t *theap, size_t min, size_t max) {
	(void)theap;
	(void)min;
	(void)max;
}
