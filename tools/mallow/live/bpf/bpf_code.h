/* SPDX-License-Identifier: MIT
 * bpf_code.h -- builds a BPF program as a table of instructions.
 * Layer: live/bpf, the door of this folder, which speaks with the kernel's BPF: bpf_call.h makes
 * maps, programs and links by raw bpf(2), kernel_types.h finds functions of the kernel, programs.h
 * holds the programs, uprobes.h attaches them, ring.h reads what they send.  The folder needs no
 * compiler and no library at run time.
 *
 * Registers are numbers 0 to 10, sizes are BPF_W and BPF_DW of <linux/bpf.h>.  Jumps name a label,
 * which is placed before or after the jump. */
#ifndef MW_TOOL_LIVE_BPF_BPF_CODE_H
#define MW_TOOL_LIVE_BPF_BPF_CODE_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

/* Of headers older than Linux 5.12. */
#ifndef BPF_ATOMIC
#define BPF_ATOMIC 0xc0
#endif
#ifndef BPF_FETCH
#define BPF_FETCH 0x01
#endif
#ifndef BPF_XCHG
#define BPF_XCHG (0xe0 | BPF_FETCH)
#endif
#ifndef BPF_PSEUDO_KFUNC_CALL
#define BPF_PSEUDO_KFUNC_CALL 2
#endif

enum { MW_BPF_CODE_MAX = 512, MW_BPF_JUMPS_MAX = 64, MW_BPF_LABELS_MAX = 16 };

/* A zeroed one is empty. */
typedef struct mw_bpf_code {
	struct bpf_insn table[MW_BPF_CODE_MAX];
	unsigned count;
	struct {
		unsigned at, label;
	} jumps[MW_BPF_JUMPS_MAX];
	unsigned jump_count;
	unsigned labels[MW_BPF_LABELS_MAX]; /* index of an instruction plus 1; 0 = not placed */
	bool is_too_long;                   /* something did not fit: the program is not loaded */
} mw_bpf_code_t;

/* register = register or constant; op is BPF_MOV, BPF_ADD, BPF_AND, ... in 64 bits */
void mw_bpf_set(mw_bpf_code_t *code, int op, int to, int from);
void mw_bpf_set_constant(mw_bpf_code_t *code, int op, int to, int32_t constant);
void mw_bpf_set_wide(mw_bpf_code_t *code, int to, uint64_t constant);
/* register = memory at another one plus `offset`, and back */
void mw_bpf_load(mw_bpf_code_t *code, int size, int to, int from, int offset);
void mw_bpf_store(mw_bpf_code_t *code, int size, int to, int offset, int from);
/* op is BPF_ADD, BPF_ADD | BPF_FETCH or BPF_XCHG, of 8 bytes; with BPF_FETCH `from` gets the value
 * before. */
void mw_bpf_atomic(mw_bpf_code_t *code, int op, int to, int offset, int from);
/* op is BPF_JEQ, BPF_JGT (without sign), BPF_JSGT, BPF_JNE, ...; BPF_JA needs no operands. */
void mw_bpf_jump(mw_bpf_code_t *code, unsigned label);
void mw_bpf_jump_if(mw_bpf_code_t *code, int op, int left, int right, unsigned label);
void mw_bpf_jump_if_constant(mw_bpf_code_t *code, int op, int left, int32_t right, unsigned label);
void mw_bpf_label(mw_bpf_code_t *code, unsigned label);
/* Calls a helper, BPF_FUNC_...: registers 1 to 5 are its arguments and lost, 0 is the result. */
void mw_bpf_call(mw_bpf_code_t *code, int helper);
/* Calls a function of the kernel by its type (kernel_types.h). */
void mw_bpf_call_kernel(mw_bpf_code_t *code, uint32_t type);
/* register = map, for a helper */
void mw_bpf_set_map(mw_bpf_code_t *code, int to, int map_fd);
/* register = address of the value 0 of an array */
void mw_bpf_set_map_value(mw_bpf_code_t *code, int to, int map_fd);
void mw_bpf_exit(mw_bpf_code_t *code, int32_t result);

/* Ends the labels so far: the same numbers may be used again behind this.  False: a label is
 * missing.
 */
bool mw_bpf_close_labels(mw_bpf_code_t *code);
/* Fills in the distances of all jumps.  False: the program is too long, or a label is missing. */
bool mw_bpf_finish(mw_bpf_code_t *code);

#endif
