/* SPDX-License-Identifier: MIT
 * stop.h -- stops all other threads of the process for a moment, and notes their registers.
 * Layer: os/process, the door of this folder. The folder stops threads and copies the process; it
 * may use src/base and the other folders of src/os. Reading order: stop, thread_list, tracer (stops
 * threads as a debugger does), asleep (remaining time of a call), repeated_call (a call with that
 * time), child (a copy of the process).
 *
 * The threads are traced (ptrace(2)) for the moment where the kernel permits it, and do not notice:
 * interrupted system calls are repeated. Else each thread gets a real-time signal that the program
 * does not use. Its handler notes the registers and waits. System calls that signals interrupt are
 * restarted then where the kernel can; others (poll(2), nanosleep(2), ...; signal(7) has the list)
 * return EINTR. A thread that blocks the signal goes on running and is counted. */
#ifndef MW_OS_STOP_H
#define MW_OS_STOP_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "os/process/asleep.h"

/* Most threads besides the calling one. */
#define MW_OS_STOP_THREADS_MAX 32768u
/* Registers of a machine, at least. */
#define MW_OS_STOP_REGISTERS 33u
/* Most time that the threads have to answer. */
#define MW_OS_STOP_WAIT_NS UINT64_C(20000000)

typedef struct mw_os_stopped {
	uint32_t thread_id;
	_Atomic uint32_t answered; /* 1: the registers are set, and the thread waits */
	bool is_traced;            /* by the task of tracer.h */
	bool is_late;              /* had not stopped when the others went on */
	bool has_ended;            /* the first thread, which /proc lists until the process ends */
	uint8_t signal_number;     /* that the tracer holds back; 0: none */
	mw_os_asleep_t asleep;     /* of a traced thread, before the stop */
	uintptr_t stack_pointer, thread_pointer;
	uintptr_t registers[MW_OS_STOP_REGISTERS]; /* those that may hold pointers; else 0 */
} mw_os_stopped_t;

typedef struct mw_os_stop {
	const mw_os_stopped_t *threads; /* valid until mw_os_stop_end(), and in a copy of the
					   process */
	uint32_t count;                 /* entries of `threads`, also of those that run */
	uint32_t running;               /* threads that did not answer */
	uint64_t began_ns;              /* CLOCK_MONOTONIC from which on threads stop */
} mw_os_stop_t;

/* Stops the other threads. MW_ERR_NO_MEMORY: no memory, or too many threads; MW_ERR_UNSUPPORTED: no
 * /proc, or the program forbids system calls; MW_ERR_BAD_VALUE: no signal is free. No thread is
 * stopped then. One caller at a time. */
mw_result_t mw_os_stop_begin(mw_os_stop_t *stop);
/* Lets the threads go on. */
void mw_os_stop_end(void);
/* Returns whether the signal, which the calling thread waited for (sigwaitinfo(2)), was sent by
 * mw_os_stop_begin(): the thread counts as one that runs. */
bool mw_os_stop_was_waited(int signal_number, const siginfo_t *info);
/* Visits the memory that holds the threads' registers, also those of threads that have ended. */
void mw_os_stop_visit_memory(void (*visit)(uintptr_t start, uintptr_t limit));

#endif
