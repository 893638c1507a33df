/* SPDX-License-Identifier: MIT
 * thread_registers.h -- registers of a thread that ptrace(2) has stopped: which system call the
 * stop has interrupted, and what is written to the thread's stack (state/tool_entry.h). Layer:
 * live/enter. */
#ifndef MW_TOOL_LIVE_ENTER_THREAD_REGISTERS_H
#define MW_TOOL_LIVE_ENTER_THREAD_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/loaded/address_space.h"
#include "os/platform/interrupted_call.h"
#include "state/tool_entry.h"

/* Registers of floating point, as xsave64 writes them: with AVX-512 2.7 KiB, with AMX 11 KiB. On
 * aarch64 they are in the frame. */
enum { MW_VECTORS_MIN_BYTES = 576, MW_VECTORS_MAX_BYTES = 16384 };

/* What is written to the thread's stack. */
typedef struct mw_stack_part {
	mw_tool_entry_frame_t frame;
	uint8_t vectors[MW_VECTORS_MAX_BYTES];
} mw_stack_part_t;

typedef struct mw_registers {
	mw_traced_registers_t user;
	uint64_t stack_pointer, thread_pointer;
} mw_registers_t;

/* What is known of a thread's call before it is stopped, which wakes it. */
typedef struct mw_call_before {
#if defined(__aarch64__)
	mw_sleeping_call_t call;
#else
	char unused;
#endif
} mw_call_before_t;

/* Reads what /proc tells of a thread that sleeps. */
mw_call_before_t mw_call_before(int pid, int thread);

/* Reads the registers of a stopped thread. */
bool mw_registers_read(int thread, mw_registers_t *out);
/* A thread that is only let go repeats a call that would return EINTR because of the stop. A thread
 * whose system calls are filtered (seccomp(2)) begins anew a call that the kernel would go on with
 * by restart_syscall(2), which filters may answer with a signal that ends the process. */
void mw_registers_let_call_repeat(int thread, const mw_call_before_t *before, bool is_filtered);
/* Makes what is written to the stack. Returns its bytes; 0: the thread is not fit at this
 * moment. *number: of the interrupted system call. */
size_t mw_registers_make_part(const mw_address_space_t *space, int thread,
			      const mw_call_before_t *before, const mw_registers_t *registers,
			      mw_stack_part_t *part, uint64_t *number);
/* Says in the frame what remains of the time limit of a call that begins anew. */
void mw_registers_note_limit(mw_stack_part_t *part, uint64_t rest_ns);

/* Where a thread is pointed to: its stack pointer, where the frame is, the code, and the second
 * argument of the code. */
typedef struct mw_registers_goal {
	uint64_t stack_pointer, code, argument;
} mw_registers_goal_t;

/* Points the stopped thread there, and blocks signals. */
bool mw_registers_point(int thread, const mw_registers_t *registers, const mw_stack_part_t *part,
			const mw_registers_goal_t *goal);
/* Returns whether the thread has a shadow stack, by which the processor checks returns. */
bool mw_registers_are_shadowed(int thread);

#endif
