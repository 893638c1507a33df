/* SPDX-License-Identifier: MIT
 * background.h -- starts the thread of heap/background.h.
 * Layer: api. */
#ifndef MW_API_BACKGROUND_H
#define MW_API_BACKGROUND_H

#include "base/compiler.h"

/* Called at the end of a slow path of malloc, never of free: libc frees with its own locks held,
 * which starting a thread takes.  errno is kept. */
MW_COLD void mw_api_start_background(void);

#endif
