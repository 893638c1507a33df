/* SPDX-License-Identifier: MIT
 * kernel_calls.h -- which calls to the kernel may be made, and which of them a test makes fail.
 * Layer: os/platform. Async-signal-safe.
 *
 * A program may forbid system calls to itself (seccomp(2)). In such a process src/os makes only
 * system calls that any malloc makes: mmap, munmap, mremap, mprotect, madvise, futex, sched_yield,
 * and write for messages. Other functions of src/os report a refusal of the kernel, which each
 * caller handles. A test makes the Nth call fail to see that. */
#ifndef MW_OS_PLATFORM_KERNEL_CALLS_H
#define MW_OS_PLATFORM_KERNEL_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"

/* true: the program forbids system calls; set by mw_os_confine() of os/file/proc.h */
extern _Atomic bool mw_os_confined;

MW_ALWAYS_INLINE bool mw_os_is_confined(void) {
	/* Relaxed: a thread that sets a filter for itself has stored the value before. A filter for
	 * all threads takes effect later than the store becomes visible. */
	return atomic_load_explicit(&mw_os_confined, memory_order_relaxed);
}

/* Calls that tests make fail. */
typedef enum mw_os_call {
	MW_OS_MAP,
	MW_OS_UNMAP,
	MW_OS_PURGE,
	MW_OS_PREFAULT,
	MW_OS_REMAP,
	MW_OS_OPEN,
	MW_OS_TRUNCATE,
	MW_OS_POPULATE,
	MW_OS_POPULATE_KNOWN, /* failure: the kernel is too old for MADV_POPULATE_WRITE */
	MW_OS_STAT,
	MW_OS_MKDIR,
	MW_OS_WRITE,
	MW_OS_PROTECT, /* removing or restoring access to pages */
	MW_OS_TRACE,   /* beginning to trace a thread */
	MW_OS_PROBE,   /* test whether an address is readable; failure: it is not */
} mw_os_call_t;

#ifdef MW_TESTING
/* Set by a test. Result true: the call fails as if the kernel had refused it. */
extern bool (*mw_os_fault_hook)(mw_os_call_t call);
static inline bool mw_os_fault(mw_os_call_t call) {
	return mw_os_fault_hook && mw_os_fault_hook(call);
}
#else
static inline bool mw_os_fault(mw_os_call_t call) {
	(void)call;
	return false;
}
#endif

#endif
