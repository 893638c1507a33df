/* SPDX-License-Identifier: MIT
 * tool_entry.c -- code that a tool lets a sleeping thread enter (state/tool_entry.h). */
#include <errno.h>

#include "base/compiler.h"
#include "os/lock/lock.h"
#include "prof/control/control.h"
#include "prof/unwind/unwind.h"

#if defined(__x86_64__)

/* Called by the code below. The tool chooses a thread that sleeps in a system call of the program;
 * should it be one of the library after all, the thread may hold its locks. */
static MW_COLD __attribute__((used)) void answer_tool(void) {
	int saved_errno = errno;
	if (mw_lock_held_ranks == 0 && !mw_lock_is_forking() && !mw_unwind_is_interrupted())
		mw_control_poll();
	errno = saved_errno;
}

/* rsp points to a mw_tool_entry_frame_t. fxsave64 keeps the registers of floating point; the rest
 * of wider ones belongs to no code that a system call has interrupted. iretq restores flags, stack
 * pointer and program counter at once, and no word below the thread's stack pointer is read after
 * it: a signal may overwrite them. The unwind rule says that the caller is not known. */
__asm__(".pushsection .text.unlikely,\"ax\",@progbits\n"
	".globl mw_control_entry\n"
	".hidden mw_control_entry\n"
	".type mw_control_entry, @function\n"
	"mw_control_entry:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"cld\n"
	"movq %rsp, %rbx\n"
	"subq $512, %rsp\n"
	"fxsave64 (%rsp)\n"
	"call answer_tool\n"
	"fxrstor64 (%rsp)\n"
	"movq %rbx, %rsp\n"
	"popq %rax\n popq %rbx\n popq %rcx\n popq %rdx\n popq %rsi\n popq %rdi\n popq %rbp\n"
	"popq %r8\n popq %r9\n popq %r10\n popq %r11\n"
	"popq %r12\n popq %r13\n popq %r14\n popq %r15\n"
	"iretq\n"
	".cfi_endproc\n"
	".size mw_control_entry, . - mw_control_entry\n"
	".popsection\n");

#endif
