/* SPDX-License-Identifier: MIT
 * page_presence.c -- reads /proc/<pid>/pagemap: a word for each page, whose bits 62 and 63 say that
 * the page is in swap or resident. A process that began as root and has become another user may not
 * open its own; mincore(2) tells which pages are resident, and sysinfo(2) that none is in swap. */
#include "os/file/page_presence.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/sysinfo.h>

#include "base/fmt.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/file/proc_threads.h"
#include "os/memory/map.h"
#include "os/platform/kernel_calls.h"
#include "os/platform/system_call.h"

#define PAGES_AT_ONCE 512u
/* Of mincore(2), which takes a byte for each page. */
#define BYTES_AT_ONCE (PAGES_AT_ONCE * sizeof(uint64_t))
#define HOLDS_MEMORY ((uint64_t)3 << 62)

typedef struct part {
	uintptr_t start, limit; /* present and not visited yet; equal: nothing */
	void (*visit)(uintptr_t start, uintptr_t limit);
} part_t;

static void add(part_t *part, uintptr_t start, uintptr_t limit, bool is_present) {
	if (is_present && part->limit == start && part->start < part->limit) {
		part->limit = limit;
		return;
	}
	if (part->start < part->limit)
		part->visit(part->start, part->limit);
	part->start = start;
	part->limit = is_present ? limit : start;
}

/* Returns the number of pages from the one of `at` on to the one before `limit`, at most `most`. */
static size_t pages_between(uintptr_t at, uintptr_t limit, size_t most) {
	uintptr_t page = mw_os_counted_page_bytes();
	size_t count = (limit - 1) / page - at / page + 1;
	return count < most ? count : most;
}

/* Adds the page of `at` as far as it lies in front of `limit`. Returns its end. */
static uintptr_t add_page(part_t *part, uintptr_t at, uintptr_t limit, bool is_present) {
	uintptr_t end = (at / mw_os_counted_page_bytes() + 1) * mw_os_counted_page_bytes();
	end = end < limit ? end : limit;
	add(part, at, end, is_present);
	return end;
}

/* Returns how far it came. */
static uintptr_t add_by_file(part_t *part, int file, uintptr_t at, uintptr_t limit) {
	uint64_t pages[PAGES_AT_ONCE];
	while (at < limit) {
		size_t count = pages_between(at, limit, PAGES_AT_ONCE);
		long bytes = mw_os_read_at(file, pages, count * sizeof *pages,
					   at / mw_os_counted_page_bytes() * sizeof *pages);
		if (bytes < (long)sizeof *pages)
			break;
		for (size_t i = 0; i < (size_t)bytes / sizeof *pages; i++)
			at = add_page(part, at, limit, (pages[i] & HOLDS_MEMORY) != 0);
	}
	return at;
}

/* Returns whether this process may make any system call: a filter of them may end it. */
static bool is_unfiltered(void) {
	static struct {
		uint32_t process_id;
		bool is_unfiltered;
	} known; /* of a copy of the process, which has one thread */
	uint32_t id = mw_os_process_id();
	if (known.process_id != id) {
		int tasks = mw_os_open(MW_OS_NO_DIRECTORY, "/proc/self/task", MW_OS_DIRECTORY);
		known.is_unfiltered =
			!mw_os_is_confined() && !mw_os_thread_filters_calls(tasks, id);
		known.process_id = id;
		mw_os_close(tasks);
	}
	return known.is_unfiltered;
}

/* mincore(2) does not tell a page that is in swap from one that was never touched. */
static bool is_swap_empty(void) {
	struct sysinfo system;
	return mw_enter_kernel(SYS_sysinfo, (long)&system, 0, 0, 0, 0, 0) == 0 &&
	       system.freeswap == system.totalswap;
}

/* Returns how far it came. */
static uintptr_t add_by_kernel(part_t *part, uintptr_t at, uintptr_t limit) {
	unsigned char pages[BYTES_AT_ONCE];
	uintptr_t page = mw_os_counted_page_bytes();
	while (at < limit) {
		size_t count = pages_between(at, limit, sizeof pages);
		if (mw_enter_kernel(SYS_mincore, (long)(at / page * page), (long)(count * page),
				    (long)pages, 0, 0, 0) != 0 ||
		    !is_swap_empty())
			break;
		for (size_t i = 0; i < count; i++)
			at = add_page(part, at, limit, (pages[i] & 1) != 0);
	}
	return at;
}

static MW_COLD void visit_by_file(const char *path, uintptr_t start, uintptr_t limit,
				  void (*visit)(uintptr_t start, uintptr_t limit)) {
	part_t part = {.visit = visit};
	int file = mw_os_open(MW_OS_NO_DIRECTORY, path, MW_OS_READ);
	uintptr_t at = start;
	if (file >= 0) {
		at = add_by_file(&part, file, at, limit);
		mw_os_close(file);
	} else if (is_unfiltered()) {
		at = add_by_kernel(&part, at, limit);
	}
	if (at < limit)
		add(&part, at, limit, true);
	add(&part, limit, limit, false);
}

MW_COLD void mw_os_visit_present(uintptr_t start, uintptr_t limit,
				 void (*visit)(uintptr_t start, uintptr_t limit)) {
	visit_by_file("/proc/self/pagemap", start, limit, visit);
}

MW_COLD void mw_os_visit_present_of(uint32_t process_id, uintptr_t start, uintptr_t limit,
				    void (*visit)(uintptr_t start, uintptr_t limit)) {
	char path[48];
	mw_fmt(path, sizeof path, "/proc/%u/pagemap", process_id);
	visit_by_file(path, start, limit, visit);
}
