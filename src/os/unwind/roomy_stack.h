/* SPDX-License-Identifier: MIT
 * roomy_stack.h -- a stack of the library, for work that takes more than a small stack has.
 * Layer: os/unwind. Async-signal-safe; errno kept. */
#ifndef MW_OS_ROOMY_STACK_H
#define MW_OS_ROOMY_STACK_H

#include <stdbool.h>

#define MW_OS_ROOMY_STACK_BYTES 65536u

/* Calls the function, on the thread's own stack if it runs there and no guard is within 16 KiB.
 * Threads may have a stack of 16 KiB, coroutines and handlers of signals one of a page or two: then
 * on the library's. Returns false, with nothing done, if the library's is in use: the caller tries
 * again later. */
bool mw_os_call_with_room(void (*function)(void *), void *argument);

#endif
