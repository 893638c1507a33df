/* SPDX-License-Identifier: MIT
 * page_presence.h -- which pages of a process hold memory.
 * Layer: os/file. No locks, never allocates, errno kept. */
#ifndef MW_OS_PAGE_PRESENCE_H
#define MW_OS_PAGE_PRESENCE_H

#include <stdint.h>

#include "base/compiler.h"

/* Calls `visit` for the parts of [start, limit) that are resident or in swap, in rising order, by
 * /proc/self/pagemap. Without it: for all of the range. */
MW_COLD void mw_os_visit_present(uintptr_t start, uintptr_t limit,
				 void (*visit)(uintptr_t start, uintptr_t limit));
/* The same, as another process has the range. */
MW_COLD void mw_os_visit_present_of(uint32_t process_id, uintptr_t start, uintptr_t limit,
				    void (*visit)(uintptr_t start, uintptr_t limit));

#endif
