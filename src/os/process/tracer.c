/* SPDX-License-Identifier: MIT
 * tracer.c -- the task, and what the caller does for it. */
#include "os/process/tracer.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/file/proc_threads.h"
#include "os/lock/futex.h"
#include "os/memory/map.h"
#include "os/platform/interrupted_call.h"
#include "os/platform/kernel_calls.h"
#include "os/platform/single.h"
#include "os/platform/valgrind.h"
#include "os/process/asleep.h"
#include "os/process/child.h"
#include "os/process/repeated_call.h"
#include "os/time/clock.h"

/* Stack of the task: its functions take 10 KiB. */
#define STACK_BYTES ((size_t)64 << 10)
/* Most threads that are asked how long they are going to sleep: 10,000 take 100 ms, in which
 * threads that allocate may wait. The calls of others begin anew. */
#define ASLEEP_MAX 1000u
/* A round may find threads that were started before it. */
#define ROUNDS_MAX 16u
/* Most time, when the other threads run on, for threads that have not stopped. */
#define LATE_WAIT_NS UINT64_C(1000000000)
/* How often the caller looks whether the task was killed. */
#define LOOK_NS UINT64_C(10000000)
#define KERNEL_SET_BYTES 8

typedef enum state { IDLE, BEGUN, STOPPED, RELEASED, DONE } state_t;

static struct {
	char *stack; /* NULL: not mapped yet */
	mw_os_thread_list_t *list;
	uint32_t process_id, caller_id;
	uint64_t began_ns; /* CLOCK_MONOTONIC of the first stop; 0: not yet */
	uint32_t handled;  /* threads of the list that earlier rounds found */
	int32_t task;      /* process id; 0: there is none */
	int directory;     /* /proc/self/task of the process */
	_Atomic uint32_t state;
	_Atomic unsigned long permitted; /* argument of PR_SET_PTRACER; 0: none */
	bool is_permission_lent;
} tracer MW_SPARSE;

static void set_state(state_t state) {
	/* Pairs with the acquires of the caller and of the task. */
	atomic_store_explicit(&tracer.state, state, memory_order_release);
	mw_os_wake_all(&tracer.state);
}

static state_t get_state(void) {
	return (state_t)atomic_load_explicit(&tracer.state, memory_order_acquire);
}

/* ---- in the task. Its errno is the caller's, who keeps it and does not use it meanwhile. ---- */

static long trace(int request, uint32_t thread_id, uintptr_t address, const void *data) {
	return syscall(SYS_ptrace, request, thread_id, address, data);
}

/* /proc may be that of another PID namespace, where the number is another task's. */
static bool is_of_process(uint32_t thread_id) {
	return syscall(SYS_tgkill, tracer.process_id, thread_id, 0) == 0;
}

static void seize(void *context, uint32_t thread_id) {
	(void)context;
	if (thread_id == tracer.caller_id)
		return;
	mw_os_stopped_t *thread = mw_os_thread_list_add(tracer.list, thread_id);
	if (!thread || mw_os_fault(MW_OS_TRACE) || !is_of_process(thread_id))
		return;
	if (trace(PTRACE_SEIZE, thread_id, 0, NULL) != 0) {
		thread->has_ended = mw_os_thread_state(tracer.directory, thread_id) == 'Z';
		return;
	}
	thread->is_traced = true;
	/* Read before the stop, which wakes the thread. */
	if (tracer.list->count <= ASLEEP_MAX)
		thread->asleep = mw_os_asleep_read(tracer.directory, thread_id);
}

#if defined(__x86_64__)

typedef mw_traced_registers_t registers_t;

/* The thread may be in code of the library that repeats a call: the program's registers count, too.
 */
static mw_repeated_registers_t repeated_of(const registers_t *r) {
	return (mw_repeated_registers_t){.rip = r->rip,
					 .rbp = r->rbp,
					 .rsi = r->rsi,
					 .rdx = r->rdx,
					 .r10 = r->r10,
					 .r8 = r->r8,
					 .rsp = r->rsp};
}

static void keep(mw_os_stopped_t *thread, const registers_t *r) {
	mw_repeated_registers_t program = repeated_of(r);
	mw_repeated_call_original(&program);
	const uintptr_t kept[] = {
		r->r8,  r->r9,  r->r10,      r->r11,      r->r12,      r->r13,      r->r14,
		r->r15, r->rdi, r->rsi,      r->rbp,      r->rbx,      r->rdx,      r->rax,
		r->rcx, r->rip, program.rbp, program.rsi, program.rdx, program.r10, program.r8};
	_Static_assert(sizeof kept <= sizeof thread->registers, "all fit");
	for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
		thread->registers[i] = kept[i];
	thread->stack_pointer = r->rsp;
	thread->thread_pointer = r->fs_base;
}

