/* SPDX-License-Identifier: MIT
 * mapping_calls.c -- replaces mmap(2), munmap(2), mremap(2), sbrk(2), shmat(2) and shmdt(2), so
 * that what a program maps past malloc can be recorded (option prof_mappings) and watched. While
 * neither is on, each function makes its system call and does nothing else. Calls inside of libc,
 * such as for threads' stacks and loaded objects, do not come here. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/memory/raw_map.h"
#include "os/platform/system_call.h"
#include "prof/mapping_hooks.h"

static void *as_pointer(long result) {
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel's answer is a number. */
	return (void *)result;
}

static void *unconst(const void *address) {
	return (void *)(uintptr_t)address;
}

static void *make_mmap(const mw_mapping_call_t *call) {
	return mw_os_raw_mmap(unconst(call->address), call->length, call->protection, call->flags,
			      call->file, call->offset);
}

MW_EXPORT void *mmap(void *start, size_t bytes, int protection, int flags, int file, off_t offset) {
	if (MW_LIKELY(!mw_mappings_are_used()))
		return mw_os_raw_mmap(start, bytes, protection, flags, file, offset);
	mw_mapping_call_t call = {.function = MW_CALL_MMAP,
				  .address = start,
				  .length = bytes,
				  .protection = protection,
				  .flags = flags,
				  .file = file,
				  .offset = offset};
	return mw_mapping_call(&call, make_mmap);
}

_Static_assert(sizeof(off_t) == sizeof(off64_t), "mmap64 is mmap");
MW_EXPORT void *mmap64(void *start, size_t bytes, int protection, int flags, int file,
		       off64_t offset) __attribute__((alias("mmap")));

static void *make_munmap(const mw_mapping_call_t *call) {
	return as_pointer(mw_os_raw_munmap(unconst(call->address), call->length));
}

MW_EXPORT int munmap(void *start, size_t bytes) {
	if (MW_LIKELY(!mw_mappings_are_used()))
		return mw_os_raw_munmap(start, bytes);
	mw_mapping_call_t call = {.function = MW_CALL_MUNMAP, .address = start, .length = bytes};
	return mw_mapping_call(&call, make_munmap) == MAP_FAILED ? -1 : 0;
}

static void *make_mremap(const mw_mapping_call_t *call) {
	return mw_os_raw_mremap(unconst(call->address), call->length, call->new_length, call->flags,
				unconst(call->new_address));
}

MW_EXPORT void *mremap(void *start, size_t bytes, size_t new_bytes, int flags, ...) {
	void *new_start = NULL;
	if (flags & ~MREMAP_MAYMOVE) {
		va_list list;
		va_start(list, flags);
		new_start = va_arg(list, void *);
		va_end(list);
	}
	if (MW_LIKELY(!mw_mappings_are_used()))
		return mw_os_raw_mremap(start, bytes, new_bytes, flags, new_start);
	mw_mapping_call_t call = {.function = MW_CALL_MREMAP,
				  .address = start,
				  .length = bytes,
				  .new_length = new_bytes,
				  .flags = flags,
				  .new_address = new_start};
	return mw_mapping_call(&call, make_mremap);
}

/* libc keeps the end of the data segment in a variable of its own, so sbrk() must call libc's. */
typedef void *sbrk_t(intptr_t increment);

static sbrk_t *next_sbrk(void) {
	static _Atomic(sbrk_t *) known;
	sbrk_t *function = atomic_load_explicit(&known, memory_order_relaxed);
	if (!function) {
		*(void **)&function = dlsym(RTLD_NEXT, "sbrk");
		atomic_store_explicit(&known, function, memory_order_relaxed);
	}
	return function;
}

static void *make_sbrk(const mw_mapping_call_t *call) {
	sbrk_t *function = next_sbrk();
	if (function)
		return function((intptr_t)call->offset);
	errno = ENOMEM;
	return MAP_FAILED;
}

MW_EXPORT void *sbrk(intptr_t increment) {
	mw_mapping_call_t call = {.function = MW_CALL_SBRK, .offset = increment};
	if (MW_LIKELY(!mw_mappings_are_used()))
		return make_sbrk(&call);
	return mw_mapping_call(&call, make_sbrk);
}

static void *make_shmat(const mw_mapping_call_t *call) {
	return as_pointer(mw_system_call(SYS_shmat, call->file, call->address, call->flags));
}

MW_EXPORT void *shmat(int segment, const void *start, int flags) {
	mw_mapping_call_t call = {
		.function = MW_CALL_SHMAT, .file = segment, .address = start, .flags = flags};
	if (MW_LIKELY(!mw_mappings_are_used()))
		return make_shmat(&call);
	return mw_mapping_call(&call, make_shmat);
}

static void *make_shmdt(const mw_mapping_call_t *call) {
	return as_pointer(mw_system_call(SYS_shmdt, call->address));
}

MW_EXPORT int shmdt(const void *start) {
	if (MW_LIKELY(!mw_mappings_are_used()))
		return (int)mw_system_call(SYS_shmdt, start);
	mw_mapping_call_t call = {.function = MW_CALL_SHMDT, .address = start};
	return mw_mapping_call(&call, make_shmdt) == MAP_FAILED ? -1 : 0;
}
