/* SPDX-License-Identifier: MIT
 * call_filter.c -- interprets seccomp filters, which the kernel shows to root
 * (PTRACE_SECCOMP_GET_FILTER). */
#include "live/enter/call_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "model/memory.h"

#if defined(__x86_64__)
#define THIS_MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_MACHINE AUDIT_ARCH_AARCH64
#endif

/* PTRACE_SECCOMP_GET_FILTER: Linux 4.4 and later. */
#define GET_FILTER 0x420c

/* Reads a word of struct seccomp_data.  False: it is not known. */
static bool load(const mw_filtered_call_t *call, uint32_t offset, uint32_t *word) {
	const uint32_t arguments = offsetof(struct seccomp_data, args);
	if (offset % 4 != 0 || offset >= sizeof(struct seccomp_data))
		return false;
	if (offset == offsetof(struct seccomp_data, nr)) {
		*word = (uint32_t)call->number;
		return true;
	}
	if (offset == offsetof(struct seccomp_data, arch)) {
		*word = THIS_MACHINE;
		return true;
	}
	unsigned argument = (offset - arguments) / 8;
	if (offset < arguments || (call->known & 1U << argument) == 0)
		return false;
	uint64_t value = call->arguments[argument];
	*word = (uint32_t)(offset % 8 == 0 ? value : value >> 32);
	return true;
}

/* Returns false for an operation that the kernel refuses in filters. */
static bool compute(uint16_t code, uint32_t operand, uint32_t *a) {
	switch (BPF_OP(code)) {
	case BPF_ADD:
		*a += operand;
		return true;
	case BPF_SUB:
		*a -= operand;
		return true;
	case BPF_MUL:
		*a *= operand;
		return true;
	case BPF_DIV:
		*a = operand != 0 ? *a / operand : 0;
		return operand != 0;
	case BPF_OR:
		*a |= operand;
		return true;
	case BPF_AND:
		*a &= operand;
		return true;
	case BPF_XOR:
		*a ^= operand;
		return true;
	case BPF_LSH:
		*a = operand < 32 ? *a << operand : 0;
		return operand < 32;
	case BPF_RSH:
		*a = operand < 32 ? *a >> operand : 0;
		return operand < 32;
	case BPF_NEG:
		*a = 0 - *a;
		return true;
	default:
		return false;
	}
}

static bool is_met(uint16_t code, uint32_t a, uint32_t operand) {
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == operand;
	case BPF_JGT:
		return a > operand;
	case BPF_JGE:
		return a >= operand;
	default: /* BPF_JSET */
		return (a & operand) != 0;
	}
}

static mw_filter_answer_t answer_of(uint32_t result) {
	switch (result & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
		return MW_FILTER_ALLOWS;
	case SECCOMP_RET_ERRNO:
		return MW_FILTER_FAILS;
	default:
		return MW_FILTER_KILLS;
	}
}

/* The registers of the machine that runs a filter. */
typedef struct machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
} machine_t;

/* Does all but jumps and returns.  False: unknown. */
static bool step(machine_t *m, const struct sock_filter *at, const mw_filtered_call_t *call) {
	bool uses_x = BPF_SRC(at->code) == BPF_X;
	switch (BPF_CLASS(at->code)) {
	case BPF_LD:
		if (at->code == (BPF_LD | BPF_W | BPF_ABS))
			return load(call, at->k, &m->a);
		if (BPF_MODE(at->code) == BPF_LEN || BPF_MODE(at->code) == BPF_IMM) {
			m->a = BPF_MODE(at->code) == BPF_IMM ? at->k : sizeof(struct seccomp_data);
			return true;
		}
		m->a = BPF_MODE(at->code) == BPF_MEM && at->k < BPF_MEMWORDS ? m->memory[at->k] : 0;
		return BPF_MODE(at->code) == BPF_MEM && at->k < BPF_MEMWORDS;
	case BPF_LDX:
		if (BPF_MODE(at->code) == BPF_MEM && at->k >= BPF_MEMWORDS)
			return false;
		m->x = BPF_MODE(at->code) == BPF_MEM   ? m->memory[at->k]
		       : BPF_MODE(at->code) == BPF_LEN ? sizeof(struct seccomp_data)
						       : at->k;
		return true;
	case BPF_ST:
	case BPF_STX:
		if (at->k >= BPF_MEMWORDS)
			return false;
		m->memory[at->k] = BPF_CLASS(at->code) == BPF_ST ? m->a : m->x;
		return true;
	case BPF_ALU:
		return compute(at->code, uses_x ? m->x : at->k, &m->a);
	case BPF_MISC:
		if (BPF_MISCOP(at->code) == BPF_TAX)
			m->x = m->a;
		else
			m->a = m->x;
		return true;
	default:
		return false;
	}
}

/* Jumps lead forward only: each instruction runs once at most. */
mw_filter_answer_t mw_filter_run(const struct sock_filter *program, size_t length,
				 const mw_filtered_call_t *call) {
	machine_t m = {0};
	for (size_t at = 0; at < length; at++) {
		const struct sock_filter *now = &program[at];
		uint32_t operand = BPF_SRC(now->code) == BPF_X ? m.x : now->k;
		if (BPF_CLASS(now->code) == BPF_RET)
			return answer_of(BPF_RVAL(now->code) == BPF_A ? m.a : now->k);
		if (BPF_CLASS(now->code) == BPF_JMP)
			at += BPF_OP(now->code) == BPF_JA       ? now->k
			      : is_met(now->code, m.a, operand) ? now->jt
								: now->jf;
		else if (!step(&m, now, call))
			return MW_FILTER_UNKNOWN;
	}
	return MW_FILTER_UNKNOWN;
}

static int say(const mw_filtered_call_t *call, mw_filter_answer_t answer, mw_error_t *error) {
	if (answer == MW_FILTER_UNKNOWN)
		return mw_error_set(error,
				    "it filters its system calls, and whether the filter allows %s "
				    "depends on more than mallow knows",
				    call->name);
	return mw_error_set(error, "it filters its system calls, and the filter forbids %s",
			    call->name);
}

int mw_filters_check(int thread, const mw_filtered_call_t *calls, size_t count, size_t strict_count,
		     mw_error_t *error) {
	struct sock_filter *program = mw_xcalloc(MW_FILTER_LENGTH_MAX, sizeof(*program));
	int result = 0;
	for (uintptr_t i = 0; result == 0; i++) {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): a number. */
		long length = ptrace((enum __ptrace_request)GET_FILTER, thread, (void *)i, NULL);
		if (length < 0 && errno == ENOENT && i > 0)
			break;
		if (length < 0 || length > MW_FILTER_LENGTH_MAX || i == MW_FILTERS_MAX) {
			result = mw_error_set(error, "it filters its system calls, and only root "
						     "can read the filter; use sudo");
			break;
		}
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): a number. */
		ptrace((enum __ptrace_request)GET_FILTER, thread, (void *)i, program);
		for (size_t k = 0; k < count && result == 0; k++) {
			mw_filter_answer_t answer =
				mw_filter_run(program, (size_t)length, &calls[k]);
			if (answer != MW_FILTER_ALLOWS &&
			    (answer != MW_FILTER_FAILS || k < strict_count))
				result = say(&calls[k], answer, error);
		}
	}
	free(program);
	return result;
}
