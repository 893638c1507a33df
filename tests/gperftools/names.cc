/* SPDX-License-Identifier: MIT
 * names.cc -- calls each function of <gperftools/tcmalloc.h>, as gperftools' users do. */
#include <gperftools/nallocx.h>
#include <gperftools/tcmalloc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>

#include "gperftools_test.h"

static void check_malloc() {
	char *p = (char *)tc_malloc(100);
	CHECK(p && tc_malloc_size(p) >= 100 && malloc_usable_size(p) == tc_malloc_size(p));
	memset(p, 1, 100);
	p = (char *)tc_realloc(p, 1000);
	CHECK(p && p[99] == 1);
	free(p);
	p = (char *)tc_calloc(10, 10);
	CHECK(p && p[99] == 0);
	tc_cfree(p);
	tc_free_sized(malloc(40), 40);
	tc_free_aligned_sized(tc_memalign(64, 128), 64, 128);
	p = (char *)tc_malloc_skip_new_handler(10);
	CHECK(p);
	tc_free(p);
	void *aligned;
	CHECK(tc_posix_memalign(&aligned, 256, 300) == 0 && (uintptr_t)aligned % 256 == 0);
	tc_free(aligned);
	aligned = tc_valloc(10);
	CHECK((uintptr_t)aligned % 4096 == 0);
	tc_free(aligned);
	aligned = tc_pvalloc(10);
	CHECK((uintptr_t)aligned % 4096 == 0 && tc_malloc_size(aligned) >= 4096);
	tc_free(aligned);
	tc_free(nullptr);
	CHECK(tc_nallocx(100, 0) >= 100 && nallocx(100, MALLOCX_LG_ALIGN(8)) >= 100);
	CHECK(tc_mallopt(M_TRIM_THRESHOLD, 1 << 20) == 1);
	void *kept = malloc(1000);
	CHECK(tc_mallinfo2().uordblks >= 1000 && tc_mallinfo().uordblks >= 1000);
	free(kept);
}

static bool throws(void *(*allocate)(size_t)) {
	try {
		allocate(SIZE_MAX / 2);
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

static void check_operators() {
	::operator delete(tc_new(10));
	tc_delete(::operator new(10));
	tc_delete_sized(tc_new(10), 10);
	tc_delete_nothrow(tc_new_nothrow(10, std::nothrow), std::nothrow);
	tc_deletearray(tc_newarray(10));
	tc_deletearray_sized(tc_newarray(10), 10);
	tc_deletearray_nothrow(tc_newarray_nothrow(10, std::nothrow), std::nothrow);
	CHECK(tc_new_nothrow(SIZE_MAX / 2, std::nothrow) == nullptr);
	CHECK(tc_newarray_nothrow(SIZE_MAX / 2, std::nothrow) == nullptr);
	CHECK(throws(tc_new) && throws(tc_newarray));
	const std::align_val_t align{128};
	void *p = tc_new_aligned(10, align);
	CHECK((uintptr_t)p % 128 == 0);
	tc_delete_aligned(p, align);
	tc_delete_sized_aligned(tc_new_aligned(10, align), 10, align);
	p = tc_new_aligned_nothrow(10, align, std::nothrow);
	CHECK((uintptr_t)p % 128 == 0);
	tc_delete_aligned_nothrow(p, align, std::nothrow);
	CHECK(tc_new_aligned_nothrow(SIZE_MAX / 2, align, std::nothrow) == nullptr);
	tc_deletearray_aligned(tc_newarray_aligned(10, align), align);
	tc_deletearray_sized_aligned(tc_newarray_aligned(10, align), 10, align);
	p = tc_newarray_aligned_nothrow(10, align, std::nothrow);
	CHECK((uintptr_t)p % 128 == 0);
	tc_deletearray_aligned_nothrow(p, align, std::nothrow);
	CHECK(tc_query_new_mode() == 0 && tc_set_new_mode(1) == 0 && tc_set_new_mode(0) == 1);
}

int main() {
	int major, minor;
	const char *patch;
	CHECK(strcmp(tc_version(&major, &minor, &patch), TC_VERSION_STRING) == 0);
	CHECK(major == TC_VERSION_MAJOR && minor == TC_VERSION_MINOR);
	CHECK(strcmp(patch, TC_VERSION_PATCH) == 0);
	tc_version(nullptr, nullptr, nullptr);
	check_malloc();
	check_operators();
	return 0;
}