/* Returns whether a filter of the thread's system calls may forbid restart_syscall(2). */
static bool is_filtered(uint32_t thread_id) {
	return mw_os_thread_filters_calls(tracer.directory, thread_id);
}

static void set_repeated(registers_t *r, const mw_repeated_registers_t *program) {
	r->rip = program->rip;
	r->rbp = program->rbp;
	r->rsi = program->rsi;
	r->rdx = program->rdx;
	r->r10 = program->r10;
	r->r8 = program->r8;
}

/* Has the thread transfer what it would have transferred without the stop. */
static bool finish_call(const mw_os_stopped_t *thread, registers_t *r) {
	mw_repeated_registers_t program = repeated_of(r);
	program.rip -= MW_SYSCALL_CODE_BYTES;
	if (!mw_repeated_call_finish(&program, r->orig_rax, r->rax, tracer.process_id,
				     thread->thread_id))
		return false;
	set_repeated(r, &program);
	r->rax = r->orig_rax;
	r->orig_rax = UINT64_MAX; /* the kernel has nothing to repeat */
	return true;
}

/* Has the kernel repeat a call that would return EINTR only because of the stop. */
static bool repeat_call(mw_os_stopped_t *thread, registers_t *r) {
	if (mw_call_may_be_cut(r))
		return finish_call(thread, r);
	int result = mw_call_interrupted(r);
	if (result == MW_RESTART_BLOCK && is_filtered(thread->thread_id))
		result = MW_RESTART_NO_HANDLER;
	else if (result == 0 || (long)r->rax == -result)
		return false;
	r->rax = (unsigned long long)-(long)result;
	return true;
}

/* Shortens the time limit of a call that begins anew. */
static bool shorten_call(const mw_os_stopped_t *thread, registers_t *r) {
	const mw_timed_call_t *call = mw_timed_call(r->orig_rax);
	uint64_t now_ns = mw_os_monotonic_ns(), until_ns = thread->asleep.until_ns;
	if (!call || mw_call_interrupted(r) == 0)
		return false;
	uint64_t rest_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	mw_repeated_registers_t program = repeated_of(r);
	/* The kernel steps back to the instruction. */
	program.rip -= MW_SYSCALL_CODE_BYTES;
	if (!mw_repeated_call_begin(&program, call, rest_ns, tracer.process_id, thread->thread_id))
		return false;
	set_repeated(r, &program);
	r->rip += MW_SYSCALL_CODE_BYTES;
	return true;
}

#else

typedef struct user_regs_struct registers_t;

static void keep(mw_os_stopped_t *thread, const registers_t *r) {
	struct iovec into = {&thread->thread_pointer, sizeof thread->thread_pointer};
	for (unsigned i = 0; i < 31; i++)
		thread->registers[i] = r->regs[i];
	thread->stack_pointer = r->sp;
	trace(PTRACE_GETREGSET, thread->thread_id, NT_ARM_TLS, &into);
}

/* Has the thread repeat a call that would return EINTR only because of the stop. The kernel repeats
 * others by itself. */
static bool repeat_call(const mw_os_stopped_t *thread, registers_t *r) {
	if ((long)r->regs[0] != -EINTR || mw_call_interrupted(r, &thread->asleep.call) == 0)
		return false;
	mw_call_repeat(r, &thread->asleep.call);
	return true;
}

/* The call returns EINTR after all if a handler of a signal is about to run that came during the
 * stop: the kernel has forgotten that. */
static bool shorten_call(const mw_os_stopped_t *thread, registers_t *r) {
	const mw_sleeping_call_t *call = &thread->asleep.call;
	if (call->pc == 0 || r->pc != call->pc - MW_SYSCALL_CODE_BYTES ||
	    mw_call_interrupted(r, call) != MW_RESTART_NO_HANDLER ||
	    !mw_call_returns_interrupted(call->number) ||
	    !mw_os_thread_has_signal(tracer.directory, thread->thread_id))
		return false;
	r->pc = call->pc;
	r->regs[0] = (uint64_t)-EINTR;
	return true;
}

#endif

static bool read_registers(uint32_t thread_id, registers_t *registers) {
	struct iovec into = {registers, sizeof *registers};
	return trace(PTRACE_GETREGSET, thread_id, NT_PRSTATUS, &into) == 0;
}

