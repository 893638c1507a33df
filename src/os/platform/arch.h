/* SPDX-License-Identifier: MIT
 * arch.h -- registers, their DWARF numbers and other facts about the machine for the unwinder;
 * pairs of counters.
 * Layer: os/platform, the door of this folder. The folder holds facts about the processor, libc and
 * the process on which the other folders of src/os depend; it may use src/base. Reading order:
 * arch, kernel_calls (which calls to the kernel may be made, and which fail in tests), single
 * (whether the process has one thread), valgrind, interrupted_call (how a stopped thread goes on),
 * system_call.
 *
 * Header only. */
#ifndef MW_OS_ARCH_H
#define MW_OS_ARCH_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/compiler.h"

typedef enum mw_os_access {
	MW_OS_ACCESS_UNKNOWN,
	MW_OS_ACCESS_READ,
	MW_OS_ACCESS_WRITE
} mw_os_access_t;

/* Registers that an unwinding step maps to those of the caller. */
typedef struct mw_os_regs {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t fp;
} mw_os_regs_t;

/* Two neighbouring counters at an address that is a multiple of 16 bytes. */
typedef int64_t mw_os_pair_t __attribute__((vector_size(16)));

#if defined(__x86_64__)

/* Addresses that the kernel gives out without being asked for more have as many bits: it leaves the
 * upper half to itself. Programs may ask for addresses of 56 bits by a hint to mmap(2). */
#define MW_OS_ADDRESS_BITS 47u

/* System V ABI, AMD64 supplement, figure 3.36. PC: the number that DWARF expressions use. */
enum { MW_OS_DWARF_FP = 6, MW_OS_DWARF_SP = 7, MW_OS_DWARF_PC = 16 };
/* 0: a call pushes the return address, so it always lies in memory at a known address. The saved
 * frame pointer and the return address lie at the top of the frame. */
#define MW_OS_HAS_LINK_REGISTER 0
/* Registers of a function's first three arguments. */
#define MW_OS_ARGUMENT_1 "rdi"
#define MW_OS_ARGUMENT_2 "rsi"
#define MW_OS_ARGUMENT_3 "rdx"

/* Returns the registers of the function that contains the call; `pc` is exact. */
MW_ALWAYS_INLINE mw_os_regs_t mw_os_regs_here(void) {
	mw_os_regs_t regs;
	__asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
			 : "=&r"(regs.pc), "=&r"(regs.sp), "=&r"(regs.fp));
	return regs;
}

/* Returns the registers of the caller of a function. `frame` is the function's
 * __builtin_frame_address(0): it points to the saved frame pointer, and the return address
 * follows. */
MW_ALWAYS_INLINE mw_os_regs_t mw_os_caller_regs(const uintptr_t *frame) {
	return (mw_os_regs_t){.pc = frame[1], .sp = (uintptr_t)(frame + 2), .fp = frame[0]};
}

/* Stores two words. A concurrent reader sees each word either old or new, and may see one of the
 * two words new and the other old: processors with SSE2 move aligned 8-byte halves as one.
 * Assembler, because the compiler has atomic operations for single words only. */
MW_ALWAYS_INLINE void mw_os_pair_set(mw_os_pair_t *words, mw_os_pair_t values) {
	__asm__("movdqa %1, %0" : "=m"(*words) : "x"(values));
}

/* Adds to two words and returns the sums. One thread may call this at a time. */
MW_ALWAYS_INLINE mw_os_pair_t mw_os_pair_add(mw_os_pair_t *words, mw_os_pair_t by) {
	__asm__("paddq %1, %0" : "+x"(by) : "m"(*words));
	mw_os_pair_set(words, by);
	return by;
}

