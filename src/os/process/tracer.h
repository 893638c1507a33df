/* SPDX-License-Identifier: MIT
 * tracer.h -- stops the other threads of the process as a debugger does (ptrace(2)).
 * Layer: os/process. One caller at a time. errno is kept.
 *
 * A task that shares the process's memory, but is no thread of it, traces the threads. No signal
 * handler runs in them, so that the kernel repeats interrupted system calls with what remains of
 * their time limits; calls that would return EINTR are made to be repeated
 * (os/platform/interrupted_call.h). On other processors than x86-64 these return EINTR. */
#ifndef MW_OS_TRACER_H
#define MW_OS_TRACER_H

#include "os/process/thread_list.h"

/* Adds all threads to the list, which is empty, and stops those that the kernel lets it stop: these
 * have `answered` and `is_traced` set. The kernel may permit none (ptrace(2),
 * kernel.yama.ptrace_scope, a debugger). Returns false if there is no task; no thread is stopped
 * then. A thread with `is_traced` that has not answered must not be sent a signal. *began_ns: the
 * CLOCK_MONOTONIC from which on threads stop; before, the task looks at them. */
bool mw_os_tracer_begin(mw_os_thread_list_t *list, uint64_t *began_ns);
/* Lets the threads go on, and ends the task. */
void mw_os_tracer_end(void);
/* Visits the memory of the task's stack. */
void mw_os_tracer_visit_memory(void (*visit)(uintptr_t start, uintptr_t limit));

/* Notes whom the program lets trace it (prctl(2), PR_SET_PTRACER). */
void mw_os_tracer_note_permitted(unsigned long process);

#endif
