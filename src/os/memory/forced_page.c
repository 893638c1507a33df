/* SPDX-License-Identifier: MIT
 * forced_page.c -- for tests: system calls on mappings as on a kernel whose pages are larger.
 * Places are multiples of such pages, sizes are rounded up, and anything else is refused. */
#include "os/memory/raw_map.h"

#ifdef MW_TESTING
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "os/memory/map.h"
#include "os/platform/secure_environment.h"

size_t mw_os_raw_page_bytes(void) {
	const char *forced = mw_environment("MALLOW_TEST_PAGE_BYTES");
	return forced ? (size_t)strtoul(forced, NULL, 10) : mw_os_counted_page_bytes();
}

size_t mw_os_counted_page_bytes(void) {
	return getauxval(AT_PAGESZ);
}

static void *raw(void *start, size_t bytes, int protection, int flags, int file, off_t offset) {
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel's answer is a number. */
	return (void *)mw_system_call(SYS_mmap, start, bytes, protection, flags, file, offset);
}

static void *refuse(int why) {
	errno = why;
	return MAP_FAILED;
}

static bool is_place(uint64_t place) {
	return (place & (mw_os_page_bytes() - 1)) == 0;
}

/* Returns free address space that begins where a page does. */
static char *find_place(size_t bytes) {
	size_t page = mw_os_page_bytes();
	if (bytes > (size_t)PTRDIFF_MAX - page)
		return refuse(ENOMEM);
	char *base = raw(NULL, bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			 -1, 0);
	if (base == MAP_FAILED)
		return base;
	size_t before = (0 - (uintptr_t)base) & (page - 1);
	if (before)
		mw_system_call(SYS_munmap, base, before);
	mw_system_call(SYS_munmap, base + before + bytes, page - before);
	return base + before;
}

void *mw_os_raw_mmap(void *start, size_t bytes, int protection, int flags, int file, off_t offset) {
	size_t whole = mw_os_whole_pages(bytes);
	if (whole < bytes)
		return refuse(ENOMEM);
	if (!is_place((uint64_t)offset))
		return refuse(EINVAL);
	if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
		return is_place((uintptr_t)start)
			       ? raw(start, whole, protection, flags, file, offset)
			       : refuse(EINVAL);
	char *place = find_place(whole);
	if (place == MAP_FAILED)
		return place;
	void *mapped = raw(place, whole, protection, flags | MAP_FIXED, file, offset);
	if (mapped == MAP_FAILED)
		mw_system_call(SYS_munmap, place, whole);
	return mapped;
}

int mw_os_raw_munmap(void *start, size_t bytes) {
	if (!is_place((uintptr_t)start)) {
		errno = EINVAL;
		return -1;
	}
	return (int)mw_system_call(SYS_munmap, start, mw_os_whole_pages(bytes));
}

void *mw_os_raw_mremap(void *start, size_t bytes, size_t new_bytes, int flags, void *new_start) {
	size_t whole = mw_os_whole_pages(new_bytes);
	if (!is_place((uintptr_t)start) || whole < new_bytes)
		return refuse(EINVAL);
	bytes = mw_os_whole_pages(bytes);
	/* NOLINTBEGIN(performance-no-int-to-ptr): the kernel's answer is a number. */
	if (!(flags & MREMAP_MAYMOVE) || flags & MREMAP_FIXED)
		return (void *)mw_system_call(SYS_mremap, start, bytes, whole, flags, new_start);
	void *moved = (void *)mw_system_call(SYS_mremap, start, bytes, whole,
					     flags & ~MREMAP_MAYMOVE, NULL);
	if (moved != MAP_FAILED)
		return moved;
	char *place = find_place(whole);
	if (place == MAP_FAILED)
		return place;
	moved = (void *)mw_system_call(SYS_mremap, start, bytes, whole, flags | MREMAP_FIXED,
				       place);
	/* NOLINTEND(performance-no-int-to-ptr) */
	if (moved == MAP_FAILED)
		mw_system_call(SYS_munmap, place, whole);
	return moved;
}
#endif
