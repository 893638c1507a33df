/* SPDX-License-Identifier: MIT
 * tool_entry.c -- code that a tool lets a thread enter (state/tool_entry.h). */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "base/compiler.h"
#include "heap/sample/hooks.h"
#include "os/file/proc.h"
#include "os/file/proc_threads.h"
#include "os/lock/lock.h"
#include "os/platform/interrupted_call.h"
#include "os/platform/system_call.h"
#include "os/process/repeated_call.h"
#include "os/signal/signal.h"
#include "os/signal/tick.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof/store/published.h"
#include "prof/unwind/unwind.h"
#include "state/tool_entry.h"

/* Sees to it that no handler of a sample's signal runs before the thread is in its call again:
 * drops those that came meanwhile, and lets none come of the CPU time that the rest takes. */
static MW_COLD void drop_samples(uint64_t blocked) {
	mw_control_cpu_put_off(MW_ANSWER_ENDS);
	mw_os_tick_drop_pending(blocked);
}

#if defined(__x86_64__)

static mw_repeated_registers_t registers_of(const mw_tool_entry_frame_t *frame) {
	return (mw_repeated_registers_t){.rip = frame->rip,
					 .rbp = frame->rbp,
					 .rsi = frame->rsi,
					 .rdx = frame->rdx,
					 .r10 = frame->r10,
					 .r8 = frame->r8,
					 .rsp = frame->rsp};
}

/* Returns whether the thread was stopped in the library, or in a function that the library called.
 * The library's operation is incomplete then. */
static MW_COLD bool is_in_library(const mw_tool_entry_frame_t *frame) {
	ucontext_t context;
	memset(&context, 0, sizeof context);
	greg_t *registers = context.uc_mcontext.gregs;
	registers[REG_RIP] = (greg_t)frame->rip;
	registers[REG_RSP] = (greg_t)frame->rsp;
	registers[REG_RBP] = (greg_t)frame->rbp;
	registers[REG_RBX] = (greg_t)frame->rbx;
	registers[REG_R12] = (greg_t)frame->r12;
	registers[REG_R13] = (greg_t)frame->r13;
	registers[REG_R14] = (greg_t)frame->r14;
	registers[REG_R15] = (greg_t)frame->r15;
	return mw_unwind_is_in_library(&context);
}

static void set_registers(mw_tool_entry_frame_t *frame, const mw_repeated_registers_t *r) {
	frame->rip = r->rip;
	frame->rbp = r->rbp;
	frame->rsi = r->rsi;
	frame->rdx = r->rdx;
	frame->r10 = r->r10;
	frame->r8 = r->r8;
}

/* Has the thread repeat the call with what remains of its time limit. */
static MW_COLD void shorten_call(mw_tool_entry_frame_t *frame, uint64_t past_ns) {
	uint64_t rest_ns = frame->rest_ns > past_ns ? frame->rest_ns - past_ns : 0;
	const mw_timed_call_t *call = mw_timed_call(frame->rax);
	mw_repeated_registers_t r = registers_of(frame);
	if (call &&
	    mw_repeated_call_begin(&r, call, rest_ns, mw_os_process_id(), mw_os_thread_id()))
		set_registers(frame, &r);
}

/* Has the thread transfer what its call would have transferred without the stop. */
static MW_COLD void finish_call(mw_tool_entry_frame_t *frame) {
	mw_repeated_registers_t r = registers_of(frame);
	r.rip -= MW_SYSCALL_CODE_BYTES;
	if (!mw_repeated_call_finish(&r, frame->cut_call, frame->rax, mw_os_process_id(),
				     mw_os_thread_id()))
		return;
	set_registers(frame, &r);
	frame->rax = frame->cut_call;
}

/* The answer's CPU time must not end an interval of the process's: the signal would go to a thread
 * that sleeps. */
static MW_COLD void begin(mw_tool_entry_frame_t *frame, uint64_t *blocked) {
	mw_control_cpu_put_off(MW_ANSWER_BEGINS);
	*blocked = frame->blocked_signals;
	if (frame->has_blocked)
		mw_os_note_answering(blocked);
}

/* An interrupted call returns EINTR where a handler of a signal runs that has come meanwhile. The
 * kernel sees to that itself for MW_RESTART_BLOCK: a handler that returns takes the rest of the
 * call from the thread. So signals of samples are dropped: their handler does not run. */
static MW_COLD void go_on(mw_tool_entry_frame_t *frame, const uint64_t *blocked, uint64_t past_ns) {
	(void)blocked;
	if (frame->has_blocked) {
		mw_os_note_answering(NULL);
		drop_samples(frame->blocked_signals);
	}
	bool is_ours = frame->restart == MW_RESTART || frame->restart == MW_RESTART_NO_HANDLER;
	if (is_ours && frame->has_blocked &&
	    mw_os_signal_will_run(frame->blocked_signals, frame->restart == MW_RESTART)) {
		frame->rip += MW_SYSCALL_CODE_BYTES;
		frame->rax = (uint64_t)-EINTR;
	} else if (frame->rest_ns != 0) {
		shorten_call(frame, past_ns);
	} else if (frame->cut_call != 0) {
		finish_call(frame);
	}
	if (frame->has_blocked)
		mw_os_signal_set_blocked(frame->blocked_signals);
}

