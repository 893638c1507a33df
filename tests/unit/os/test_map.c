/* SPDX-License-Identifier: MIT
 * test_map.c -- mappings: alignment, zero, purge, remap, and errno kept. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "os/map.h"
#include "test.h"

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
	unsigned char *base = mw_os_map(3 * 4096);
	memset(base, 7, 3 * 4096);
	CHECK(mw_os_purge(base + 4096, 4096));
	CHECK_EQ(base[4095], 7);
	CHECK_EQ(base[4096], 0);
	CHECK_EQ(base[8192], 7);
	mw_os_unmap(base, 3 * 4096);
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
	RUN(test_remap_keeps_contents);
	RUN(test_refusals_keep_errno);
	return 0;
}
