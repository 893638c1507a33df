/* SPDX-License-Identifier: MIT
 * arch.h -- what the unwinder must know of the machine: registers and their DWARF numbers.
 * Layer: os.  Header only. */
#ifndef MW_OS_ARCH_H
#define MW_OS_ARCH_H

#include <signal.h>
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

#if defined(__x86_64__)

/* System V ABI, AMD64 supplement, figure 3.36. */
enum { MW_OS_DWARF_FP = 6, MW_OS_DWARF_SP = 7, MW_OS_DWARF_RA = 16 };
/* A call pushes the return address, so it always lies in memory at a known place. */
#define MW_OS_HAS_CFI_RULES 1

/* Of the function it is expanded in; `pc` is exact. */
MW_ALWAYS_INLINE mw_os_regs_t mw_os_regs_here(void) {
	mw_os_regs_t regs;
	__asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
			 : "=&r"(regs.pc), "=&r"(regs.sp), "=&r"(regs.fp));
	return regs;
}

/* What %fs points to: glibc puts the thread's control block at the top of its stack. */
MW_ALWAYS_INLINE uintptr_t mw_os_thread_pointer(void) {
	uintptr_t pointer;
	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

/* What a fault was about: bit 1 of the page fault's error code. */
static inline mw_os_access_t mw_os_access_of(const void *context) {
	const ucontext_t *fault = (const ucontext_t *)context;
	return fault->uc_mcontext.gregs[REG_ERR] & 2 ? MW_OS_ACCESS_WRITE : MW_OS_ACCESS_READ;
}

#elif defined(__aarch64__)

/* DWARF for the Arm 64-bit Architecture, section 4.1. */
enum { MW_OS_DWARF_FP = 29, MW_OS_DWARF_SP = 31, MW_OS_DWARF_RA = 30 };
/* A leaf keeps its return address in a register the rules do not cover: frame pointers only,
 * which the platform's ABI asks of all code. */
#define MW_OS_HAS_CFI_RULES 0

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
