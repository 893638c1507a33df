/* SPDX-License-Identifier: MIT
 * arch.h -- what the unwinder must know of the machine, registers and their DWARF numbers; and
 * pairs of counters.
 * Layer: os.  Header only. */
#ifndef MW_OS_ARCH_H
#define MW_OS_ARCH_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/compiler.h"

typedef enum mw_os_access {
	MW_OS_ACCESS_UNKNOWN,
	MW_OS_ACCESS_READ,
	MW_OS_ACCESS_WRITE
} mw_os_access_t;

/* The registers an unwinding step maps to those of the caller. */
typedef struct mw_os_regs {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t fp;
} mw_os_regs_t;

/* Two neighbouring counters, at a multiple of 16 bytes. */
typedef int64_t mw_os_pair_t __attribute__((vector_size(16)));

#if defined(__x86_64__)

/* System V ABI, AMD64 supplement, figure 3.36.  PC: the number by which expressions name it. */
enum { MW_OS_DWARF_FP = 6, MW_OS_DWARF_SP = 7, MW_OS_DWARF_PC = 16 };
/* A call pushes the return address, so it always lies in memory at a known place; and the pair that
 * a frame pointer leads to lies at the top of its frame. */
#define MW_OS_HAS_LINK_REGISTER 0

/* Of the function it is expanded in; `pc` is exact. */
MW_ALWAYS_INLINE mw_os_regs_t mw_os_regs_here(void) {
	mw_os_regs_t regs;
	__asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
			 : "=&r"(regs.pc), "=&r"(regs.sp), "=&r"(regs.fp));
	return regs;
}

/* Of the caller of a function in which __builtin_frame_address(0) is `frame`: the frame pointer
 * that it saved, and behind that the return address. */
MW_ALWAYS_INLINE mw_os_regs_t mw_os_caller_regs(const uintptr_t *frame) {
	return (mw_os_regs_t){.pc = frame[1], .sp = (uintptr_t)(frame + 2), .fp = frame[0]};
}

/* Each word by itself is whole for whoever reads it meanwhile, though others may see one without
 * the other: processors with SSE2 move aligned halves as one.  In assembler, as the compiler knows
 * plain words or atomic ones only. */
MW_ALWAYS_INLINE void mw_os_pair_set(mw_os_pair_t *words, mw_os_pair_t values) {
	__asm__("movdqa %1, %0" : "=m"(*words) : "x"(values));
}

/* Adds; returns the sums.  One thread at a time. */
MW_ALWAYS_INLINE mw_os_pair_t mw_os_pair_add(mw_os_pair_t *words, mw_os_pair_t by) {
	__asm__("paddq %1, %0" : "+x"(by) : "m"(*words));
	mw_os_pair_set(words, by);
	return by;
}

