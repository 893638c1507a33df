/* SPDX-License-Identifier: MIT
 * stop.c -- a signal to each thread of /proc/self/task, until no new thread is found. */
#include "os/process/stop.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/file/proc_threads.h"
#include "os/lock/futex.h"
#include "os/memory/map.h"
#include "os/platform/kernel_calls.h"
#include "os/signal/signal.h"
#include "os/time/clock.h"

/* A round of signals to new threads may find threads that these started before. */
#define ROUNDS_MAX 16u
#define THREADS_MAX 32768u
/* Most steps of the wait for threads that are about to end: 1 ms. */
#define ENDING_ROUNDS 80u

static struct {
	mw_os_stopped_t *threads; /* THREADS_MAX; NULL: not mapped yet; never unmapped, as a late
				     handler writes there */
	uint32_t count;
	int signal_number;
	_Atomic uint32_t number;   /* of this stop while threads wait; else 0 */
	_Atomic uint32_t answered; /* threads that answered in this stop */
	uint32_t last_number;
	_Alignas(8) char names[4096]; /* entries of /proc/self/task */
} stops MW_SPARSE;

static void note_registers(mw_os_stopped_t *thread, const ucontext_t *context) {
	const mcontext_t *from = &context->uc_mcontext;
#if defined(__x86_64__)
	for (unsigned i = REG_R8; i <= REG_RIP; i++)
		thread->registers[i] = (uintptr_t)from->gregs[i];
	thread->stack_pointer = (uintptr_t)from->gregs[REG_RSP];
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
		mw_os_stopped_t *thread = &stops.threads[(uint32_t)value];
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

static bool take_signal(void) {
	struct sigaction action = {.sa_sigaction = on_stop,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	sigfillset(&action.sa_mask);
	stops.signal_number = mw_os_signal_find_free(0);
	return stops.signal_number != 0 && sigaction(stops.signal_number, &action, NULL) == 0;
}

static void leave_signal(void) {
	struct sigaction now;
	if (sigaction(stops.signal_number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
	    now.sa_sigaction == on_stop)
		mw_os_signal_discard(stops.signal_number);
}

static bool is_known(uint32_t thread_id) {
	for (uint32_t i = 0; i < stops.count; i++)
		if (stops.threads[i].thread_id == thread_id)
			return true;
	return false;
}

/* Returns whether the thread is to answer. */
static bool signal_thread(uint32_t index) {
	uint32_t thread_id = stops.threads[index].thread_id;
	siginfo_t info;
	memset(&info, 0, sizeof info);
	info.si_signo = stops.signal_number;
	info.si_code = SI_QUEUE;
	info.si_pid = (pid_t)mw_os_process_id();
	info.si_value.sival_ptr = (void *)((uintptr_t)stops.last_number << 32 | index);
	bool blocks = mw_os_blocked_signals(thread_id) >> (stops.signal_number - 1) & 1;
	return !blocks && syscall(SYS_rt_tgsigqueueinfo, info.si_pid, thread_id,
				  stops.signal_number, &info) == 0;
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
	uint32_t found;  /* threads that were not known before */
	uint32_t wanted; /* threads that are to answer, of all rounds */
	bool is_full;
} round_t;

static void signal_new(const char *name, uint32_t self, round_t *round) {
	uint32_t thread_id = mw_os_thread_of_name(name);
	if (thread_id == 0 || thread_id == self || is_known(thread_id))
		return;
	if (stops.count == THREADS_MAX) {
		round->is_full = true;
		return;
	}
	uint32_t index = stops.count++;
	memset(&stops.threads[index], 0, sizeof stops.threads[index]);
	stops.threads[index].thread_id = thread_id;
	round->found++;
	if (signal_thread(index))
		round->wanted++;
}

/* Returns false if /proc is not there. */
static bool signal_all_new(round_t *round) {
	int directory = mw_os_open(MW_OS_NO_DIRECTORY, "/proc/self/task", MW_OS_DIRECTORY);
	if (directory < 0)
		return false;
	uint32_t self = mw_os_thread_id();
	long bytes;
	while ((bytes = mw_os_list(directory, stops.names, sizeof stops.names)) > 0) {
		const char *name;
		size_t position = 0;
		while ((name = mw_os_next_name(stops.names, (size_t)bytes, &position)) != NULL)
			signal_new(name, self, round);
	}
	mw_os_close(directory);
	return bytes == 0;
}

/* Forgets threads that ended before they could answer. Returns how many others did not answer. */
static uint32_t forget_ended(void) {
	uint32_t running = 0;
	for (uint32_t i = 0; i < stops.count; i++) {
		mw_os_stopped_t *thread = &stops.threads[i];
		if (atomic_load_explicit(&thread->answered, memory_order_acquire) ||
		    thread->thread_id == 0)
			continue;
		if (mw_os_thread_exists(thread->thread_id))
			running++;
		else
			thread->thread_id = 0;
	}
	return running;
}

MW_COLD mw_result_t mw_os_stop_begin(mw_os_stop_t *stop) {
	if (mw_os_is_confined())
		return MW_ERR_UNSUPPORTED;
	if (!stops.threads)
		stops.threads = mw_os_map(THREADS_MAX * sizeof(mw_os_stopped_t));
	if (!stops.threads)
		return MW_ERR_NO_MEMORY;
	/* No thread has answered. */
	mw_os_purge(stops.threads, THREADS_MAX * sizeof(mw_os_stopped_t));
	if (!take_signal())
		return MW_ERR_BAD_VALUE;
	stops.count = 0;
	stops.last_number = stops.last_number == UINT32_MAX ? 1 : stops.last_number + 1;
	atomic_store_explicit(&stops.answered, 0, memory_order_relaxed);
	atomic_store_explicit(&stops.number, stops.last_number, memory_order_release);
	uint64_t limit_ns = mw_os_monotonic_ns() + MW_OS_STOP_WAIT_NS;
	round_t round = {0};
	bool done = true;
	for (unsigned i = 0; i < ROUNDS_MAX; i++) {
		round.found = 0;
		done = signal_all_new(&round);
		if (!done || round.is_full || round.found == 0)
			break;
		await(round.wanted, limit_ns);
	}
	stop->threads = stops.threads;
	stop->count = stops.count;
	stop->running = forget_ended();
	/* A thread blocks all signals at its very end. */
	for (unsigned i = 0; i < ENDING_ROUNDS && stop->running > 0; i++) {
		mw_os_back_off(i);
		stop->running = forget_ended();
	}
	if (done && !round.is_full)
		return MW_OK;
	mw_os_stop_end();
	return done ? MW_ERR_NO_MEMORY : MW_ERR_UNSUPPORTED;
}

MW_COLD void mw_os_stop_end(void) {
	atomic_store_explicit(&stops.number, 0, memory_order_release);
	mw_os_wake_all(&stops.number);
	leave_signal();
}

void mw_os_stop_visit_memory(void (*visit)(uintptr_t start, uintptr_t limit)) {
	if (stops.threads)
		visit((uintptr_t)stops.threads, (uintptr_t)(stops.threads + THREADS_MAX));
}
