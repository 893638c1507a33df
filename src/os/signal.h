/* SPDX-License-Identifier: MIT
 * signal.h -- handlers for signals that the program has no use for.
 * Layer: os.  errno kept.  A handler that the program installs later takes the place of ours. */
#ifndef MW_OS_SIGNAL_H
#define MW_OS_SIGNAL_H

#include <stdbool.h>

/* `from_outside`: sent by somebody, not raised by what the thread was just doing. */
typedef void (*mw_os_handler_t)(int signal_number, bool from_outside);

/* Installs the one handler for several signals where their action is the default, or ours already.
 * Interrupted system calls are restarted; the thread's alternate stack is used if it has one.
 * False: the program handles or ignores it, or it cannot be handled. */
bool mw_os_signal_take(int signal_number, mw_os_handler_t handler);
/* The default again, where the action is still ours.  Async-signal-safe. */
void mw_os_signal_leave(int signal_number);
/* Sends it to the calling thread.  Async-signal-safe. */
void mw_os_signal_raise(int signal_number);

#endif