/* What %fs points to: glibc puts the thread's control block at the top of its stack. */
MW_ALWAYS_INLINE uintptr_t mw_os_thread_pointer(void) {
	uintptr_t pointer;
	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

MW_ALWAYS_INLINE uintptr_t mw_os_code_address(uintptr_t saved) {
	return saved;
}

/* Could the instruction before be a call?  Of instructions of any length that is hard to say. */
static inline bool mw_os_may_follow_call(const uint32_t *code) {
	(void)code;
	return true;
}

/* The signal's return code has unwind tables, in libc. */
static inline bool mw_os_is_signal_return(const uint32_t *code) {
	(void)code;
	return false;
}
enum { MW_OS_SIGNAL_FP = 0, MW_OS_SIGNAL_LR = 0, MW_OS_SIGNAL_SP = 0, MW_OS_SIGNAL_PC = 0 };

/* What a fault was about: bit 1 of the page fault's error code. */
static inline mw_os_access_t mw_os_access_of(const void *context) {
	const ucontext_t *fault = (const ucontext_t *)context;
	return fault->uc_mcontext.gregs[REG_ERR] & 2 ? MW_OS_ACCESS_WRITE : MW_OS_ACCESS_READ;
}

#elif defined(__aarch64__)

/* DWARF for the Arm 64-bit Architecture, section 4.1.  No expression names the PC. */
enum { MW_OS_DWARF_FP = 29, MW_OS_DWARF_SP = 31, MW_OS_DWARF_PC = 255 };
/* A call leaves the return address in x30, which a function that calls saves where it likes; the
 * pair that a frame pointer leads to may lie anywhere in its frame. */
#define MW_OS_HAS_LINK_REGISTER 1

/* Where the caller's stack ends is not known by the frame alone: MW_OS_HAS_LINK_REGISTER. */
MW_ALWAYS_INLINE mw_os_regs_t mw_os_caller_regs(const uintptr_t *frame) {
	return (mw_os_regs_t){.pc = frame[1], .sp = (uintptr_t)(frame + 2), .fp = frame[0]};
}

MW_ALWAYS_INLINE void mw_os_pair_set(mw_os_pair_t *words, mw_os_pair_t values) {
	_Atomic int64_t *word = (_Atomic int64_t *)(void *)words;
	atomic_store_explicit(&word[0], values[0], memory_order_relaxed);
	atomic_store_explicit(&word[1], values[1], memory_order_relaxed);
}

MW_ALWAYS_INLINE mw_os_pair_t mw_os_pair_add(mw_os_pair_t *words, mw_os_pair_t by) {
	_Atomic int64_t *word = (_Atomic int64_t *)(void *)words;
	by[0] += atomic_load_explicit(&word[0], memory_order_relaxed);
	by[1] += atomic_load_explicit(&word[1], memory_order_relaxed);
	mw_os_pair_set(words, by);
	return by;
}

/* A return address without its authentication code, which processors with that feature keep in the
 * upper bits (the CFA programs say for which rows; of an address without one nothing is taken). */
MW_ALWAYS_INLINE uintptr_t mw_os_code_address(uintptr_t saved) {
	register uintptr_t x30 __asm__("x30") = saved;
	__asm__("hint #7" : "+r"(x30)); /* xpaclri; older processors do nothing */
	return x30;
}

/* bl; blr and its forms that authenticate. */
static inline bool mw_os_may_follow_call(const uint32_t *code) {
	uint32_t before = code[-1];
	return (before & 0xfc000000u) == 0x94000000u || (before & 0xfefff000u) == 0xd63f0000u;
}

/* mov x8, #__NR_rt_sigreturn; svc #0: the vdso's, for which there are no tables.  All unwinders
 * know it by this, so it never changes. */
static inline bool mw_os_is_signal_return(const uint32_t *code) {
	return code[0] == 0xd2801168u && code[1] == 0xd4000001u;
}
/* Where its stack pointer then finds the interrupted registers: siginfo has 128 bytes, the
 * machine's context begins 176 bytes into the ucontext, x0 8 bytes into that. */
enum {
	MW_OS_SIGNAL_FP = 128 + 176 + 8 + 29 * 8,
	MW_OS_SIGNAL_LR = MW_OS_SIGNAL_FP + 8,
	MW_OS_SIGNAL_SP = MW_OS_SIGNAL_LR + 8,
	MW_OS_SIGNAL_PC = MW_OS_SIGNAL_SP + 8,
};

MW_ALWAYS_INLINE mw_os_regs_t mw_os_regs_here(void) {
	mw_os_regs_t regs;
	__asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29"
			 : "=&r"(regs.pc), "=&r"(regs.sp), "=&r"(regs.fp));
	return regs;
}

MW_ALWAYS_INLINE uintptr_t mw_os_thread_pointer(void) {
	uintptr_t pointer;
	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
	return pointer;
}

/* The syndrome stands in a record behind the registers that the kernel need not write. */
static inline mw_os_access_t mw_os_access_of(const void *context) {
	(void)context;
	return MW_OS_ACCESS_UNKNOWN;
}

#else
#error "mallow's unwinder knows x86-64 and aarch64"
#endif

#endif
