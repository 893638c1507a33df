/* SPDX-License-Identifier: MIT
 * probe_registers.h -- where a program's context has the probed thread's registers.
 * Layer: live/bpf.  Private to this folder.  The context is struct pt_regs of x86-64 (ptrace(2)):
 * on other processors the command says that it knows x86-64 only. */
#ifndef MW_TOOL_LIVE_BPF_PROBE_REGISTERS_H
#define MW_TOOL_LIVE_BPF_PROBE_REGISTERS_H

#include <stdint.h>

#include "live/bpf/programs.h"

/* By DWARF's numbers: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip. */
static const int16_t mw_probe_register_at[MW_PROBE_REGISTERS] = {
	80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0, 128};
/* Arguments of a call: rdi, rsi, rdx. */
static const int16_t mw_probe_argument_at[3] = {112, 104, 96};

#define MW_PROBE_STACK_POINTER_AT 152
#define MW_PROBE_RESULT_AT 80
#define MW_PROBE_PC_AT 128
/* Bytes that a return takes from the stack. */
#define MW_PROBE_RETURN_POPS 8

#endif
