/* SPDX-License-Identifier: MIT
 * test_map.c -- mappings: alignment, zero, purge, remap, and errno kept. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "os/memory/map.h"
#include "test.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static void test_alignment(void) {
	for (size_t align = 4096; align <= (size_t)64 << 20; align *= 4)
		for (size_t bytes = 4096; bytes <= (size_t)8 << 20; bytes *= 8) {
			unsigned char *base = mw_os_map_aligned(bytes, align);
			CHECK(base != NULL);
			CHECK_EQ((uintptr_t)base % align, 0);
			CHECK_EQ(base[0] | base[bytes - 1], 0);
			base[0] = base[bytes - 1] = 1;
			mw_os_unmap(base, bytes);
		}
}

static void test_purge_reads_as_zero(void) {
	size_t page = mw_os_page_bytes();
	unsigned char *base = mw_os_map(3 * page);
	memset(base, 7, 3 * page);
	CHECK(mw_os_purge(base + page, page));
	CHECK_EQ(base[page - 1], 7);
	CHECK_EQ(base[page], 0);
	CHECK_EQ(base[2 * page], 7);
	mw_os_unmap(base, 3 * page);
}

static bool is_all(const unsigned char *bytes, size_t count, unsigned char value) {
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

/* A kernel with larger pages would round up, and purge or close what is behind. */
static void test_parts_of_a_page(void) {
	size_t page = mw_os_page_bytes(), half = page / 2;
	unsigned char *base = mw_os_map(2 * page);
	memset(base, 7, 2 * page);
	CHECK(!mw_os_purge(base, half));
	CHECK(!mw_os_purge(base + half, half));
	CHECK(!mw_os_purge(base + half, page));
	CHECK(!mw_os_purge_lazily(base, half));
	CHECK(!mw_os_protect_none(base, half));
	CHECK(!mw_os_protect_none(base + half, half));
	CHECK(!mw_os_guard(base, half));
	CHECK(!mw_os_unprotect(base, half));
	CHECK(is_all(base, 2 * page, 7));
	mw_os_unmap(base, 2 * page);
	/* What is mapped ends with a page. */
	base = mw_os_map_aligned(half, half < 4096 ? 4096 : half);
	CHECK(base && (uintptr_t)base % page == 0);
	memset(base, 7, page);
	CHECK(mw_os_unmap(base, half));
}

static void test_prefault_brings_memory(void) {
	/* Parts of the kernel's pages are not asked for. */
	if (mw_os_page_bytes() != 4096)
		return;
	enum { PAGES = 16, BYTES = PAGES * 4096 };
	unsigned char *base = mw_os_map(BYTES), resident[PAGES];
	/* Kernels before 5.14 have no such call, and an emulator says yes to any. */
	bool known = madvise(base, 4096, MADV_POPULATE_WRITE) == 0 &&
		     mincore(base, 4096, resident) == 0 && resident[0] & 1;
	errno = 77;
	mw_os_prefault(base + 4096, BYTES - 2 * 4096);
	CHECK_EQ(errno, 77);
	CHECK_EQ(mincore(base, BYTES, resident), 0);
	for (int i = 1; i < PAGES - 1; i++)
		CHECK_EQ(resident[i] & 1, known);
	CHECK_EQ(resident[PAGES - 1] & 1, 0);
	CHECK_EQ(base[4096] | base[BYTES - 4097], 0);
	mw_os_unmap(base, BYTES);
	/* What is not there any more is no reason to stop asking, nor to fail. */
	mw_os_prefault(base, BYTES);
	CHECK_EQ(errno, 77);
}

static void test_remap_keeps_contents(void) {
	unsigned char *base = mw_os_map(4096);
	base[0] = 42;
	base = mw_os_remap(base, 4096, (size_t)16 << 20, true);
	CHECK(base != NULL);
	CHECK_EQ(base[0], 42);
	CHECK_EQ(base[((size_t)16 << 20) - 1], 0);
	CHECK(mw_os_remap(base, (size_t)16 << 20, 4096, false) == base);
	mw_os_unmap(base, 4096);
}

static void test_refusals_keep_errno(void) {
	errno = 77;
	CHECK(mw_os_map((size_t)1 << 60) == NULL);
	CHECK_EQ(errno, 77);
	/* An emulator does not look where it is. */
	bool is_refused = madvise((void *)4096, 4096, MADV_DONTNEED) != 0;
	errno = 77;
	CHECK_EQ(mw_os_purge((void *)4096, 4096), !is_refused);
	CHECK_EQ(errno, 77);
}

int main(void) {
	RUN(test_alignment);
	RUN(test_purge_reads_as_zero);
	RUN(test_parts_of_a_page);
	RUN(test_prefault_brings_memory);
	RUN(test_remap_keeps_contents);
	RUN(test_refusals_keep_errno);
	return 0;
}
