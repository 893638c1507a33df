/* SPDX-License-Identifier: MIT
 * leak_check.c -- mallow_leak_check() of <mallow/mallow.h>. */
#include <errno.h>
#include <mallow/mallow.h>
#include <stdint.h>

#include "api/process/start.h"
#include "base/compiler.h"
#include "leak/leak.h"
#include "os/lock/lock.h"

/* Stores the registers that a caller may expect to be kept, and the stack pointer. */
MW_ALWAYS_INLINE void note_registers(mw_os_stopped_t *self) {
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

static int error_of(mw_result_t result) {
	switch (result) {
	case MW_OK:
		return 0;
	case MW_ERR_NO_MEMORY:
		return ENOMEM;
	case MW_ERR_UNSUPPORTED:
		return ENOSYS;
	case MW_ERR_BAD_VALUE:
		return EAGAIN;
	default:
		return EBUSY;
	}
}

static void fill(mallow_leaks_t *leaks, const mw_leak_result_t *result) {
	*leaks = (mallow_leaks_t){
		.size = leaks->size,
		.live_blocks = result->live.blocks,
		.live_bytes = result->live.bytes,
		.direct_blocks = result->direct.blocks,
		.direct_bytes = result->direct.bytes,
		.indirect_blocks = result->indirect.blocks,
		.indirect_bytes = result->indirect.bytes,
		.root_bytes = result->root_bytes,
		.block_bytes = result->block_bytes,
		.unread_bytes = result->unread_bytes,
		.pause_ns = result->pause_ns,
		.scan_ns = result->scan_ns,
		.threads = result->threads,
		.running_threads = result->running_threads,
	};
}

int mallow_leak_check(mallow_leaks_t *leaks) {
	mw_os_stopped_t self = {0};
	mw_leak_result_t result = {0};
	note_registers(&self);
	if (!mw_api_started)
		mw_api_start();
	if (leaks->size < sizeof *leaks)
		return EINVAL;
	if (mw_lock_held_ranks != 0 || mw_lock_is_forking())
		return EBUSY;
	int saved_errno = errno;
	int error = error_of(mw_leak_check(&self, &result));
	errno = saved_errno;
	if (error == 0)
		fill(leaks, &result);
	return error;
}
