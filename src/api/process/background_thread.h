/* SPDX-License-Identifier: MIT
 * background_thread.h -- starts the thread of heap/memory/background.h.
 * Layer: api/process. */
#ifndef MW_API_BACKGROUND_H
#define MW_API_BACKGROUND_H

#include "base/compiler.h"

/* Starts the thread if an option wants one and none runs. Called at the end of a slow path of
 * malloc, never of free: libc calls free with its own locks held, and starting a thread takes these
 * locks. Keeps errno. */
MW_COLD void mw_api_start_background(void);

#endif