static bool write_registers(uint32_t thread_id, registers_t *registers) {
	struct iovec from = {registers, sizeof *registers};
	return trace(PTRACE_SETREGSET, thread_id, NT_PRSTATUS, &from) == 0;
}

/* Waits until the thread has stopped. */
static bool await_stop(mw_os_stopped_t *thread, uint64_t limit_ns) {
	for (unsigned i = 0;; i++) {
		int status;
		long result =
			syscall(SYS_wait4, thread->thread_id, &status, WNOHANG | __WALL, NULL);
		if (result > 0 && WIFSTOPPED(status)) {
			/* Else a signal is about to be delivered. */
			bool is_event = status >> 16 != 0;
			thread->signal_number = is_event ? 0 : (uint8_t)WSTOPSIG(status);
			return true;
		}
		if (result != 0 || mw_os_monotonic_ns() > limit_ns)
			return false;
		mw_os_back_off(i);
	}
}

static void note(mw_os_stopped_t *thread, uint64_t limit_ns) {
	registers_t registers;
	if (!thread->is_traced || !await_stop(thread, limit_ns) ||
	    !read_registers(thread->thread_id, &registers))
		return;
	keep(thread, &registers);
	if (thread->asleep.until_ns != 0 &&
	    !mw_os_asleep_only_stopped(tracer.directory, thread->thread_id, &thread->asleep))
		thread->asleep.until_ns = 0;
	if (repeat_call(thread, &registers))
		write_registers(thread->thread_id, &registers);
	atomic_store_explicit(&thread->answered, 1, memory_order_relaxed);
}

/* Stops the threads that earlier rounds have not found. Returns whether there are any. */
static bool stop_new(void) {
	mw_os_thread_list_t *list = tracer.list;
	if (!mw_os_thread_list_read(tracer.directory, seize, NULL))
		return false;
	uint32_t first = tracer.handled;
	if (tracer.began_ns == 0)
		tracer.began_ns = mw_os_monotonic_ns();
	for (uint32_t i = first; i < list->count; i++)
		if (list->threads[i].is_traced)
			trace(PTRACE_INTERRUPT, list->threads[i].thread_id, 0, NULL);
	uint64_t limit_ns = mw_os_monotonic_ns() + MW_OS_STOP_WAIT_NS;
	for (uint32_t i = first; i < list->count; i++)
		note(&list->threads[i], limit_ns);
	tracer.handled = list->count;
	return tracer.handled > first;
}

/* Returns whether the thread's call may have to end in another way than it was stopped with. */
static bool may_change(const mw_os_stopped_t *thread) {
#if defined(__x86_64__)
	return thread->asleep.until_ns != 0;
#else
	return thread->asleep.call.pc != 0;
#endif
}

static void let_go(mw_os_stopped_t *thread) {
	registers_t registers;
	if (may_change(thread) && read_registers(thread->thread_id, &registers) &&
	    shorten_call(thread, &registers))
		write_registers(thread->thread_id, &registers);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the number of a signal. */
	trace(PTRACE_DETACH, thread->thread_id, 0, (void *)(uintptr_t)thread->signal_number);
}

/* A thread that had no processor in time stops now: its call is to be repeated, too. The end of the
 * task lets the others go: they wait for a disk or the like, and no call is interrupted. */
static void let_go_late(mw_os_stopped_t *thread, uint64_t limit_ns) {
	if (mw_os_thread_state(tracer.directory, thread->thread_id) == 'D')
		return;
	note(thread, limit_ns);
	if (thread->answered)
		let_go(thread);
}

static void let_go_all(void) {
	mw_os_stopped_t *threads = tracer.list->threads;
	for (uint32_t i = 0; i < tracer.handled; i++)
		if (threads[i].answered && threads[i].is_traced)
			let_go(&threads[i]);
		else
			threads[i].is_late = threads[i].is_traced;
	uint64_t limit_ns = mw_os_monotonic_ns() + LATE_WAIT_NS;
	for (uint32_t i = 0; i < tracer.handled; i++)
		if (threads[i].is_late)
			let_go_late(&threads[i], limit_ns);
}

static int run_task(void *unused) {
	(void)unused;
	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	while (get_state() == IDLE)
		mw_os_wait_while(&tracer.state, IDLE, LOOK_NS);
	for (unsigned i = 0; i < ROUNDS_MAX && stop_new(); i++) {
	}
	set_state(STOPPED);
	while (get_state() == STOPPED)
		mw_os_wait_while(&tracer.state, STOPPED, LOOK_NS);
	let_go_all();
	set_state(DONE);
	return 0;
}

