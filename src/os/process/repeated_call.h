/* SPDX-License-Identifier: MIT
 * repeated_call.h -- has a stopped thread repeat a system call with a shorter time limit, or for
 * the bytes that it has not transferred, and go on with the registers that it had.
 * Layer: os/process. x86-64.
 *
 * Limit, buffer and size are arguments, so they are in registers, which the kernel keeps for the
 * caller of the call. The thread is pointed to code of the library that makes the call, gives the
 * registers their values back, and goes on behind the program's own instruction. The stack is not
 * touched: what the code needs is in a record, whose address is in rbp meanwhile. */
#ifndef MW_OS_REPEATED_CALL_H
#define MW_OS_REPEATED_CALL_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)

#include "base/compiler.h"
#include "os/platform/interrupted_call.h"

/* Registers of a stopped thread. rip: of the instruction that enters the kernel. */
typedef struct mw_repeated_registers {
	uint64_t rip, rbp, rsi, rdx, r10, r8, rsp;
} mw_repeated_registers_t;

/* Changes the registers so that the thread makes the call with the remaining time. A thread that
 * was going to do so since an earlier stop does so with the new time. Returns false, with nothing
 * changed, if too many threads do: the call then begins anew. Threads of one process may call this
 * at the same time for different threads; so may a task that shares the memory of
 * `process_id`. */
MW_COLD bool mw_repeated_call_begin(mw_repeated_registers_t *r, const mw_timed_call_t *call,
				    uint64_t rest_ns, uint32_t process_id, uint32_t thread_id);
/* Changes the registers so that the thread, whose call (mw_call_may_be_cut()) has transferred some
 * `bytes`, transfers the rest. The call then returns the sum. The caller sets rax to the call's
 * number. Returns false, with nothing changed, if nothing remains, if a message has more parts than
 * a record holds, or names a receiver or has room for control data, or if too many threads repeat
 * calls: the call then returns `bytes`. */
MW_COLD bool mw_repeated_call_finish(mw_repeated_registers_t *r, uint64_t number, uint64_t bytes,
				     uint32_t process_id, uint32_t thread_id);
/* Stores the registers that the program set before the call, if the thread is about to repeat one;
 * else changes nothing. The thread stays where it is. Async-signal-safe. */
MW_COLD void mw_repeated_call_original(mw_repeated_registers_t *r);

#endif

#endif
