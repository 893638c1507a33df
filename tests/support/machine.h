/* SPDX-License-Identifier: MIT
 * machine.h -- registers of an interrupted function, for tests of walks through handlers. */
#ifndef MW_TEST_MACHINE_H
#define MW_TEST_MACHINE_H

#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)

static inline uintptr_t machine_pc(const ucontext_t *context) {
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

/* As if the function that was just called, without having begun, returned. */
static inline void machine_return(ucontext_t *context) {
	greg_t *regs = context->uc_mcontext.gregs;
	regs[REG_RIP] = *(greg_t *)regs[REG_RSP];
	regs[REG_RSP] += 8;
}

#elif defined(__aarch64__)

static inline uintptr_t machine_pc(const ucontext_t *context) {
	return context->uc_mcontext.pc;
}

static inline void machine_return(ucontext_t *context) {
	context->uc_mcontext.pc = context->uc_mcontext.regs[30];
}

#endif
#endif
