/* SPDX-License-Identifier: MIT
 * entry.c -- how a thread that the command stopped enters the blob and leaves it. */
#include <stdint.h>

#include "attach/blob.h"
#include "os/platform/system_call.h"

/* The stack of the thread that has entered: the entry code lets in one at a time. */
#define STACK_BYTES 131072
__attribute__((used)) char mw_attach_stack[STACK_BYTES] MW_SPARSE __attribute__((aligned(64)));
/* Registers of floating point: what xsave64 writes for x87, SSE, AVX and AVX-512, at most. */
__attribute__((used)) char mw_attach_vectors[4096] __attribute__((aligned(64)));
/* The process in which a thread is inside; 0: none. If that is not the calling one, the thread was
 * its parent's when it was forked. */
__attribute__((used)) uint32_t mw_attach_entered_process;

#define TEXT_OF_NUMBER(number) #number
#define TEXT_OF(number) TEXT_OF_NUMBER(number)
_Static_assert(sizeof(mw_attach_frame_t) == 160, "20 words");

/* A second thread that comes while one is inside only restores its registers: the request is then
 * answered by the first one. Numbers: 39 is getpid(2), 14 rt_sigprocmask(2), 2 SIG_SETMASK, 8 the
 * bytes of a signal set. 0xe7: x87, SSE, AVX, AVX-512. iretq restores flags, stack pointer and
 * program counter at once, and no word below the thread's stack pointer is read after it. */
#if defined(__x86_64__)
/* clang-format off */
__asm__(".pushsection .text.unlikely,\"ax\",@progbits\n"
	".globl mw_attach_entry\n"
	".hidden mw_attach_entry\n"
	".type mw_attach_entry, @function\n"
	"mw_attach_entry:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"endbr64\n"
	"cld\n"
	"movq %rsp, %rbx\n"
	"movl $39, %eax\n"
	"syscall\n"
	"movl %eax, %ecx\n"
	"movl mw_attach_entered_process(%rip), %eax\n"
	"cmpl %ecx, %eax\n"
	"je 1f\n"
	"lock cmpxchgl %ecx, mw_attach_entered_process(%rip)\n"
	"jne 1f\n"
	/* blocks all signals */
	"movl $-1, -64(%rbx)\n"
	"movl $-1, -60(%rbx)\n"
	"movl $2, %edi\n"
	"leaq -64(%rbx), %rsi\n"
	"leaq -56(%rbx), %rdx\n"
	"leaq -64(%rbx), %rsp\n"
	"movl $8, %r10d\n"
	"movl $14, %eax\n"
	"syscall\n"
	"movl $0xe7, %eax\n"
	"xorl %edx, %edx\n"
	"xsave64 mw_attach_vectors(%rip)\n"
	"leaq mw_attach_stack+" TEXT_OF(STACK_BYTES) "(%rip), %rsp\n"
	"xorl %ebp, %ebp\n"
	"call mw_attach_enter\n"
	"movl $0xe7, %eax\n"
	"xorl %edx, %edx\n"
	"xrstor64 mw_attach_vectors(%rip)\n"
	"leaq -64(%rbx), %rsp\n"
	"movl $0, mw_attach_entered_process(%rip)\n"
	/* puts the blocked signals back */
	"movl $2, %edi\n"
	"leaq -56(%rbx), %rsi\n"
	"xorl %edx, %edx\n"
	"movl $8, %r10d\n"
	"movl $14, %eax\n"
	"syscall\n"
	"1: movq %rbx, %rsp\n"
	"popq %rax\n popq %rbx\n popq %rcx\n popq %rdx\n popq %rsi\n popq %rdi\n popq %rbp\n"
	"popq %r8\n popq %r9\n popq %r10\n popq %r11\n"
	"popq %r12\n popq %r13\n popq %r14\n popq %r15\n"
	"iretq\n"
	".cfi_endproc\n"
	".size mw_attach_entry, . - mw_attach_entry\n"
	".popsection\n");
/* clang-format on */
#else
#error "the entry code is written for x86-64"
#endif

/* mw_attach_note_t. */
__asm__(".pushsection .note.mallow,\"a\",@note\n"
	".balign 4\n"
	".long 2f - 1f, 4f - 3f, " TEXT_OF(
		MW_ATTACH_NOTE_TYPE) "\n"
				     "1: .asciz \"" MW_ATTACH_NOTE_OWNER "\"\n"
				     "2: .balign 4\n"
				     "3: .long " TEXT_OF(
					     MW_ATTACH_VERSION) "\n"
								".long mw_attach_entry - .\n"
								".long mw_attach_work - .\n"
								"4:\n"
								".popsection\n");
