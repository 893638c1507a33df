/* SPDX-License-Identifier: MIT
 * stop.c -- the tracer; then a signal to each thread that it may not stop, until no new thread is
 * found in /proc/self/task. */
#include "os/process/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/file/proc_threads.h"
#include "os/lock/futex.h"
#include "os/platform/kernel_calls.h"
#include "os/platform/system_call.h"
#include "os/process/repeated_call.h"
#include "os/process/thread_list.h"
#include "os/process/tracer.h"
#include "os/signal/signal.h"
#include "os/time/clock.h"

/* A round of signals to new threads may find threads that these started before. */
#define ROUNDS_MAX 16u
/* A thread that waits for signals may receive that of so many stops before. */
#define LATE_STOPS 16u
/* Most steps of the wait for threads that are about to end: 1 ms. */
#define ENDING_ROUNDS 80u

static struct {
	mw_os_thread_list_t list;
	int signal_number;         /* 0: none was needed */
	_Atomic uint32_t number;   /* of this stop while threads wait; else 0 */
	_Atomic uint32_t answered; /* threads that answered the signal in this stop */
	uint32_t last_number;
} stops MW_SPARSE;

static void note_registers(mw_os_stopped_t *thread, const ucontext_t *context) {
	const mcontext_t *from = &context->uc_mcontext;
#if defined(__x86_64__)
	for (unsigned i = REG_R8; i <= REG_RIP; i++)
		thread->registers[i] = (uintptr_t)from->gregs[i];
	thread->stack_pointer = (uintptr_t)from->gregs[REG_RSP];
	mw_repeated_registers_t program = {.rip = (uint64_t)from->gregs[REG_RIP],
					   .rbp = (uint64_t)from->gregs[REG_RBP]};
	mw_repeated_call_original(&program);
	const uintptr_t kept[] = {program.rbp, program.rsi, program.rdx, program.r10, program.r8};
	for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
		thread->registers[REG_RIP + 1 + i] = kept[i];
#else
	for (unsigned i = 0; i < 31; i++)
		thread->registers[i] = from->regs[i];
	thread->stack_pointer = from->sp;
#endif
	thread->thread_pointer = (uintptr_t)__builtin_thread_pointer();
}

static void on_stop(int signal_number, siginfo_t *info, void *context) {
	(void)signal_number;
	int saved_errno = errno;
	uint32_t number = atomic_load_explicit(&stops.number, memory_order_acquire);
	uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
	if (info->si_code == SI_QUEUE && number != 0 && value >> 32 == number) {
		mw_os_stopped_t *thread = &stops.list.threads[(uint32_t)value];
		note_registers(thread, context);
		/* Pair with the acquires of the thread that stops the others. */
		atomic_store_explicit(&thread->answered, 1, memory_order_release);
		atomic_fetch_add_explicit(&stops.answered, 1, memory_order_release);
		mw_os_wake(&stops.answered);
		while (atomic_load_explicit(&stops.number, memory_order_acquire) == number)
			mw_os_wait_while(&stops.number, number, UINT64_MAX);
	}
	errno = saved_errno;
}

MW_COLD bool mw_os_stop_was_waited(int signal_number, const siginfo_t *info) {
	uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
	/* The signal may be of an earlier stop. Relaxed: it was sent after the stop stored its
	 * number. */
	uint32_t last = __atomic_load_n(&stops.last_number, __ATOMIC_RELAXED);
	return info->si_code == SI_QUEUE && signal_number == stops.signal_number &&
	       info->si_pid == (pid_t)mw_os_process_id() && value >> 32 != 0 &&
	       last - (uint32_t)(value >> 32) < LATE_STOPS;
}

