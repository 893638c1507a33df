/* SPDX-License-Identifier: MIT
 * tool_entry.h -- how a tool has a thread answer that does not allocate.
 * Layer: state.
 *
 * The tool stops the thread as a debugger does (ptrace(2)), writes an entry frame at a multiple of
 * MW_TOOL_ENTRY_ALIGN below the thread's red zone (x86-64: and the registers of floating point
 * behind it), points the stack pointer at the frame and the program counter at the entry code,
 * blocks signals, and detaches. The thread answers requests, unless it was stopped inside of the
 * library. Then it restores its signals and the frame's registers by itself: a tool that ends
 * leaves nothing undone.
 *
 * The thread may have been stopped at any instruction, or in a system call. An interrupted call is
 * repeated as the kernel would repeat it (os/platform/interrupted_call.h).
 *
 * The tool finds the entry code in the process's memory, never through the state file: the library
 * has an ELF note (mw_tool_note_t), which is loaded with it, also in a program that is linked with
 * libmallow.a. The tool enters only code that is, byte for byte, MW_TOOL_ENTRY_CODE as it was built
 * into the tool itself, but for where the call leads. */
#ifndef MW_STATE_TOOL_ENTRY_H
#define MW_STATE_TOOL_ENTRY_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define MW_TOOL_ENTRY_ALIGN 64u
#define MW_TOOL_ENTRY_RED_ZONE_BYTES 128u
/* Stack that the answer may take, the frame included. */
#define MW_TOOL_ENTRY_STACK_BYTES 65536u

/* Signals that are blocked while the thread answers: all but SIGBUS, by which the library notices
 * that somebody has cut its state file. A handler that ran meanwhile would have some interrupted
 * calls return EINTR; the library's own handlers, of samples, are among them. */
#define MW_TOOL_ENTRY_BLOCKED (~(UINT64_C(1) << (SIGBUS - 1)))

#if defined(__x86_64__)

/* In the order in which the entry code pops them. */
typedef struct mw_tool_entry_frame {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t rip, cs, rflags, rsp, ss; /* of iretq */
	uint64_t blocked_signals;          /* of the thread */
	/* Result by which the kernel repeats the call to which rip points (MW_RESTART, ...); 0: rip
	 * points to no interrupted call. */
	uint32_t restart;
	/* 1: the frame is to be used: signals were blocked after it was written */
	uint32_t has_blocked;
	/* What remains of the time limit of a timed call; 0: it has none, or the call begins anew.
	 */
	uint64_t rest_ns;
	/* Number of the call that has returned rax, if it may have done only a part
	 * (mw_call_may_be_cut()); rip points behind it. Else 0. */
	uint64_t cut_call;
} mw_tool_entry_frame_t;

#define MW_TOOL_ENTRY_FRAME_BYTES 192
_Static_assert(sizeof(mw_tool_entry_frame_t) == MW_TOOL_ENTRY_FRAME_BYTES, "24 words");

/* The entry code. rsp points to a mw_tool_entry_frame_t, behind which is what xsave64 would have
 * written. `call` is the instruction that calls the function that answers, with the frame as its
 * argument: five bytes, the last four of which the tool does not know. 0xe7: the registers of x87,
 * SSE, AVX and AVX-512; the answer changes no others. iretq restores flags, stack pointer and
 * program counter at once, and no word below the thread's stack pointer is read after it: a signal
 * may overwrite them. */
/* clang-format off */
#define MW_TOOL_ENTRY_CODE(call) \
	"cld\n" \
	"movq %rsp, %rbx\n" \
	"movq %rsp, %rdi\n" \
	call "\n" \
	"movl $0xe7, %eax\n" \
	"xorl %edx, %edx\n" \
	"xrstor64 192(%rbx)\n" \
	"movq %rbx, %rsp\n" \
	"popq %rax\n popq %rbx\n popq %rcx\n popq %rdx\n popq %rsi\n popq %rdi\n popq %rbp\n" \
	"popq %r8\n popq %r9\n popq %r10\n popq %r11\n" \
	"popq %r12\n popq %r13\n popq %r14\n popq %r15\n" \
	"iretq\n"
/* clang-format on */

#elif defined(__aarch64__)

/* The frame has the form of a signal's, which the kernel writes to a thread's stack for a handler
 * and reads in rt_sigreturn(2): all registers, those of floating point and of SVE in records, and
 * the blocked signals. */
typedef struct mw_tool_entry_frame {
	siginfo_t unused_info;
	ucontext_t context;
	/* How the kernel would have ended the call to which the program counter points (MW_RESTART,
	 * ...); 0: it points to no interrupted call. */
	uint32_t restart;
	uint32_t unused;
	uint64_t unused_2;
} mw_tool_entry_frame_t;

_Static_assert(offsetof(mw_tool_entry_frame_t, context.uc_sigmask) == 128 + 40 &&
		       offsetof(mw_tool_entry_frame_t, context.uc_mcontext.regs) == 128 + 184 &&
		       offsetof(mw_tool_entry_frame_t, context.uc_mcontext.__reserved) == 128 + 464,
	       "as the kernel has it");

/* The entry code. sp points to a mw_tool_entry_frame_t. `call` is the instruction that calls the
 * function that answers, with the frame as its argument. rt_sigreturn(2), number 139, restores all
 * registers and the blocked signals at once; the function has changed no register of SME. */
#define MW_TOOL_ENTRY_CODE(call)                                                                   \
	"mov x0, sp\n" call "\n"                                                                   \
	"mov x8, #139\n"                                                                           \
	"svc #0\n"

#endif

/* The ELF note: owner MW_TOOL_NOTE_OWNER, this type. */
#define MW_TOOL_NOTE_OWNER "mallow"
#define MW_TOOL_NOTE_TYPE 1

/* What the note holds. Each offset is relative to the address of the field itself. */
typedef struct mw_tool_note {
	int32_t entry_offset; /* the entry code */
	/* A pointer to the control words of the library's state file: by it the tool tells the
	 * library that wrote the file from another copy in the same process. */
	int32_t words_offset;
	uint32_t flags; /* MW_TOOL_NOTE_GUARDS or 0 */
} mw_tool_note_t;

/* Blocks of malloc() have pages without access before them (the hardened library), as the stacks of
 * threads have: a stack that the program has put into a block looks like one of its own mapping. */
#define MW_TOOL_NOTE_GUARDS 1

#endif
