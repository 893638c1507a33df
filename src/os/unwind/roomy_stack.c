/* SPDX-License-Identifier: MIT
 * roomy_stack.c -- changes to the library's stack and back. */
#include "os/unwind/roomy_stack.h"

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "base/compiler.h"
#include "os/memory/map.h"
#include "os/platform/arch.h"
#include "os/platform/kernel_calls.h"
#include "os/platform/system_call.h"
#include "os/unwind/stack.h"

/* No use takes so long, unless it has ended without a word: the thread has left it for good, by
 * siglongjmp() out of a signal's handler, or has ended there. */
#define LEFT_SECONDS 5
/* Most stacks that take the place of one that was left. Whoever left it may come back to it
 * (swapcontext(3) in handlers), so its memory is not used again. */
#define RENEWALS_MAX 15u
/* Numbers of processes and threads are below 2^22 (PID_MAX_LIMIT). */
enum { ID_BITS = 22, USE_BITS = 64 - 2 * ID_BITS };

static struct {
	/* Who uses it: process, thread and number of the use; 0: nobody. In the child of a fork
	 * the process is another one: only the thread that forked is there. */
	_Atomic uint64_t user;
	_Atomic uint32_t uses;
	_Atomic uint32_t since_seconds; /* CLOCK_MONOTONIC_COARSE of the last use */
	uint32_t renewals;              /* belongs to the user */
	_Atomic(char *) renewed;        /* written by the user; NULL: the first one is in use */
	_Alignas(16) char stack[MW_OS_ROOMY_STACK_BYTES];
} roomy MW_SPARSE;

/* Calls a function on another stack. Registers that a caller may expect to be kept are stored on
 * the caller's stack: a leak check finds the pointers in them there. */
void mw_os_call_on(char *stack_top, void (*function)(void *), void *argument);
#if defined(__x86_64__)
__asm__(".pushsection .text.unlikely,\"ax\",@progbits\n"
	".globl mw_os_call_on\n"
	".hidden mw_os_call_on\n"
	".type mw_os_call_on, @function\n"
	"mw_os_call_on:\n"
	".cfi_startproc\n"
	"pushq %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset rbp, -16\n"
	"movq %rsp, %rbp\n"
	".cfi_def_cfa_register rbp\n"
	"pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
	"movq %rdi, %rsp\n"
	"movq %rdx, %rdi\n"
	"call *%rsi\n"
	"movq %rbp, %rsp\n"
	"popq %rbp\n"
	".cfi_def_cfa rsp, 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size mw_os_call_on, . - mw_os_call_on\n"
	".popsection\n");
#else
__asm__(".pushsection .text.unlikely,\"ax\",@progbits\n"
	".globl mw_os_call_on\n"
	".hidden mw_os_call_on\n"
	".type mw_os_call_on, @function\n"
	"mw_os_call_on:\n"
	".cfi_startproc\n"
	"stp x29, x30, [sp, #-96]!\n"
	".cfi_def_cfa_offset 96\n"
	".cfi_offset x29, -96\n"
	".cfi_offset x30, -88\n"
	"mov x29, sp\n"
	".cfi_def_cfa_register x29\n"
	"stp x19, x20, [sp, #16]\n stp x21, x22, [sp, #32]\n stp x23, x24, [sp, #48]\n"
	"stp x25, x26, [sp, #64]\n stp x27, x28, [sp, #80]\n"
	"mov sp, x0\n"
	"mov x0, x2\n"
	"blr x1\n"
	"mov sp, x29\n"
	".cfi_def_cfa_register sp\n"
	"ldp x29, x30, [sp], #96\n"
	".cfi_restore x29\n"
	".cfi_restore x30\n"
	".cfi_def_cfa_offset 0\n"
	"ret\n"
	".cfi_endproc\n"
	".size mw_os_call_on, . - mw_os_call_on\n"
	".popsection\n");
#endif