static bool take_signal(void) {
	struct sigaction action = {.sa_sigaction = on_stop,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	sigfillset(&action.sa_mask);
	stops.signal_number = mw_os_signal_find_free(0);
	return stops.signal_number != 0 && mw_os_action(stops.signal_number, &action, NULL) == 0;
}

static void leave_signal(void) {
	struct sigaction now;
	if (mw_os_action(stops.signal_number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
	    now.sa_sigaction == on_stop)
		mw_os_signal_discard(stops.signal_number);
}

/* Returns whether the thread is to answer. `directory`: /proc/self/task. */
static bool signal_thread(mw_os_stopped_t *thread, int directory) {
	uint32_t thread_id = thread->thread_id;
	uint32_t index = (uint32_t)(thread - stops.list.threads);
	siginfo_t info;
	memset(&info, 0, sizeof info);
	info.si_signo = stops.signal_number;
	info.si_code = SI_QUEUE;
	info.si_pid = (pid_t)mw_os_process_id();
	info.si_value.sival_ptr = (void *)((uintptr_t)stops.last_number << 32 | index);
	bool blocks = mw_os_blocked_signals(thread_id) >> (stops.signal_number - 1) & 1;
	thread->has_ended = mw_os_thread_state(directory, thread_id) == 'Z';
	return !blocks && !thread->has_ended &&
	       mw_system_call(SYS_rt_tgsigqueueinfo, info.si_pid, thread_id, stops.signal_number,
			      &info) == 0;
}

/* Waits until `wanted` threads have answered. */
static void await(uint32_t wanted, uint64_t limit_ns) {
	for (;;) {
		uint32_t answered = atomic_load_explicit(&stops.answered, memory_order_acquire);
		uint64_t now_ns = mw_os_monotonic_ns();
		if (answered >= wanted || now_ns >= limit_ns)
			return;
		mw_os_wait_while(&stops.answered, answered, limit_ns - now_ns);
	}
}

typedef struct round {
	uint32_t self;   /* the calling thread */
	uint32_t wanted; /* threads that are to answer, of all rounds */
	int directory;   /* /proc/self/task */
} round_t;

static void signal_new(void *context, uint32_t thread_id) {
	round_t *round = context;
	if (thread_id == round->self)
		return;
	mw_os_stopped_t *thread = mw_os_thread_list_add(&stops.list, thread_id);
	if (thread && signal_thread(thread, round->directory))
		round->wanted++;
}

/* A traced thread gets no signal: it would be delivered when the handler is gone. */
static void signal_untraced(round_t *round) {
	for (uint32_t i = 0; i < stops.list.count; i++)
		if (!stops.list.threads[i].is_traced &&
		    signal_thread(&stops.list.threads[i], round->directory))
			round->wanted++;
}

static bool all_are_traced(void) {
	for (uint32_t i = 0; i < stops.list.count; i++)
		if (!stops.list.threads[i].is_traced && !stops.list.threads[i].has_ended)
			return false;
	return true;
}

/* Returns false if /proc is not there. */
static bool signal_all(void) {
	int directory = mw_os_open(MW_OS_NO_DIRECTORY, "/proc/self/task", MW_OS_DIRECTORY);
	if (directory < 0)
		return false;
	uint64_t limit_ns = mw_os_monotonic_ns() + MW_OS_STOP_WAIT_NS;
	round_t round = {.self = mw_os_thread_id(), .directory = directory};
	bool done = true;
	signal_untraced(&round);
	for (unsigned i = 0; i < ROUNDS_MAX && done && !stops.list.is_full; i++) {
		uint32_t before = stops.list.count;
		done = mw_os_thread_list_read(directory, signal_new, &round);
		await(round.wanted, limit_ns);
		if (stops.list.count == before)
			break;
	}
	mw_os_close(directory);
	return done;
}

/* Forgets threads that ended before they could answer. Returns how many others did not answer. */
static uint32_t forget_ended(void) {
	uint32_t running = 0;
	for (uint32_t i = 0; i < stops.list.count; i++) {
		mw_os_stopped_t *thread = &stops.list.threads[i];
		if (atomic_load_explicit(&thread->answered, memory_order_acquire) ||
		    thread->thread_id == 0)
			continue;
		if (!thread->has_ended && mw_os_thread_exists(thread->thread_id))
			running++;
		else
			thread->thread_id = 0;
	}
	return running;
}

/* Stops threads that the tracer may not stop. */
static mw_result_t stop_by_signal(void) {
	if (!take_signal()) {
		stops.signal_number = 0;
		return MW_ERR_BAD_VALUE;
	}
	stops.last_number = stops.last_number == UINT32_MAX ? 1 : stops.last_number + 1;
	atomic_store_explicit(&stops.answered, 0, memory_order_relaxed);
	atomic_store_explicit(&stops.number, stops.last_number, memory_order_release);
	return signal_all() ? MW_OK : MW_ERR_UNSUPPORTED;
}

MW_COLD mw_result_t mw_os_stop_begin(mw_os_stop_t *stop) {
	if (mw_os_is_confined())
		return MW_ERR_UNSUPPORTED;
	if (!mw_os_thread_list_clear(&stops.list))
		return MW_ERR_NO_MEMORY;
	stops.signal_number = 0;
	bool are_traced = mw_os_tracer_begin(&stops.list, &stop->began_ns) && all_are_traced();
	mw_result_t result = are_traced ? MW_OK : stop_by_signal();
	stop->threads = stops.list.threads;
	stop->count = stops.list.count;
	stop->running = forget_ended();
	/* A thread blocks all signals at its very end. */
	for (unsigned i = 0; i < ENDING_ROUNDS && stop->running > 0; i++) {
		mw_os_back_off(i);
		stop->running = forget_ended();
	}
	if (stops.list.is_full)
		result = MW_ERR_NO_MEMORY;
	if (result != MW_OK)
		mw_os_stop_end();
	return result;
}

MW_COLD void mw_os_stop_end(void) {
	if (stops.signal_number != 0) {
		atomic_store_explicit(&stops.number, 0, memory_order_release);
		mw_os_wake_all(&stops.number);
		leave_signal();
	}
	mw_os_tracer_end();
}

void mw_os_stop_visit_memory(void (*visit)(uintptr_t start, uintptr_t limit)) {
	mw_os_thread_list_visit(&stops.list, visit);
	mw_os_tracer_visit_memory(visit);
}
