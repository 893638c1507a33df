/* SPDX-License-Identifier: MIT
 * injected.c -- is copied to other processes, byte for byte: a section of its own, without calls
 * out of it, constants elsewhere, or registers of floating point (tools/CMakeLists.txt). */
#include "live/inject/injected.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "os/platform/interrupted_call.h"
#include "state/tool_entry.h"

#if defined(__x86_64__)

#ifndef MAP_FIXED_NOREPLACE /* Linux 4.17 */
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define INJECTED __attribute__((section("mw_injected"), used))
#define INLINE static inline __attribute__((always_inline))

/* The action of a signal, as rt_sigaction(2) of the kernel takes it. */
typedef struct action {
	uint64_t handler, flags, restorer, blocked;
} action_t;

INLINE long call(long number, long a, long b, long c, long d, long e, long f) {
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result = number;
	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* Enters code that ends by restoring a frame (mw_attach_frame_t): a frame whose registers are those
 * of this function's caller. */
__asm__(".pushsection mw_injected,\"ax\",@progbits\n"
	"mw_injected_enter:\n"
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	subq $224, %rsp\n"
	"	andq $-64, %rsp\n"
	"	movq %rbx, 8(%rsp)\n"
	"	movq %rbp, 48(%rsp)\n"
	"	movq %r12, 88(%rsp)\n"
	"	movq %r13, 96(%rsp)\n"
	"	movq %r14, 104(%rsp)\n"
	"	movq %r15, 112(%rsp)\n"
	"	leaq 1f(%rip), %rax\n"
	"	movq %rax, 120(%rsp)\n"
	"	xorl %eax, %eax\n"
	"	movw %cs, %ax\n"
	"	movq %rax, 128(%rsp)\n"
	"	movw %ss, %ax\n"
	"	movq %rax, 152(%rsp)\n"
	"	movq %rbp, 144(%rsp)\n"
	"	movq $0x202, 136(%rsp)\n" /* flags: interrupts are enabled, as always */
	"	jmpq *%rdi\n"
	"1:	popq %rbp\n"
	"	retq\n"
	".popsection\n");
void mw_injected_enter(uint64_t code) __attribute__((visibility("hidden")));

/* The entry. */
__asm__(".pushsection mw_injected,\"ax\",@progbits\n"
	".globl mw_injected_entry\n"
	".hidden mw_injected_entry\n"
	"mw_injected_entry:\n" MW_TOOL_ENTRY_CODE("call mw_injected_work") ".popsection\n");
extern const uint8_t mw_injected_entry[] __attribute__((visibility("hidden")));

/* Returns whether a handler of the program will run, for a signal that has come meanwhile, that has
 * an interrupted call return EINTR. */
INLINE bool ends_call(uint64_t blocked, bool may_restart) {
	uint64_t pending = 0;
	call(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0, 0, 0, 0);
	pending &= ~blocked;
	for (long number = 1; pending != 0; number++, pending >>= 1) {
		action_t now;
		if ((pending & 1) != 0 &&
		    call(SYS_rt_sigaction, number, 0, (long)&now, sizeof(now.blocked), 0, 0) == 0 &&
		    now.handler > 1 && !(may_restart && (now.flags & SA_RESTART) != 0))
			return true;
	}
	return false;
}

INLINE void go_on(mw_tool_entry_frame_t *frame) {
	if (frame->has_blocked == 0)
		return;
	bool is_call = frame->restart == MW_RESTART || frame->restart == MW_RESTART_NO_HANDLER;
	if (is_call && ends_call(frame->blocked_signals, frame->restart == MW_RESTART)) {
		frame->rip += MW_SYSCALL_CODE_BYTES;
		frame->rax = (uint64_t)-EINTR;
	}
	call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&frame->blocked_signals, 0, 8, 0, 0);
}

INLINE void map(const mw_injected_order_t *order) {
	long at = call(SYS_mmap, (long)order->address, (long)order->bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (at == (long)order->address) {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel's answer. */
		volatile mw_injected_head_t *head = (volatile mw_injected_head_t *)at;
		head->bytes = order->bytes;
		head->magic = MW_INJECTED_MAGIC;
	} else if (at > 0) { /* an older kernel, which took the address for a hint */
		call(SYS_munmap, at, (long)order->bytes, 0, 0, 0, 0);
	}
}

void mw_injected_work(mw_tool_entry_frame_t *frame, const mw_injected_order_t *order)
	__attribute__((visibility("hidden")));

INJECTED void mw_injected_work(mw_tool_entry_frame_t *frame, const mw_injected_order_t *order) {
	if (order->entry == 0) {
		map(order);
	} else {
		long error = call(SYS_mprotect, (long)order->address, (long)order->code_bytes,
				  PROT_READ | PROT_EXEC, 0, 0, 0);
		if (error == 0)
			mw_injected_enter(order->entry);
		else
			/* NOLINTNEXTLINE(performance-no-int-to-ptr): chosen by the command. */
			*(volatile int32_t *)order->result = (int32_t)error;
	}
	go_on(frame);
}

/* By the linker: a section whose name is an identifier. */
extern const uint8_t __start_mw_injected[] __attribute__((visibility("hidden")));
extern const uint8_t __stop_mw_injected[] __attribute__((visibility("hidden")));

const uint8_t *mw_injected_code(size_t *bytes) {
	*bytes = (size_t)(__stop_mw_injected - __start_mw_injected);
	return __start_mw_injected;
}

size_t mw_injected_entry_offset(void) {
	return (size_t)(mw_injected_entry - __start_mw_injected);
}

#else

const uint8_t *mw_injected_code(size_t *bytes) {
	*bytes = 0;
	return NULL;
}

size_t mw_injected_entry_offset(void) {
	return 0;
}

#endif
