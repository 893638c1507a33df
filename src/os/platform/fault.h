/* SPDX-License-Identifier: MIT
 * fault.h -- lets tests make the Nth call to the kernel fail.
 * Layer: os/platform.  Compiled to nothing unless MW_TESTING is defined. */
#ifndef MW_OS_FAULT_H
#define MW_OS_FAULT_H

#include <stdbool.h>

typedef enum mw_os_call {
	MW_OS_MAP,
	MW_OS_UNMAP,
	MW_OS_PURGE,
	MW_OS_REMAP,
	MW_OS_OPEN,
	MW_OS_TRUNCATE,
	MW_OS_POPULATE,
	MW_OS_POPULATE_KNOWN, /* failure: the kernel is too old for MADV_POPULATE_WRITE */
	MW_OS_STAT,
	MW_OS_MKDIR,
	MW_OS_WRITE,
	MW_OS_PROTECT, /* removing or restoring access to pages */
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
