/* SPDX-License-Identifier: MIT
 * thread_event.h -- counts events of a thread, and sends it a signal now and then
 * (perf_event_open(2)).
 * Layer: os/time. The signal's siginfo has si_code POLL_IN. An event has memory that it shares with
 * the kernel and no file descriptor, so a program that closes all descriptors does not stop it. A
 * forked child and a program after exec have no events. But events count on inside exec(3), and a
 * signal that is pending then reaches the new program: the caller takes one that is ignored there.
 * A real-time signal would not do for another reason, too: when too many are pending
 * (RLIMIT_SIGPENDING), the kernel sends SIGIO in their place, which ends programs.
 *
 * Async-signal-safe. errno is kept. */
#ifndef MW_OS_THREAD_EVENT_H
#define MW_OS_THREAD_EVENT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum mw_os_event_kind {
	MW_OS_EVENT_CPU_CLOCK, /* nanoseconds of the thread's CPU time */
	MW_OS_EVENT_CYCLES,
	MW_OS_EVENT_CACHE_MISSES,
	MW_OS_EVENT_PAGE_FAULTS,
	MW_OS_EVENT_CONTEXT_SWITCHES,
} mw_os_event_kind_t;

typedef struct mw_os_event_config {
	mw_os_event_kind_t kind;
	uint32_t hz; /* signals per second at most; the kernel adapts how many events lie between */
	bool has_kernel; /* also events in the kernel, with its frames */
	int signal_number;
} mw_os_event_config_t;

typedef struct mw_os_thread_event mw_os_thread_event_t;

/* Starts the event for a thread of this process, which also gets the signal. Returns NULL with an
 * error: MW_ERR_NOT_FOUND: there is no such thread; MW_ERR_FORBIDDEN: the kernel permits less
 * (/proc/sys/kernel/perf_event_paranoid); MW_ERR_UNSUPPORTED: the machine does not count such
 * events; MW_ERR_NO_MEMORY: too many events (perf_event_mlock_kb). */
mw_os_thread_event_t *mw_os_thread_event_start(uint32_t thread_id,
					       const mw_os_event_config_t *config, int *error);
/* Ends the event. Its signal may still be pending. No handler may be in mw_os_thread_event_read().
 */
void mw_os_thread_event_stop(mw_os_thread_event_t *event);

typedef struct mw_os_event_read {
	uint64_t count; /* events since the start, at the last signal; 0: there was none */
	uint32_t depth; /* frames of the kernel; the first one is exact, others are return addresses
			 */
} mw_os_event_read_t;

/* Takes what the kernel wrote since the last call, for the signal's handler. Stores the kernel's
 * frames of the last signal in `frames`, at most `frames_max`. */
mw_os_event_read_t mw_os_thread_event_read(mw_os_thread_event_t *event, uint64_t *frames,
					   uint32_t frames_max);

#endif
