/* SPDX-License-Identifier: MIT
 * tool_entry.h -- how a tool has a thread answer that sleeps in a system call.
 * Layer: state. x86-64.
 *
 * The tool stops the thread as a debugger does (ptrace(2)), writes an entry frame at a multiple of
 * MW_TOOL_ENTRY_ALIGN below the thread's red zone, points the stack pointer at the frame and the
 * program counter at the entry code, and detaches. The thread answers requests, then restores the
 * frame's registers by itself: a tool that ends leaves nothing undone.
 *
 * The tool finds the entry code in the process's memory, never through the state file: the library
 * has an ELF note (mw_tool_note_t), which is loaded with it, also in a program that is linked with
 * libmallow.a. The tool enters only code that is, byte for byte, MW_TOOL_ENTRY_CODE as it was built
 * into the tool itself, but for the four bytes of the call. */
#ifndef MW_STATE_TOOL_ENTRY_H
#define MW_STATE_TOOL_ENTRY_H

#include <stdint.h>

#define MW_TOOL_ENTRY_ALIGN 64u
#define MW_TOOL_ENTRY_RED_ZONE_BYTES 128u
/* Stack that the answer may take, the frame included. */
#define MW_TOOL_ENTRY_STACK_BYTES 65536u

/* In the order in which the entry code pops them. */
typedef struct mw_tool_entry_frame {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15;
	uint64_t rip, cs, rflags, rsp, ss; /* of iretq */
} mw_tool_entry_frame_t;

_Static_assert(sizeof(mw_tool_entry_frame_t) == 160, "20 words");

/* The entry code. rsp points to a mw_tool_entry_frame_t. `call` is the instruction that calls the
 * function that answers: five bytes, the last four of which the tool does not know. fxsave64 keeps
 * the registers of floating point; the rest of wider ones belongs to no code that a system call has
 * interrupted. iretq restores flags, stack pointer and program counter at once, and no word below
 * the thread's stack pointer is read after it: a signal may overwrite them. */
/* clang-format off */
#define MW_TOOL_ENTRY_CODE(call) \
	"cld\n" \
	"movq %rsp, %rbx\n" \
	"subq $512, %rsp\n" \
	"fxsave64 (%rsp)\n" \
	call "\n" \
	"fxrstor64 (%rsp)\n" \
	"movq %rbx, %rsp\n" \
	"popq %rax\n popq %rbx\n popq %rcx\n popq %rdx\n popq %rsi\n popq %rdi\n popq %rbp\n" \
	"popq %r8\n popq %r9\n popq %r10\n popq %r11\n" \
	"popq %r12\n popq %r13\n popq %r14\n popq %r15\n" \
	"iretq\n"
/* clang-format on */

/* The ELF note: owner MW_TOOL_NOTE_OWNER, this type. */
#define MW_TOOL_NOTE_OWNER "mallow"
#define MW_TOOL_NOTE_TYPE 1

/* What the note holds. Each offset is relative to the address of the field itself. */
typedef struct mw_tool_note {
	int32_t entry_offset; /* the entry code */
	/* A pointer to the control words of the library's state file: by it the tool tells the
	 * library that wrote the file from another copy in the same process. */
	int32_t words_offset;
} mw_tool_note_t;

#endif
