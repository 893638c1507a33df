/* SPDX-License-Identifier: MIT
 * proc_threads.h -- the threads of this process, as /proc lists them.
 * Layer: os/file. No locks, never allocates, errno kept. Async-signal-safe. */
#ifndef MW_OS_PROC_THREADS_H
#define MW_OS_PROC_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* Returns the thread id that an entry of /proc/self/task names; 0: the name is no number. */
MW_COLD uint32_t mw_os_thread_of_name(const char *name);
/* Returns whether the thread runs, in this process. */
MW_COLD bool mw_os_thread_exists(uint32_t thread_id);
/* Returns the signals that the thread blocks, bit n - 1 for signal n. UINT64_MAX: there is no such
 * thread, or no /proc. */
MW_COLD uint64_t mw_os_blocked_signals(uint32_t thread_id);
/* Returns the signals that the program has the first thread block, as mw_os_blocked_signals() does.
 * A thread that answers a tool blocks more: these are left out. */
MW_COLD uint64_t mw_os_first_blocked_signals(void);
/* Called by a thread that answers a tool: what the program has it block; NULL: it has answered. */
MW_COLD void mw_os_note_answering(const uint64_t *blocked);
/* Returns whether the thread filters its system calls (seccomp(2)); true if the kernel does not
 * tell. `directory`: an open /proc/PID/task. */
MW_COLD bool mw_os_thread_filters_calls(int directory, uint32_t thread_id);
#if defined(__aarch64__)
/* Returns whether a signal that the program handles waits for the thread, and is not blocked.
 * `directory`: as above. */
MW_COLD bool mw_os_thread_has_signal(int directory, uint32_t thread_id);
#endif
/* Returns the letter of the thread's state (proc(5)); 0: unknown. `directory`: as above. */
MW_COLD char mw_os_thread_state(int directory, uint32_t thread_id);

#endif
