/* SPDX-License-Identifier: MIT
 * kernel_calls.c -- the variable that all folders of src/os read, and the hook for tests, which the
 * installed library has not. */
#include "os/platform/kernel_calls.h"

_Atomic bool mw_os_confined;

#ifdef MW_TESTING
bool (*mw_os_fault_hook)(mw_os_call_t call);
#endif
