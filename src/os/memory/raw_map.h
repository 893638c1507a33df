/* SPDX-License-Identifier: MIT
 * raw_map.h -- system calls on mappings, past the functions of libc that libmallow.so replaces
 * (api/process/mapping_calls.c).
 * Layer: os/memory. As the functions of libc: MAP_FAILED or -1 with errno at a refusal.
 * Async-signal-safe. */
#ifndef MW_OS_RAW_MAP_H
#define MW_OS_RAW_MAP_H

#include <stddef.h>
#include <sys/auxv.h>
#include <sys/types.h>

#include "os/platform/system_call.h"

#ifdef MW_TESTING
/* These functions call the kernel, or behave as one with the pages that a test forces
 * (os/memory/map.h). */
size_t mw_os_raw_page_bytes(void);
void *mw_os_raw_mmap(void *start, size_t bytes, int protection, int flags, int file, off_t offset);
int mw_os_raw_munmap(void *start, size_t bytes);
void *mw_os_raw_mremap(void *start, size_t bytes, size_t new_bytes, int flags, void *new_start);
#else
static inline size_t mw_os_raw_page_bytes(void) {
	return getauxval(AT_PAGESZ);
}
static inline void *mw_os_raw_mmap(void *start, size_t bytes, int protection, int flags, int file,
				   off_t offset) {
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel's answer is a number. */
	return (void *)mw_system_call(SYS_mmap, start, bytes, protection, flags, file, offset);
}

static inline int mw_os_raw_munmap(void *start, size_t bytes) {
	return (int)mw_system_call(SYS_munmap, start, bytes);
}

static inline void *mw_os_raw_mremap(void *start, size_t bytes, size_t new_bytes, int flags,
				     void *new_start) {
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel's answer is a number. */
	return (void *)mw_system_call(SYS_mremap, start, bytes, new_bytes, flags, new_start);
}
#endif

#endif