#else

/* Returns whether the thread was stopped in the library, or in a function that the library called.
 * The library's operation is incomplete then. */
static MW_COLD bool is_in_library(const mw_tool_entry_frame_t *frame) {
	return mw_unwind_is_in_library(&frame->context);
}

/* The answer's CPU time must not end an interval of the process's: the signal would go to a thread
 * that sleeps. */
static MW_COLD void begin(mw_tool_entry_frame_t *frame, uint64_t *blocked) {
	mw_control_cpu_put_off(MW_ANSWER_BEGINS);
	memcpy(blocked, &frame->context.uc_sigmask, sizeof *blocked);
	mw_os_note_answering(blocked);
}

/* rt_sigreturn(2) restores the blocked signals, and the alternate stack, which no tool can read. An
 * interrupted call returns EINTR where a handler of a signal runs that has come meanwhile: the
 * kernel, which has forgotten the call, would repeat it. */
static MW_COLD void go_on(mw_tool_entry_frame_t *frame, const uint64_t *blocked, uint64_t past_ns) {
	mcontext_t *machine = &frame->context.uc_mcontext;
	(void)past_ns;
	mw_os_note_answering(NULL);
	drop_samples(*blocked);
	bool is_call = frame->restart == MW_RESTART || frame->restart == MW_RESTART_NO_HANDLER;
	if (is_call && mw_os_signal_will_run(*blocked, frame->restart == MW_RESTART)) {
		machine->pc += MW_SYSCALL_CODE_BYTES;
		machine->regs[0] = (uint64_t)-EINTR;
	}
	mw_system_call(SYS_sigaltstack, 0, (long)(intptr_t)&frame->context.uc_stack, 0);
}

#endif

/* Follows requests, also a check for leaks that waited for another one, or publishes the state file
 * if the heap is too small for one. */
static MW_COLD void answer(void) {
	if (!mw_published_exists()) {
		mw_control_publish();
		return;
	}
	mw_control_poll();
	if (atomic_load_explicit(&mw_control_view.has_leak_check, memory_order_relaxed))
		mw_control_leaks_work();
}

/* Called by the code below. Not static: code that is generated at link time is divided into parts,
 * and assembly may lie in another one. */
MW_COLD __attribute__((used)) void mw_answer_tool(mw_tool_entry_frame_t *frame);

void mw_answer_tool(mw_tool_entry_frame_t *frame) {
	int saved_errno = errno;
	uint64_t begin_ns = mw_os_monotonic_ns(), blocked;
	begin(frame, &blocked);
	if (mw_lock_held_ranks == 0 && !mw_lock_is_forking() && !is_in_library(frame))
		answer();
	go_on(frame, &blocked, mw_os_monotonic_ns() - begin_ns);
	errno = saved_errno;
}

#if defined(__x86_64__)
#define RETURN_REGISTER "rip"
#define CALL "call"
#else
#define RETURN_REGISTER "x30"
#define CALL "bl"
#endif

/* The unwind rule says that the caller is not known. */
__asm__(".pushsection .text.unlikely,\"ax\",@progbits\n"
	".globl mw_control_entry\n"
	".hidden mw_control_entry\n"
	".type mw_control_entry, @function\n"
	"mw_control_entry:\n"
	".cfi_startproc\n"
	".cfi_undefined " RETURN_REGISTER
	"\n" MW_TOOL_ENTRY_CODE(CALL
				" mw_answer_tool") ".cfi_endproc\n"
						   ".size mw_control_entry, . - mw_control_entry\n"
						   ".popsection\n");

/* mw_tool_note_t, by which tools find the code and mw_heap_poll_word in the process's memory. */
_Static_assert(sizeof(mw_heap_poll_word) == sizeof(void *), "mw_tool_note_t.words_offset");
#ifdef MW_HARDENED
#define NOTE_FLAGS MW_TOOL_NOTE_GUARDS
#else
#define NOTE_FLAGS 0
#endif
#define TEXT_OF_NUMBER(number) #number
#define TEXT_OF(number) TEXT_OF_NUMBER(number)
__asm__(".pushsection .note.mallow,\"a\",@note\n"
	".balign 4\n"
	".long 2f - 1f, 4f - 3f, " TEXT_OF(
		MW_TOOL_NOTE_TYPE) "\n"
				   "1: .asciz \"" MW_TOOL_NOTE_OWNER "\"\n"
				   "2: .balign 4\n"
				   "3: .long mw_control_entry - .\n"
				   ".long mw_heap_poll_word - .\n"
				   ".long " TEXT_OF(NOTE_FLAGS) "\n"
								"4:\n"
								".popsection\n");
