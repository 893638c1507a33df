/* SPDX-License-Identifier: MIT
 * mapped_object.h -- the extent of a program or library, from what is in its memory.
 * Layer: os/process. Async-signal-safe; takes no lock of the loader, which a thread may hold that a
 * copy of the process does not have. */
#ifndef MW_OS_MAPPED_OBJECT_H
#define MW_OS_MAPPED_OBJECT_H

#include <stdint.h>

/* Returns the end, in whole pages, of the object whose file is mapped at `start` from its first
 * byte on; 0: what is there is no ELF file of this machine's word size, or cannot be read. */
uintptr_t mw_os_mapped_object_end(uintptr_t start);

#endif