/* Value of %fs: glibc puts the thread's control block at the top of its stack. */
MW_ALWAYS_INLINE uintptr_t mw_os_thread_pointer(void) {
	uintptr_t pointer;
	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

MW_ALWAYS_INLINE uintptr_t mw_os_code_address(uintptr_t saved) {
	return saved;
}

/* Returns the address that the processor takes a pointer to data for. */
MW_ALWAYS_INLINE uintptr_t mw_os_address_of(uintptr_t pointer) {
	return pointer;
}

/* Returns whether a call may precede `code`. Always true: x86 instructions have no fixed length. */
static inline bool mw_os_may_follow_call(const uint32_t *code) {
	(void)code;
	return true;
}

/* Always false: libc has unwind tables for its signal return code. */
static inline bool mw_os_is_signal_return(const uint32_t *code) {
	(void)code;
	return false;
}
enum { MW_OS_SIGNAL_FP = 0, MW_OS_SIGNAL_LR = 0, MW_OS_SIGNAL_SP = 0, MW_OS_SIGNAL_PC = 0 };

/* Bytes of code that mw_os_frame_until_return() reads. */
#define MW_OS_RETURN_CODE_BYTES 8u
/* Returns how many bytes above the stack pointer the return address lies, if the code is
 * `add $N,%rsp; ret`, or, where the instruction itself is about to be executed, `ret`. -1: the code
 * is another. Python's trampolines for perf(1) have no unwind tables and keep no frame pointer, but
 * end so directly behind their call. */
static inline int64_t mw_os_frame_until_return(const uint8_t *code, bool is_exact) {
	int32_t bytes;
	if (is_exact && code[0] == 0xc3)
		return 0;
	if (code[0] != 0x48 || code[2] != 0xc4)
		return -1;
	if (code[1] == 0x83 && code[4] == 0xc3)
		return (int8_t)code[3];
	__builtin_memcpy(&bytes, code + 3, sizeof(bytes));
	return code[1] == 0x81 && code[7] == 0xc3 ? bytes : -1;
}

/* Returns what the faulting access was: bit 1 of the page fault's error code is set for a write. */
static inline mw_os_access_t mw_os_access_of(const void *context) {
	const ucontext_t *fault = (const ucontext_t *)context;
	return fault->uc_mcontext.gregs[REG_ERR] & 2 ? MW_OS_ACCESS_WRITE : MW_OS_ACCESS_READ;
}

/* Returns the registers of the code that a signal interrupted, from the handler's third argument.
 * *link: the link register; 0: there is none. */
static inline mw_os_regs_t mw_os_interrupted_regs(const void *context, uintptr_t *link) {
	const greg_t *regs = ((const ucontext_t *)context)->uc_mcontext.gregs;
	*link = 0;
	return (mw_os_regs_t){.pc = (uintptr_t)regs[REG_RIP],
			      .sp = (uintptr_t)regs[REG_RSP],
			      .fp = (uintptr_t)regs[REG_RBP]};
}

/* Returns whether the signal interrupted a system call: the address is that of the instruction
 * `syscall`, which runs again, or of the one behind it. */
static inline bool mw_os_interrupted_call(const void *context) {
	const uint8_t *pc =
		(const uint8_t *)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	/* The page before may not be mapped. */
	bool is_first = ((uintptr_t)pc & 4095)<2, is_last = ((uintptr_t)pc & 4095)> 4094;
	return (!is_last && pc[0] == 0x0f && pc[1] == 0x05) ||
	       (!is_first && pc[-2] == 0x0f && pc[-1] == 0x05);
}

#elif defined(__aarch64__)

/* The kernel's addresses are in a table of their own, so programs have all bits of theirs. Kernels
 * with 52 bits give addresses above 48 bits only to programs that ask by a hint to mmap(2). */
#define MW_OS_ADDRESS_BITS 48u

/* DWARF for the Arm 64-bit Architecture, section 4.1. No expression uses a number for the PC. */
enum { MW_OS_DWARF_FP = 29, MW_OS_DWARF_SP = 31, MW_OS_DWARF_PC = 255 };
/* 1: a call puts the return address into x30, and a function that calls saves it anywhere in its
 * frame. So does the pair that a frame pointer points to. */
#define MW_OS_HAS_LINK_REGISTER 1
/* Registers of a function's first three arguments: Procedure Call Standard, section 6.4.2. */
#define MW_OS_ARGUMENT_1 "x0"
#define MW_OS_ARGUMENT_2 "x1"
#define MW_OS_ARGUMENT_3 "x2"

/* The frame alone does not tell where the caller's stack frame ends: see
 * MW_OS_HAS_LINK_REGISTER. */
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

/* Removes the authentication code from a return address: processors with that feature keep it in
 * the upper bits. An address without a code is unchanged. */
MW_ALWAYS_INLINE uintptr_t mw_os_code_address(uintptr_t saved) {
	register uintptr_t x30 __asm__("x30") = saved;
	__asm__("hint #7" : "+r"(x30)); /* xpaclri; older processors treat it as nop */
	return x30;
}

/* Returns the address that the processor takes a pointer to data for: it ignores the uppermost
 * byte, in which programs may keep a tag. */
MW_ALWAYS_INLINE uintptr_t mw_os_address_of(uintptr_t pointer) {
	return pointer & ~(uintptr_t)0 >> 8;
}

/* Returns whether the instruction is bl, blr, or an authenticating form of blr. */
static inline bool mw_os_may_follow_call(const uint32_t *code) {
	uint32_t before = code[-1];
	return (before & 0xfc000000u) == 0x94000000u || (before & 0xfefff000u) == 0xd63f0000u;
}

/* mov x8, #__NR_rt_sigreturn; svc #0: the signal return code of the vdso, which has no unwind
 * tables. All unwinders recognise these two instructions, so the kernel never changes them. */
static inline bool mw_os_is_signal_return(const uint32_t *code) {
	return code[0] == 0xd2801168u && code[1] == 0xd4000001u;
}
/* Offset from the stack pointer to the interrupted registers: siginfo takes 128 bytes, the machine
 * context begins 176 bytes into the ucontext, and x0 lies 8 bytes into the machine context. */
enum {
	MW_OS_SIGNAL_FP = 128 + 176 + 8 + 29 * 8,
	MW_OS_SIGNAL_LR = MW_OS_SIGNAL_FP + 8,
	MW_OS_SIGNAL_SP = MW_OS_SIGNAL_LR + 8,
	MW_OS_SIGNAL_PC = MW_OS_SIGNAL_SP + 8,
};

#define MW_OS_RETURN_CODE_BYTES 8u
/* Always -1: generated code keeps a frame record, Python's trampolines for perf(1) included. */
static inline int64_t mw_os_frame_until_return(const uint8_t *code, bool is_exact) {
	(void)code;
	(void)is_exact;
	return -1;
}

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

/* Returns what the faulting access was. Behind the registers are records of 16-byte multiples: a
 * magic number, the record's bytes, its content; the last one has 0 bytes. One holds the syndrome
 * of the exception (ESR_EL1), where a data abort (class 0x24) has bit 6 set for a write. The kernel
 * may omit that record. */
static inline mw_os_access_t mw_os_access_of(const void *context) {
	enum { CLASS_SHIFT = 26, DATA_ABORT = 0x24, WRITE = 1 << 6 };
	const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
	const unsigned char *records = machine->__reserved;
	for (size_t at = 0; at + 16 <= sizeof machine->__reserved;) {
		uint32_t head[2];
		uint64_t syndrome;
		__builtin_memcpy(head, records + at, sizeof head);
		__builtin_memcpy(&syndrome, records + at + sizeof head, sizeof syndrome);
		if (head[0] == ESR_MAGIC && (syndrome >> CLASS_SHIFT & 0x3f) == DATA_ABORT)
			return syndrome & WRITE ? MW_OS_ACCESS_WRITE : MW_OS_ACCESS_READ;
		if (head[1] < 16 || head[1] % 16 != 0)
			break;
		at += head[1];
	}
	return MW_OS_ACCESS_UNKNOWN;
}

static inline mw_os_regs_t mw_os_interrupted_regs(const void *context, uintptr_t *link) {
	const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
	*link = mw_os_code_address(machine->regs[30]);
	return (mw_os_regs_t){.pc = machine->pc, .sp = machine->sp, .fp = machine->regs[29]};
}

/* Returns whether the signal interrupted a system call: the address is that of the instruction
 * `svc #0`, which runs again, or of the one behind it. */
static inline bool mw_os_interrupted_call(const void *context) {
	uintptr_t pc = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
	const uint32_t svc = 0xd4000001;
	/* The page before may not be mapped. */
	return *(const uint32_t *)pc == svc ||
	       ((pc & 4095) >= 4 && *(const uint32_t *)(pc - 4) == svc);
}

#else
#error "mallow's unwinder knows x86-64 and aarch64"
#endif

#endif
