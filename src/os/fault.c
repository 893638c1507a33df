/* SPDX-License-Identifier: MIT
 * fault.c -- the tests' hook; nothing in the library proper. */
#include "os/fault.h"

#ifdef MW_TESTING
bool (*mw_os_fault_hook)(mw_os_call_t call);
#endif
