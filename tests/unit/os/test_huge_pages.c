/* SPDX-License-Identifier: MIT
 * test_huge_pages.c -- what the kernel is told of mappings, and the pool when it is empty and when
 * it is not (where this machine lets us fill it). */
#include "os/memory/huge_pages.h"

#include <stdbool.h>
#include <unistd.h>

#include "os/memory/map.h"
#include "test.h"

#define BYTES ((size_t)4 << 20)

/* The line of /proc/self/smaps that begins with `name`, of the mapping that holds `address`. */
static void smaps_line(const void *address, const char *name, char line[512]) {
	FILE *file = fopen("/proc/self/smaps", "r");
	unsigned long start, limit;
	bool ours = false, found = false;
	CHECK(file);
	while (!found && fgets(line, 512, file)) {
		if (sscanf(line, "%lx-%lx ", &start, &limit) == 2)
			ours = (unsigned long)address >= start && (unsigned long)address < limit;
		found = ours && strncmp(line, name, strlen(name)) == 0;
	}
	fclose(file);
	CHECK(found);
}

static bool has_flag(const void *address, const char *flag) {
	char line[512];
	smaps_line(address, "VmFlags:", line);
	return strstr(line, flag) != NULL;
}

static char *mapped(bool small_heap) {
	char *base = mw_os_map_aligned(BYTES, BYTES);
	CHECK(base);
	mw_os_huge_pages_advise(base, BYTES, small_heap);
	return base;
}

static void the_kernel_is_told(void) {
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0)
		return; /* a kernel without them knows no such flags */
	static const struct {
		mw_os_huge_pages_t mode;
		bool small_heap, hg, nh;
	} rows[] = {
		{MW_OS_HUGE_PAGES_DEFAULT, false, false, false},
		{MW_OS_HUGE_PAGES_DEFAULT, true, false, true},
		{MW_OS_HUGE_PAGES_ALWAYS, false, true, false},
		{MW_OS_HUGE_PAGES_ALWAYS, true, true, false},
		{MW_OS_HUGE_PAGES_NEVER, false, false, true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		mw_os_huge_pages_set(rows[i].mode, false);
		char *base = mapped(rows[i].small_heap);
		CHECK(has_flag(base, " hg") == rows[i].hg && has_flag(base, " nh") == rows[i].nh);
		mw_os_unmap(base, BYTES);
	}
}

static void alignment(void) {
	mw_os_huge_pages_set(MW_OS_HUGE_PAGES_DEFAULT, false);
	CHECK_EQ(mw_os_huge_pages_align(BYTES), 4096);
	mw_os_huge_pages_set(MW_OS_HUGE_PAGES_ALWAYS, false);
	CHECK_EQ(mw_os_huge_pages_align(BYTES), MW_OS_HUGE_PAGE_BYTES);
	CHECK_EQ(mw_os_huge_pages_align(MW_OS_HUGE_PAGE_BYTES - 1), 4096);
}

/* However much the pool holds, the mapping can be used afterwards. */
static void the_pool_may_be_empty(void) {
	mw_os_huge_pages_set(MW_OS_HUGE_PAGES_DEFAULT, true);
	unsigned from_pool = 0;
	for (int i = 0; i < 8; i++) {
		char *base = mapped(false);
		bool lost;
		from_pool += mw_os_huge_pages_from_pool(base, BYTES, &lost);
		CHECK(!lost);
		memset(base, 1, BYTES);
		CHECK(base[0] == 1 && base[BYTES - 1] == 1);
	}
	printf("%u of 8 from the pool\n", from_pool);
	mw_os_huge_pages_set(MW_OS_HUGE_PAGES_DEFAULT, false);
	bool lost;
	CHECK(!mw_os_huge_pages_from_pool(mapped(false), BYTES, &lost) && !lost);
}

int main(void) {
	RUN(the_kernel_is_told);
	RUN(alignment);
	RUN(the_pool_may_be_empty);
	return 0;
}
