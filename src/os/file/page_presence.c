/* SPDX-License-Identifier: MIT
 * page_presence.c -- reads /proc/<pid>/pagemap: a word for each page, whose bits 62 and 63 say that
 * the page is in swap or resident. */
#include "os/file/page_presence.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/fmt.h"
#include "os/file/file.h"
#include "os/memory/map.h"

#define PAGES_AT_ONCE 512u
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

static MW_COLD void visit_by_file(const char *path, uintptr_t start, uintptr_t limit,
				  void (*visit)(uintptr_t start, uintptr_t limit)) {
	uint64_t pages[PAGES_AT_ONCE];
	part_t part = {.visit = visit};
	int file = mw_os_open(MW_OS_NO_DIRECTORY, path, MW_OS_READ);
	uintptr_t at = start;
	while (at < limit) {
		uintptr_t first = at / mw_os_counted_page_bytes(),
			  count = (limit - 1) / mw_os_counted_page_bytes() - first + 1;
		count = count < PAGES_AT_ONCE ? count : PAGES_AT_ONCE;
		long bytes = file < 0 ? -1
				      : mw_os_read_at(file, pages, count * sizeof *pages,
						      first * sizeof *pages);
		if (bytes < (long)sizeof *pages)
			break;
		for (size_t i = 0; i < (size_t)bytes / sizeof *pages; i++) {
			uintptr_t end = (first + i + 1) * mw_os_counted_page_bytes();
			end = end < limit ? end : limit;
			add(&part, at, end, (pages[i] & HOLDS_MEMORY) != 0);
			at = end;
		}
	}
	if (at < limit)
		add(&part, at, limit, true);
	add(&part, limit, limit, false);
	if (file >= 0)
		mw_os_close(file);
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
