/* SPDX-License-Identifier: MIT
 * roomy_stack.c -- changes to the library's stack and back. */
#include "os/unwind/roomy_stack.h"

#include <stdatomic.h>
#include <stdint.h>

#include "os/platform/arch.h"
#include "os/platform/kernel_calls.h"
#include "os/platform/system_call.h"
#include "os/unwind/stack.h"

static struct {
	/* Process of the thread that uses it; 0: none. In the child of a fork the number is
	 * another's: only the thread that forked is there. */
	_Atomic uint32_t user;
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

/* Any number but 0 where the program forbids the call. */
static uint32_t own_process(void) {
	return mw_os_is_confined() ? 1 : (uint32_t)mw_system_call(SYS_getpid);
}

/* Returns whether the library's stack belongs to the calling thread now. */
static bool take(void) {
	uint32_t process_id = own_process();
	uint32_t user = atomic_load_explicit(&roomy.user, memory_order_relaxed);
	return user != process_id &&
	       atomic_compare_exchange_strong_explicit(&roomy.user, &user, process_id,
						       memory_order_acquire, memory_order_relaxed);
}

/* Returns whether the calling thread runs on the stack of the first thread, which the kernel makes
 * large.  The stack of any other one ends at its thread pointer, and may be small. */
static bool is_on_first_stack(void) {
	mw_stack_window_t window;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	return mw_os_stack_open(&window, here) && window.is_own &&
	       window.hi != (mw_os_thread_pointer() & ~(uintptr_t)(sizeof(uintptr_t) - 1));
}

MW_RESIDENT bool mw_os_call_with_room(void (*function)(void *), void *argument) {
	if (is_on_first_stack()) {
		function(argument);
		return true;
	}
	if (!take())
		return false;
	mw_os_call_on(roomy.stack + sizeof roomy.stack, function, argument);
	/* Release: pairs with the acquire in take(). */
	atomic_store_explicit(&roomy.user, 0, memory_order_release);
	return true;
}