/* ---- in the process ---- */

/* Yama lets a task trace its descendants, and those that name it. */
static bool must_permit(void) {
	char text[8];
	return mw_os_read_text("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text) > 0 &&
	       text[0] == '1';
}

static void permit(unsigned long process) {
	syscall(SYS_prctl, PR_SET_PTRACER, process, 0, 0, 0);
}

void mw_os_tracer_note_permitted(unsigned long process) {
	atomic_store_explicit(&tracer.permitted, process, memory_order_relaxed);
}

/* Starts the task with all signals blocked: handlers of the program must not run in it. */
static bool start_task(void) {
	const uint64_t all = UINT64_MAX;
	uint64_t before;
	atomic_store_explicit(&tracer.state, IDLE, memory_order_relaxed);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, KERNEL_SET_BYTES);
	tracer.task = clone(run_task, tracer.stack + STACK_BYTES,
			    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED, NULL);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, KERNEL_SET_BYTES);
	if (tracer.task > 0)
		return true;
	tracer.task = 0;
	return false;
}

/* Waits until the task has reached a state. False: it was killed, and the threads run on. */
static bool await_state(state_t wanted) {
	for (state_t now; (now = get_state()) < wanted;) {
		mw_os_wait_while(&tracer.state, now, LOOK_NS);
		if (get_state() < wanted && mw_os_child_has_ended(tracer.task)) {
			tracer.task = 0;
			return false;
		}
	}
	return true;
}

static void forget_threads(void) {
	for (uint32_t i = 0; i < tracer.list->count; i++) {
		tracer.list->threads[i].is_traced = false;
		atomic_store_explicit(&tracer.list->threads[i].answered, 0, memory_order_relaxed);
	}
}

static void close_directory(void) {
	if (tracer.directory >= 0)
		mw_os_close(tracer.directory);
	tracer.directory = -1;
}

static void see_other(void *found, uint32_t thread_id) {
	if (thread_id != tracer.caller_id)
		*(bool *)found = true;
}

/* libc does not know of threads that the program started by clone(2). */
static bool is_alone(void) {
	bool found = false;
	return mw_os_is_single_threaded() &&
	       mw_os_thread_list_read(tracer.directory, see_other, &found) && !found;
}

MW_COLD bool mw_os_tracer_begin(mw_os_thread_list_t *list, uint64_t *began_ns) {
	int saved_errno = errno;
	bool is_done = false;
	tracer.list = list;
	tracer.process_id = mw_os_process_id();
	tracer.caller_id = mw_os_thread_id();
	tracer.handled = 0;
	tracer.began_ns = 0;
	tracer.task = 0;
	/* valgrind ends programs that share memory with another process in this way. */
	if (!tracer.stack && !mw_os_runs_on_valgrind())
		tracer.stack = mw_os_map(STACK_BYTES);
	tracer.directory = mw_os_open(MW_OS_NO_DIRECTORY, "/proc/self/task", MW_OS_DIRECTORY);
	if (tracer.directory >= 0 && is_alone()) {
		is_done = true;
	} else if (tracer.stack && tracer.directory >= 0 && start_task()) {
		tracer.is_permission_lent = must_permit();
		if (tracer.is_permission_lent)
			permit((unsigned long)tracer.task);
		set_state(BEGUN);
		is_done = await_state(STOPPED);
		if (!is_done)
			forget_threads();
	}
	*began_ns = is_done && tracer.began_ns != 0 ? tracer.began_ns : mw_os_monotonic_ns();
	errno = saved_errno;
	return is_done;
}

MW_COLD void mw_os_tracer_end(void) {
	int saved_errno = errno;
	if (tracer.task != 0) {
		set_state(RELEASED);
		if (await_state(DONE))
			mw_os_child_wait(tracer.task);
		tracer.task = 0;
	}
	if (tracer.is_permission_lent)
		permit(atomic_load_explicit(&tracer.permitted, memory_order_relaxed));
	tracer.is_permission_lent = false;
	close_directory();
	errno = saved_errno;
}

void mw_os_tracer_visit_memory(void (*visit)(uintptr_t start, uintptr_t limit)) {
	if (tracer.stack)
		visit((uintptr_t)tracer.stack, (uintptr_t)tracer.stack + STACK_BYTES);
}
