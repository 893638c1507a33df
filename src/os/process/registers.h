/* SPDX-License-Identifier: MIT
 * registers.h -- notes the registers of the calling thread.
 * Layer: os/process. */
#ifndef MW_OS_REGISTERS_H
#define MW_OS_REGISTERS_H

#include "base/compiler.h"
#include "os/process/stop.h"

/* Stores the registers that a caller may expect to be kept, the stack pointer and the thread
 * pointer. *self is 0 before. Inlined: the registers and the stack are the caller's. */
MW_ALWAYS_INLINE void mw_os_note_registers(mw_os_stopped_t *self) {
#if defined(__x86_64__)
	__asm__ volatile("movq %%rbx, 0(%0)\n\tmovq %%rbp, 8(%0)\n\tmovq %%r12, 16(%0)\n\t"
			 "movq %%r13, 24(%0)\n\tmovq %%r14, 32(%0)\n\tmovq %%r15, 40(%0)"
			 :
			 : "r"(self->registers)
			 : "memory");
	__asm__ volatile("movq %%rsp, %0" : "=r"(self->stack_pointer));
#else
	__asm__ volatile("stp x19, x20, [%0]\n\tstp x21, x22, [%0, #16]\n\t"
			 "stp x23, x24, [%0, #32]\n\tstp x25, x26, [%0, #48]\n\t"
			 "stp x27, x28, [%0, #64]\n\tstr x29, [%0, #80]"
			 :
			 : "r"(self->registers)
			 : "memory");
	__asm__ volatile("mov %0, sp" : "=r"(self->stack_pointer));
#endif
	self->thread_pointer = (uintptr_t)__builtin_thread_pointer();
	self->answered = 1;
}

#endif