/* A number of the process and of the thread; any but 0 where the program forbids the calls. */
static uint64_t own_ids(void) {
	if (mw_os_is_confined())
		return 1;
	return (uint64_t)mw_system_call(SYS_getpid) << ID_BITS |
	       (uint64_t)mw_system_call(SYS_gettid);
}

static uint32_t now_seconds(void) {
	struct timespec now = {0};
	if (!mw_os_is_confined())
		mw_system_call(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, &now);
	return (uint32_t)now.tv_sec;
}

static char *current_stack(void) {
	/* Pairs with the release in renew(): who sees another user's stack sees that user. */
	char *renewed = atomic_load_explicit(&roomy.renewed, memory_order_acquire);
	return renewed ? renewed : roomy.stack;
}

/* Returns whether a use has ended without a word: the thread is elsewhere now, or has had time. */
static MW_COLD bool is_left(uint64_t ids, uint64_t user) {
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	if (user >> USE_BITS == ids)
		return here - (uintptr_t)current_stack() >= MW_OS_ROOMY_STACK_BYTES;
	return now_seconds() - atomic_load_explicit(&roomy.since_seconds, memory_order_relaxed) >
	       LEFT_SECONDS;
}

/* Called by the user. */
static MW_COLD bool renew(void) {
	char *stack = roomy.renewals < RENEWALS_MAX ? mw_os_map(MW_OS_ROOMY_STACK_BYTES) : NULL;
	if (!stack)
		return false;
	roomy.renewals++;
	atomic_store_explicit(&roomy.renewed, stack, memory_order_release);
	return true;
}

static void give_back(uint64_t own, uint64_t to) {
	/* Release: pairs with the acquire in take(). It is another's if this use took too long. */
	atomic_compare_exchange_strong_explicit(&roomy.user, &own, to, memory_order_release,
						memory_order_relaxed);
}

/* Returns a number for give_back(): the stack in *stack belongs to the calling thread now. 0: it
 * does not. */
static uint64_t take(char **stack) {
	uint64_t ids = own_ids();
	/* Acquire: the time that is_left() reads is not older than the use. */
	uint64_t user = atomic_load_explicit(&roomy.user, memory_order_acquire);
	bool is_free = user >> (ID_BITS + USE_BITS) != ids >> ID_BITS || user == 0;
	if (!is_free && !is_left(ids, user))
		return 0;
	uint32_t use = atomic_fetch_add_explicit(&roomy.uses, 1, memory_order_relaxed);
	uint64_t own = ids << USE_BITS | (use & (((uint32_t)1 << USE_BITS) - 1));
	/* Before the use is seen: with the time of the one before, another thread would take the
	 * stack over at once. */
	atomic_store_explicit(&roomy.since_seconds, now_seconds(), memory_order_relaxed);
	if (!atomic_compare_exchange_strong_explicit(&roomy.user, &user, own, memory_order_acq_rel,
						     memory_order_relaxed))
		return 0;
	if (!is_free && !renew()) {
		give_back(own, user);
		return 0;
	}
	*stack = current_stack();
	/* A thread that was stopped here may have been taken over, and the stack is another's. */
	return atomic_load_explicit(&roomy.user, memory_order_relaxed) == own ? own : 0;
}

/* Returns whether the calling thread runs on the stack of the first thread, which the kernel makes
 * large.  The stack of any other one ends at its thread pointer, and may be small. */
static bool is_on_first_stack(void) {
	mw_stack_window_t window;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	return mw_os_stack_open(&window, here) && window.is_own &&
	       window.hi != (mw_os_thread_pointer() & ~(uintptr_t)(sizeof(uintptr_t) - 1));
}

static MW_COLD bool call_on_own(void (*function)(void *), void *argument) {
	char *stack;
	uint64_t own = take(&stack);
	if (own == 0)
		return false;
	mw_os_call_on(stack + MW_OS_ROOMY_STACK_BYTES, function, argument);
	give_back(own, 0);
	return true;
}

bool mw_os_call_with_room(void (*function)(void *), void *argument) {
	if (!is_on_first_stack())
		return call_on_own(function, argument);
	function(argument);
	return true;
}
