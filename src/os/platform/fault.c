/* SPDX-License-Identifier: MIT
 * fault.c -- hook for tests; empty in the installed library. */
#include "os/platform/fault.h"

#ifdef MW_TESTING
bool (*mw_os_fault_hook)(mw_os_call_t call);
#endif
