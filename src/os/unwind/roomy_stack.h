/* SPDX-License-Identifier: MIT
 * roomy_stack.h -- a stack of the library, for work that takes more than a small stack has.
 * Layer: os/unwind. Async-signal-safe; errno kept. */
#ifndef MW_OS_ROOMY_STACK_H
#define MW_OS_ROOMY_STACK_H

#include <stdbool.h>

#define MW_OS_ROOMY_STACK_BYTES 65536u

/* Calls the function: on the first thread's stack where that is in use, else on the library's.
 * Threads, coroutines and handlers of signals may have a stack of a few pages. Returns false, with
 * nothing done, if the library's is in use: the caller tries again later. A function that does not
 * return, because a signal's handler ended it by siglongjmp() or ended its thread, uses the stack
 * until its thread comes again, or for some seconds; then another one takes its place, 15 times. */
bool mw_os_call_with_room(void (*function)(void *), void *argument);

#endif
