/* SPDX-License-Identifier: MIT
 * page_presence.h -- which pages of a process hold memory.
 * Layer: os/file. No locks, never allocates, errno kept. */
#ifndef MW_OS_PAGE_PRESENCE_H
#define MW_OS_PAGE_PRESENCE_H

#include <stdint.h>

#include "base/compiler.h"

/* Calls `visit` for the parts of [start, limit) that are resident or in swap, in rising order, by
 * /proc/self/pagemap. Without it, and where anything is in swap or system calls are filtered: for
 * all of the range. A process with several threads does not call it. */
MW_COLD void mw_os_visit_present(uintptr_t start, uintptr_t limit,
				 void (*visit)(uintptr_t start, uintptr_t limit));
/* Calls `visit` for the parts that another process has resident or in swap. The range is mapped in
 * the calling process, too. */
MW_COLD void mw_os_visit_present_of(uint32_t process_id, uintptr_t start, uintptr_t limit,
				    void (*visit)(uintptr_t start, uintptr_t limit));

#endif
