/* SPDX-License-Identifier: MIT
 * segv.h -- a look at SIGSEGV before whoever handles it.
 * Layer: os.  The program's own handler, or the end of the process where there is none, comes
 * afterwards as if nothing had been before it.  errno kept. */
#ifndef MW_OS_SEGV_H
#define MW_OS_SEGV_H

#include <stdbool.h>
#include <stdint.h>

#include "os/arch.h"

/* Called in the signal handler, with the address that was accessed; it returns, whatever it found.
 */
typedef void mw_os_segv_look_t(uintptr_t address, mw_os_access_t access);

/* Installs the handler.  Once; false when refused. */
bool mw_os_segv_start(mw_os_segv_look_t *look);
/* Puts the handler before one that the program has installed since.  The calls of this are
 * serialised by the caller. */
void mw_os_segv_renew(void);

#endif
