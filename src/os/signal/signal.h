/* SPDX-License-Identifier: MIT
 * signal.h -- handlers for signals that the program does not handle.
 * Layer: os/signal, the door of this folder. The folder installs signal handlers beside those of
 * the program; it may use src/base and os/platform. Reading order: signal, segv (SIGSEGV and
 * SIGBUS), tick (the signal of timers).
 *
 * errno is kept. A handler that the program installs later replaces the library's.
 *
 * All handlers of libmallow.so. look_at_bus_error() of prof/store/published.c runs while there is
 * a state file (doc/adr/0031). An option or a call asks for each other: on_dump_signal() of
 * prof/control/due_dumps.c (dump_signal), mw_control_leaks_on_signal() of leak/requested.c
 * (leak_signal), on_tick() of cpu/cpu.c (prof_cpu), on_fatal() of prof/dump/crash.c (crash_report),
 * look_at_fault() of heap/misuse/guarded.c (prof_guard), on_stop() of os/process/stop.c
 * (leak checks of threads that may not be traced). */
#ifndef MW_OS_SIGNAL_H
#define MW_OS_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct sigaction;
/* sigaction(2), for this folder and os/process, in signal handlers and with malloc's locks held.
 * The name is libc's other one for the function: a library that replaces `sigaction`, and allocates
 * in it, would call malloc again. */
#ifdef __GLIBC__
#define MW_OS_ACTION_NAME "__sigaction"
#else /* musl has one name for it */
#define MW_OS_ACTION_NAME "sigaction"
#endif
int mw_os_action(int signal_number, const struct sigaction *action,
		 struct sigaction *before) __asm__(MW_OS_ACTION_NAME);

/* `from_outside`: another process or thread sent the signal; false: the thread's own instruction
 * raised it. */
typedef void (*mw_os_handler_t)(int signal_number, bool from_outside);

/* Installs a handler for a signal whose action is the default or already the library's. Interrupted
 * system calls are restarted. The handler uses the thread's alternate stack if there is one.
 * Returns false if the program handles or ignores the signal, or the signal cannot be handled. */
bool mw_os_signal_take(int signal_number, mw_os_handler_t handler);
/* Restores the default action if the current action is the library's. Async-signal-safe. */
void mw_os_signal_leave(int signal_number);
/* Returns a real-time signal that has the default action and is not in `blocked` (bit n - 1: signal
 * n); 0: there is none. */
int mw_os_signal_find_free(uint64_t blocked);
/* As mw_os_signal_find_free(), a signal that the kernel ignores where nobody handles it: SIGURG or
 * SIGWINCH. It does no harm to a program that exec(3) begins while the signal is pending. */
int mw_os_signal_find_harmless(uint64_t blocked);
/* Discards pending signals of this number in all threads and restores the default action. */
void mw_os_signal_discard(int signal_number);
/* Returns whether a handler of the program is going to run when the calling thread blocks only the
 * signals in `blocked` (bit n - 1: signal n): one of a pending signal. `no_restart`: one without
 * SA_RESTART. */
MW_COLD bool mw_os_signal_will_run(uint64_t blocked, bool no_restart);
MW_COLD void mw_os_signal_set_blocked(uint64_t blocked);
/* Sends the signal to the calling thread. Async-signal-safe. */
void mw_os_signal_raise(int signal_number);

/* Signals that a thread blocks: bit n - 1 for signal n. */
typedef struct mw_os_signal_mask {
	uint64_t bits;
} mw_os_signal_mask_t;

/* Blocks all signals of the calling thread; *before: those that it blocked before. */
void mw_os_signal_block_all(mw_os_signal_mask_t *before);
void mw_os_signal_restore(const mw_os_signal_mask_t *before);

#endif
