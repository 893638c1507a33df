/* SPDX-License-Identifier: MIT
 * test_object.c -- the object of an address: the program, libc, the vdso, libraries loaded later.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "os/unwind/object.h"
#include "test.h"

static void check_sound(const mw_os_object_t *object, uintptr_t address) {
	CHECK(address >= object->text_lo && address < object->text_hi);
	CHECK(object->eh_frame_hdr != 0);
	CHECK(object->eh_frame_hdr >= object->data_lo && object->eh_frame_hdr < object->data_hi);
	/* Version 1, and the table's encoding. */
	const uint8_t *hdr = (const uint8_t *)object->eh_frame_hdr;
	CHECK_EQ(hdr[0], 1);
	CHECK_EQ(hdr[3], 0x3b);
}

static void test_permanent(void) {
	const uintptr_t addresses[] = {(uintptr_t)test_permanent, (uintptr_t)qsort};
	mw_os_object_t object;
	for (unsigned i = 0; i < 2; i++) {
		CHECK(mw_os_object_find(addresses[i], &object));
		CHECK(object.is_permanent);
		check_sound(&object, addresses[i]);
		/* All of its text, and nothing beside it. */
		mw_os_object_t same;
		CHECK(mw_os_object_find(object.text_lo, &same) && same.text_lo == object.text_lo);
		CHECK(mw_os_object_find(object.text_hi - 1, &same) &&
		      same.text_lo == object.text_lo);
		CHECK(!mw_os_object_find(object.text_lo - 1, &same) ||
		      same.text_lo != object.text_lo);
		CHECK(!mw_os_object_find(object.text_hi, &same) || same.text_lo != object.text_lo);
	}
}

static void test_vdso(void) {
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
	mw_os_object_t object;
	bool found = false;
	/* Its text begins within its first pages. */
	for (uintptr_t at = vdso; vdso && at < vdso + 8192 && !found; at += 64)
		found = mw_os_object_find(at, &object);
	CHECK(vdso == 0 || found);
	CHECK(vdso == 0 || object.is_permanent);
}

static void test_nowhere(void) {
	/* Not constant: constants may lie in the segment of the code. */
	static uintptr_t data = 1;
	uintptr_t local = 0;
	mw_os_object_t object;
	errno = 4711;
	CHECK(!mw_os_object_find(0, &object));
	CHECK(!mw_os_object_find(UINTPTR_MAX, &object));
	CHECK(!mw_os_object_find((uintptr_t)&local, &object));
	CHECK(!mw_os_object_find((uintptr_t)&data, &object));
	CHECK_EQ(errno, 4711);
}

static void test_loaded_later(void) {
	mw_os_object_t object;
	/* Part of libc's package, and loaded by no program that looks up no users. */
	void *handle = dlopen("libnss_compat.so.2", RTLD_LAZY);
	CHECK(handle != NULL);
	uintptr_t inside = (uintptr_t)dlsym(handle, "_nss_compat_getpwnam_r");
	CHECK(inside != 0);
	CHECK(mw_os_object_can_ask_loader());
	CHECK(mw_os_object_find(inside, &object));
	CHECK(!object.is_permanent);
	check_sound(&object, inside);
	CHECK(dlclose(handle) == 0);
	CHECK(!mw_os_object_find(inside, &object));
}

int main(void) {
	mw_os_object_start();
	RUN(test_permanent);
	RUN(test_vdso);
	RUN(test_nowhere);
	RUN(test_loaded_later);
	return 0;
}
