/* SPDX-License-Identifier: MIT
 * tick.h -- the signal of timers and events (os/time/cpu_timer.h, thread_event.h): chooses a number
 * that the program does not use, and handles it.
 * Layer: os/signal. */
#ifndef MW_OS_TICK_H
#define MW_OS_TICK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

typedef struct mw_os_tick {
	bool is_event;       /* an event of the thread that runs now; else a timer */
	uint32_t thread_id;  /* the timer's; 0: the timer is the process's, or there is none */
	uint32_t missed;     /* further intervals that ended since the signal was sent */
	const void *context; /* registers of the interrupted code, a ucontext_t */
} mw_os_tick_t;

typedef void mw_os_tick_handler_t(const mw_os_tick_t *tick);

/* Installs the handler for a signal that has the default action. Bit n - 1 of `blocked`: a thread
 * blocks signal n, perhaps to wait for it; another signal is preferred. For timers: a real-time
 * signal, else a harmless one (signal.h). The kernel discards pending signals of timers in exec(3).
 * It keeps those of events: they get a harmless one only. Interrupted system calls are restarted,
 * the handler runs on the thread's alternate stack if there is one, with all signals blocked and
 * errno kept. Signals that no timer and no event sent are ignored. Returns the signal's number; 0:
 * there is none. */
int mw_os_tick_take(mw_os_tick_handler_t *handler, uint64_t blocked, bool is_of_events);
/* Called when no timer sends the signal any more: discards pending signals, and restores the
 * default action unless the program has installed a handler. */
void mw_os_tick_leave(int signal_number);
/* Returns whether the signal still has the handler. */
bool mw_os_tick_is_ours(int signal_number);
/* Returns whether a timer or an event sent the signal, which the calling thread waited for
 * (sigwaitinfo(2)), and not the program. */
MW_COLD bool mw_os_tick_was_waited(int signal_number, const siginfo_t *info);
/* Drops pending signals of timers and events that the calling thread blocks, but not those in
 * `blocked` (bit n - 1: signal n). Their samples are lost. */
MW_COLD void mw_os_tick_drop_pending(uint64_t blocked);

#endif
