/* SPDX-License-Identifier: MIT
 * test_huge_pages.c -- what the kernel is told of mappings, and the pool when it is empty and when
 * it is not (where this machine lets us fill it). */
#include "os/memory/huge_pages.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "os/memory/map.h"
#include "os/platform/kernel_calls.h"
#include "test.h"

#define BYTES ((size_t)4 << 20)

#define DEFAULT MW_OS_HUGE_PAGES_DEFAULT
#define ALWAYS MW_OS_HUGE_PAGES_ALWAYS
#define NEVER MW_OS_HUGE_PAGES_NEVER
#define SYSTEM_ALWAYS MW_OS_HUGE_PAGES_SYSTEM_ALWAYS
#define SYSTEM_MADVISE MW_OS_HUGE_PAGES_SYSTEM_MADVISE
#define SYSTEM_NEVER MW_OS_HUGE_PAGES_SYSTEM_NEVER
#define LITTLE MW_OS_HUGE_PAGES_LITTLE
#define ALL MW_OS_HUGE_PAGES_ALL
#define UNKNOWN MW_OS_HUGE_PAGES_UNKNOWN

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

static bool agreed;

static char *mapped(mw_os_huge_pages_use_t use) {
	char *base = mw_os_map_aligned(BYTES, BYTES);
	CHECK(base);
	agreed = mw_os_huge_pages_advise(base, BYTES, use);
	return base;
}

static void the_kernel_is_told(void) {
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0)
		return; /* a kernel without them knows no such flags */
	static const struct {
		mw_os_huge_pages_t mode;
		mw_os_huge_pages_setting_t setting;
		mw_os_huge_pages_use_t use;
		bool agrees, hg, nh;
	} rows[] = {
		{DEFAULT, SYSTEM_ALWAYS, UNKNOWN, false, false, false},
		{DEFAULT, SYSTEM_ALWAYS, LITTLE, false, false, true},
		{DEFAULT, SYSTEM_ALWAYS, ALL, true, false, false},
		{DEFAULT, SYSTEM_MADVISE, UNKNOWN, false, false, false},
		{DEFAULT, SYSTEM_MADVISE, LITTLE, false, false, true},
		{DEFAULT, SYSTEM_MADVISE, ALL, true, true, false},
		{DEFAULT, SYSTEM_NEVER, ALL, false, false, false},
		{ALWAYS, SYSTEM_MADVISE, UNKNOWN, true, true, false},
		{ALWAYS, SYSTEM_MADVISE, LITTLE, true, true, false},
		{ALWAYS, SYSTEM_NEVER, ALL, false, true, false},
		{NEVER, SYSTEM_ALWAYS, UNKNOWN, false, false, true},
		{NEVER, SYSTEM_ALWAYS, ALL, false, false, true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		mw_os_huge_pages_set(rows[i].mode, false);
		mw_os_huge_pages_set_fake(rows[i].setting);
		char *base = mapped(rows[i].use);
		CHECK_EQ(agreed, rows[i].agrees);
		CHECK(has_flag(base, " hg") == rows[i].hg && has_flag(base, " nh") == rows[i].nh);
		mw_os_huge_pages_avoid(base, BYTES);
		CHECK(has_flag(base, " nh") == (rows[i].mode != ALWAYS));
		mw_os_unmap(base, BYTES);
	}
	mw_os_huge_pages_set_fake(0);
}

/* The word in brackets is read; a process that disabled huge pages for itself has none, and one
 * that forbids itself system calls reads nothing. */
static void the_setting_is_read(void) {
	char text[64] = "";
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
	if (!file)
		return;
	CHECK(fgets(text, sizeof text, file));
	fclose(file);
	mw_os_huge_pages_set(DEFAULT, false);
	errno = 7;
	char *base = mapped(ALL);
	CHECK_EQ(errno, 7);
	CHECK(agreed == !strstr(text, "[never]"));
	CHECK(has_flag(base, " hg") == (strstr(text, "[madvise]") != NULL));
	mw_os_unmap(base, BYTES);
	mw_os_confined = true;
	mw_os_huge_pages_set_fake(0);
	mw_os_unmap(mapped(ALL), BYTES);
	CHECK(!agreed);
	mw_os_confined = false;
	CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);
	mw_os_huge_pages_set_fake(0);
	mw_os_unmap(mapped(ALL), BYTES);
	CHECK(!agreed);
	CHECK(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0) == 0);
	mw_os_huge_pages_set_fake(0);
}

static void alignment(void) {
	mw_os_huge_pages_set(MW_OS_HUGE_PAGES_DEFAULT, false);
	CHECK_EQ(mw_os_huge_pages_align(BYTES), mw_os_page_bytes());
	mw_os_huge_pages_set(MW_OS_HUGE_PAGES_ALWAYS, false);
	CHECK_EQ(mw_os_huge_pages_align(BYTES), MW_OS_HUGE_PAGE_BYTES);
	CHECK_EQ(mw_os_huge_pages_align(MW_OS_HUGE_PAGE_BYTES - 1), mw_os_page_bytes());
}

/* However much the pool holds, the mapping can be used afterwards. */
static void the_pool_may_be_empty(void) {
	mw_os_huge_pages_set(MW_OS_HUGE_PAGES_DEFAULT, true);
	unsigned from_pool = 0;
	for (int i = 0; i < 8; i++) {
		char *base = mapped(UNKNOWN);
		bool lost;
		from_pool += mw_os_huge_pages_from_pool(base, BYTES, &lost);
		CHECK(!lost);
		memset(base, 1, BYTES);
		CHECK(base[0] == 1 && base[BYTES - 1] == 1);
	}
	printf("%u of 8 from the pool\n", from_pool);
	mw_os_huge_pages_set(MW_OS_HUGE_PAGES_DEFAULT, false);
	bool lost;
	CHECK(!mw_os_huge_pages_from_pool(mapped(UNKNOWN), BYTES, &lost) && !lost);
}

int main(void) {
	RUN(the_kernel_is_told);
	RUN(the_setting_is_read);
	RUN(alignment);
	RUN(the_pool_may_be_empty);
	return 0;
}
