/* SPDX-License-Identifier: MIT
 * kernel.h -- names code of the kernel by /proc/kallsyms.
 * Layer: symbol.  The file is that of the kernel that runs, and has addresses only for users whom
 * kernel.kptr_restrict permits them. */
#ifndef MW_TOOL_SYMBOL_KERNEL_H
#define MW_TOOL_SYMBOL_KERNEL_H

#include <stdbool.h>

#include "model/profile.h"

/* Names the locations of the kernel that have no name yet.  For profiles of a live process alone:
 * another start of the machine has other addresses. */
void mw_kernel_symbolize(mw_profile_t *profile);
/* Returns whether the user may read addresses in the file. */
bool mw_kernel_has_names(void);

#endif
