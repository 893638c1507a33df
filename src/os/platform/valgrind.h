/* SPDX-License-Identifier: MIT
 * valgrind.h -- tells whether the program runs under valgrind.
 * Layer: os/platform. Header only, async-signal-safe; not for fast paths. */
#ifndef MW_OS_VALGRIND_H
#define MW_OS_VALGRIND_H

#include <stdbool.h>
#include <stdint.h>

/* Number of valgrind's request "running on valgrind?" (valgrind.h). */
#define MW_OS_VALGRIND_RUNNING 0x1001u

/* Sequence that valgrind recognises ("Client Request mechanism", Valgrind manual, 3.1): rotations
 * of a register that together change nothing, and an exchange of a register with itself. On a
 * processor the sequence has no effect. */
static inline bool mw_os_runs_on_valgrind(void) {
#if defined(__x86_64__)
	volatile uint64_t request[6] = {MW_OS_VALGRIND_RUNNING};
	volatile uint64_t *pointer = request;
	uint64_t answer = 0;
	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(pointer)
			 : "cc", "memory");
	return answer != 0;
#else
	return false;
#endif
}

#endif
