/* SPDX-License-Identifier: MIT
 * mapping_calls.c -- replaces mmap(2), munmap(2), mremap(2), sbrk(2), shmat(2) and shmdt(2), so
 * that what a program maps past malloc can be recorded (option prof_mappings) and watched. While
 * neither is on, each function calls the next definition and does nothing else: libc's, which a
 * library for network cards may have patched, or that of such a library itself. Before the next
 * definitions are known, each function but sbrk(2) makes its system call. Calls inside of libc,
 * such as for threads' stacks and loaded objects, do not come here, nor does mallow's own memory.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "api/process/next_calls.h"
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

/* ---- the next definitions ---- */

static void *next_mmap(mw_next_call_t which, void *start, size_t bytes, int protection, int flags,
		       int file, off_t offset) {
	void *(*next)(void *, size_t, int, int, int, off_t);
	*(void **)&next = mw_next_call(which);
	return MW_LIKELY(next != NULL)
		       ? next(start, bytes, protection, flags, file, offset)
		       : mw_os_raw_mmap(start, bytes, protection, flags, file, offset);
}

static int next_munmap(void *start, size_t bytes) {
	int (*next)(void *, size_t);
	*(void **)&next = mw_next_call(MW_NEXT_MUNMAP);
	return MW_LIKELY(next != NULL) ? next(start, bytes) : mw_os_raw_munmap(start, bytes);
}

static void *next_mremap(void *start, size_t bytes, size_t new_bytes, int flags, void *new_start) {
	void *(*next)(void *, size_t, size_t, int, ...);
	*(void **)&next = mw_next_call(MW_NEXT_MREMAP);
	return MW_LIKELY(next != NULL)
		       ? next(start, bytes, new_bytes, flags, new_start)
		       : mw_os_raw_mremap(start, bytes, new_bytes, flags, new_start);
}

/* libc keeps the end of the data segment in a variable of its own, so sbrk() must call libc's. */
static void *next_sbrk(intptr_t increment) {
	void *(*next)(intptr_t);
	*(void **)&next = mw_next_call_now(MW_NEXT_SBRK);
	if (next)
		return next(increment);
	errno = ENOMEM;
	return MAP_FAILED;
}

static void *next_shmat(int segment, const void *start, int flags) {
	void *(*next)(int, const void *, int);
	*(void **)&next = mw_next_call(MW_NEXT_SHMAT);
	return MW_LIKELY(next != NULL)
		       ? next(segment, start, flags)
		       : as_pointer(mw_system_call(SYS_shmat, segment, start, flags));
}

static int next_shmdt(const void *start) {
	int (*next)(const void *);
	*(void **)&next = mw_next_call(MW_NEXT_SHMDT);
	return MW_LIKELY(next != NULL) ? next(start) : (int)mw_system_call(SYS_shmdt, start);
}

/* ---- the program's calls ---- */

static void *make_mmap(const mw_mapping_call_t *call) {
	return next_mmap(MW_NEXT_MMAP, unconst(call->address), call->length, call->protection,
			 call->flags, call->file, call->offset);
}

MW_ALWAYS_INLINE void *map(mw_next_call_t which, void *(*make)(const mw_mapping_call_t *),
			   void *start, size_t bytes, int protection, int flags, int file,
			   off_t offset) {
	if (MW_LIKELY(!mw_mappings_are_used()))
		return next_mmap(which, start, bytes, protection, flags, file, offset);
	mw_mapping_call_t call = {.function = MW_CALL_MMAP,
				  .address = start,
				  .length = bytes,
				  .protection = protection,
				  .flags = flags,
				  .file = file,
				  .offset = offset};
	return mw_mapping_call(&call, make);
}

MW_EXPORT void *mmap(void *start, size_t bytes, int protection, int flags, int file, off_t offset) {
	return map(MW_NEXT_MMAP, make_mmap, start, bytes, protection, flags, file, offset);
}

#ifndef mmap64 /* with musl another name for mmap */
_Static_assert(sizeof(off_t) == sizeof(off64_t), "mmap64 takes what mmap takes");

static void *make_mmap64(const mw_mapping_call_t *call) {
	return next_mmap(MW_NEXT_MMAP64, unconst(call->address), call->length, call->protection,
			 call->flags, call->file, call->offset);
}

MW_EXPORT void *mmap64(void *start, size_t bytes, int protection, int flags, int file,
		       off64_t offset) {
	return map(MW_NEXT_MMAP64, make_mmap64, start, bytes, protection, flags, file, offset);
}
#endif

static void *make_munmap(const mw_mapping_call_t *call) {
	return as_pointer(next_munmap(unconst(call->address), call->length));
}

MW_EXPORT int munmap(void *start, size_t bytes) {
	if (MW_LIKELY(!mw_mappings_are_used()))
		return next_munmap(start, bytes);
	mw_mapping_call_t call = {.function = MW_CALL_MUNMAP, .address = start, .length = bytes};
	return mw_mapping_call(&call, make_munmap) == MAP_FAILED ? -1 : 0;
}

static void *make_mremap(const mw_mapping_call_t *call) {
	return next_mremap(unconst(call->address), call->length, call->new_length, call->flags,
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
		return next_mremap(start, bytes, new_bytes, flags, new_start);
	mw_mapping_call_t call = {.function = MW_CALL_MREMAP,
				  .address = start,
				  .length = bytes,
				  .new_length = new_bytes,
				  .flags = flags,
				  .new_address = new_start};
	return mw_mapping_call(&call, make_mremap);
}

static void *make_sbrk(const mw_mapping_call_t *call) {
	return next_sbrk((intptr_t)call->offset);
}

MW_EXPORT void *sbrk(intptr_t increment) {
	mw_mapping_call_t call = {.function = MW_CALL_SBRK, .offset = increment};
	if (MW_LIKELY(!mw_mappings_are_used()))
		return next_sbrk(increment);
	return mw_mapping_call(&call, make_sbrk);
}

static void *make_shmat(const mw_mapping_call_t *call) {
	return next_shmat(call->file, call->address, call->flags);
}

MW_EXPORT void *shmat(int segment, const void *start, int flags) {
	mw_mapping_call_t call = {
		.function = MW_CALL_SHMAT, .file = segment, .address = start, .flags = flags};
	if (MW_LIKELY(!mw_mappings_are_used()))
		return next_shmat(segment, start, flags);
	return mw_mapping_call(&call, make_shmat);
}

static void *make_shmdt(const mw_mapping_call_t *call) {
	return as_pointer(next_shmdt(call->address));
}

MW_EXPORT int shmdt(const void *start) {
	if (MW_LIKELY(!mw_mappings_are_used()))
		return next_shmdt(start);
	mw_mapping_call_t call = {.function = MW_CALL_SHMDT, .address = start};
	return mw_mapping_call(&call, make_shmdt) == MAP_FAILED ? -1 : 0;
}
