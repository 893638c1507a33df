/* SPDX-License-Identifier: MIT
 * tool_entry.h -- how a tool has a thread answer that sleeps in a system call.
 * Layer: state. x86-64.
 *
 * The tool stops the thread as a debugger does (ptrace(2)), writes an entry frame at a multiple of
 * MW_TOOL_ENTRY_ALIGN below the thread's red zone, points the stack pointer at the frame and the
 * program counter at live.entry_address, and detaches. The thread answers requests, then restores
 * the frame's registers by itself: a tool that ends leaves nothing undone. */
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

#endif
