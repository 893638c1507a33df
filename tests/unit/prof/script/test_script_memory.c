/* SPDX-License-Identifier: MIT
 * test_script_memory.c -- which reads of an interpreter's memory are allowed, and for how long an
 * answer of the kernel counts. */
#include <sys/mman.h>

#include "os/time/clock.h"
#include "prof/script/reader/script_memory.h"
#include "test.h"

enum { PAGE = MW_SCRIPT_PAGE_BYTES, PAGES = 64 };
/* Longer than an answer counts. */
#define LATER_NS UINT64_C(1000000000)

static uint64_t now_ns;

static uint64_t clock_of_test(void) {
	return now_ns;
}

static uintptr_t map(unsigned pages) {
	void *start = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(start != MAP_FAILED);
	return (uintptr_t)start;
}

static bool is_readable(uintptr_t address, size_t bytes) {
	mw_script_memory_t memory;
	mw_script_memory_begin(&memory);
	return mw_script_is_readable(&memory, address, bytes);
}

/* No page was asked about: what the table holds then must fit none. */
static void check_no_address(void) {
	for (unsigned i = 0; i < 4; i++, now_ns += LATER_NS) {
		CHECK(!is_readable(0, 8));
		CHECK(!is_readable(8, 8));
		CHECK(!is_readable(UINTPTR_MAX - 7, 8));
		CHECK(!is_readable((uintptr_t)1 << 48, 8));
	}
}

static void check_pages(void) {
	uintptr_t start = map(3), hole = start + PAGE;
	CHECK(munmap((void *)hole, PAGE) == 0);
	CHECK(is_readable(start, PAGE));
	CHECK(is_readable(hole - 8, 8));
	CHECK(!is_readable(hole - 8, 9));
	CHECK(!is_readable(hole, 8));
	CHECK(!is_readable(start, 3 * PAGE));
	CHECK(is_readable(hole + PAGE, PAGE));
	CHECK(!is_readable(start + 4, 8)); /* words are aligned */
	CHECK(!is_readable(start, SIZE_MAX - start));
}

/* More pages than one walk meets, twice: the second time they are known. */
static void check_many(void) {
	uintptr_t start = map(PAGES);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < PAGES; i++)
			CHECK(is_readable(start + i * (uintptr_t)PAGE, PAGE));
	CHECK(is_readable(start, (size_t)PAGES * PAGE));
}

static void check_age(void) {
	uintptr_t start = map(1);
	CHECK(is_readable(start, 8));
	CHECK(munmap((void *)start, PAGE) == 0);
	now_ns += LATER_NS;
	CHECK(!is_readable(start, 8));
}

int main(void) {
	mw_os_clock_set_source(clock_of_test);
	check_no_address();
	check_pages();
	check_many();
	check_age();
	return 0;
}
