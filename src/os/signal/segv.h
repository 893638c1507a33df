/* SPDX-License-Identifier: MIT
 * segv.h -- hooks that run at SIGSEGV and SIGBUS before the program's handler.
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

/* Called in the handler of SIGBUS. Returns true if the access succeeds now: it is repeated, and the
 * program's handler does not see it. */
typedef bool mw_os_bus_handler_t(uintptr_t address);

/* Installs the handler of SIGBUS; only the first call has an effect. A handler that the program
 * installs later replaces it. Returns false if refused. */
bool mw_os_bus_start(mw_os_bus_handler_t *handler);

/* ---- for signal.c ---- */

struct sigaction;
/* If a handler of this file is installed for the signal, stores the action that runs after it, or
 * replaces that action. Return false otherwise. */
bool mw_os_segv_next(int signal_number, struct sigaction *next);
bool mw_os_segv_set_next(int signal_number, const struct sigaction *next);

#endif
