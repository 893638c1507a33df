/* SPDX-License-Identifier: MIT
 * segv.h -- a hook that runs at SIGSEGV before the program's handler.
 * Layer: os/signal. Afterwards the program's handler runs. Without such a handler the process ends.
 * errno is kept. */
#ifndef MW_OS_SEGV_H
#define MW_OS_SEGV_H

#include <stdbool.h>
#include <stdint.h>

#include "os/platform/arch.h"

/* Called in the signal handler with the address of the access. Returns in any case. */
typedef void mw_os_segv_handler_t(uintptr_t address, mw_os_access_t access);

/* Installs the handler. Called once. Returns false if refused. */
bool mw_os_segv_start(mw_os_segv_handler_t *handler);
/* Installs the library's handler again, before one that the program has installed since. The caller
 * ensures that one thread calls this at a time. */
void mw_os_segv_renew(void);

#endif
