/* SPDX-License-Identifier: MIT
 * uncopied.h -- memory that the program keeps out of copies of itself (madvise(2): MADV_DONTFORK,
 * MADV_WIPEONFORK).
 * Layer: leak. In a copy of the process: see block_index.h. The memory is read from the process
 * itself, which goes on meanwhile, where the kernel lets its child read it (ptrace(2)). */
#ifndef MW_LEAK_UNCOPIED_H
#define MW_LEAK_UNCOPIED_H

#include "leak/roots.h"

/* Finds private memory that was not copied. Called before the copy maps anything: the kernel may
 * choose the same addresses. */
void mw_leak_uncopied_find(void);
/* Follows the pointers in that memory. */
mw_leak_roots_read_t mw_leak_uncopied_flood(void);

#endif
