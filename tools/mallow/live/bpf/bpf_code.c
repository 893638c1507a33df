/* SPDX-License-Identifier: MIT
 * bpf_code.c -- writes instructions. */
#include "live/bpf/bpf_code.h"

#include <string.h>

static void add(mw_bpf_code_t *code, int operation, int to, int from, int offset,
		int32_t constant) {
	if (code->count == MW_BPF_CODE_MAX) {
		code->is_too_long = true;
		return;
	}
	code->table[code->count++] = (struct bpf_insn){
		.code = (uint8_t)operation,
		.dst_reg = (uint8_t)(to & 15),
		.src_reg = (uint8_t)(from & 15),
		.off = (int16_t)offset,
		.imm = constant,
	};
}

void mw_bpf_set(mw_bpf_code_t *code, int op, int to, int from) {
	add(code, BPF_ALU64 | op | BPF_X, to, from, 0, 0);
}

void mw_bpf_set_constant(mw_bpf_code_t *code, int op, int to, int32_t constant) {
	add(code, BPF_ALU64 | op | BPF_K, to, 0, 0, constant);
}

/* An instruction of two entries: the second one has the upper half of the constant. */
static void add_wide(mw_bpf_code_t *code, int to, int kind, uint64_t constant) {
	add(code, BPF_LD | BPF_DW | BPF_IMM, to, kind, 0, (int32_t)(uint32_t)constant);
	add(code, 0, 0, 0, 0, (int32_t)(uint32_t)(constant >> 32));
}

void mw_bpf_set_wide(mw_bpf_code_t *code, int to, uint64_t constant) {
	add_wide(code, to, 0, constant);
}

void mw_bpf_set_map(mw_bpf_code_t *code, int to, int map_fd) {
	add_wide(code, to, BPF_PSEUDO_MAP_FD, (uint32_t)map_fd);
}

void mw_bpf_set_map_value(mw_bpf_code_t *code, int to, int map_fd) {
	add_wide(code, to, BPF_PSEUDO_MAP_VALUE, (uint32_t)map_fd);
}

void mw_bpf_load(mw_bpf_code_t *code, int size, int to, int from, int offset) {
	add(code, BPF_LDX | size | BPF_MEM, to, from, offset, 0);
}

void mw_bpf_store(mw_bpf_code_t *code, int size, int to, int offset, int from) {
	add(code, BPF_STX | size | BPF_MEM, to, from, offset, 0);
}

void mw_bpf_atomic(mw_bpf_code_t *code, int op, int to, int offset, int from) {
	add(code, BPF_STX | BPF_DW | BPF_ATOMIC, to, from, offset, op);
}

static void add_jump(mw_bpf_code_t *code, int operation, int left, int right, int32_t constant,
		     unsigned label) {
	if (code->jump_count == MW_BPF_JUMPS_MAX || label >= MW_BPF_LABELS_MAX) {
		code->is_too_long = true;
		return;
	}
	code->jumps[code->jump_count].at = code->count;
	code->jumps[code->jump_count++].label = label;
	add(code, operation, left, right, 0, constant);
}

void mw_bpf_jump(mw_bpf_code_t *code, unsigned label) {
	add_jump(code, BPF_JMP | BPF_JA, 0, 0, 0, label);
}

void mw_bpf_jump_if(mw_bpf_code_t *code, int op, int left, int right, unsigned label) {
	add_jump(code, BPF_JMP | op | BPF_X, left, right, 0, label);
}

void mw_bpf_jump_if_constant(mw_bpf_code_t *code, int op, int left, int32_t right, unsigned label) {
	add_jump(code, BPF_JMP | op | BPF_K, left, 0, right, label);
}

void mw_bpf_label(mw_bpf_code_t *code, unsigned label) {
	if (label < MW_BPF_LABELS_MAX)
		code->labels[label] = code->count + 1;
}

void mw_bpf_call(mw_bpf_code_t *code, int helper) {
	add(code, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

void mw_bpf_call_kernel(mw_bpf_code_t *code, uint32_t type) {
	add(code, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, (int32_t)type);
}

void mw_bpf_exit(mw_bpf_code_t *code, int32_t result) {
	mw_bpf_set_constant(code, BPF_MOV, BPF_REG_0, result);
	add(code, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

bool mw_bpf_close_labels(mw_bpf_code_t *code) {
	for (unsigned i = 0; i < code->jump_count; i++) {
		unsigned at = code->jumps[i].at, target = code->labels[code->jumps[i].label];
		if (target == 0 || at >= code->count)
			return false;
		code->table[at].off = (int16_t)((int)target - 1 - (int)at - 1);
	}
	code->jump_count = 0;
	memset(code->labels, 0, sizeof(code->labels));
	return true;
}

bool mw_bpf_finish(mw_bpf_code_t *code) {
	return mw_bpf_close_labels(code) && !code->is_too_long;
}
