/* SPDX-License-Identifier: MIT
 * probe_sites.c -- reads instructions with capstone. */
#include "live/outside/code/probe_sites.h"

#include "libraries/capstone.h"

/* Instructions that are looked at: no prologue keeps the arguments for longer. */
#define INSTRUCTIONS_MAX 12

/* Whether arch/x86/kernel/uprobes.c of Linux emulates it: push of a register, nop of one byte, and
 * jumps and calls whose target the instruction holds.  A nop of five bytes is not among them:
 * Linux 6.18 overwrites the red zone there. */
static bool is_emulated(const uint8_t *code, size_t bytes) {
	if (bytes == 1)
		return (code[0] >= 0x50 && code[0] <= 0x57) || code[0] == 0x90;
	if (bytes == 2)
		return (code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57) || code[0] == 0xeb ||
		       (code[0] >= 0x70 && code[0] <= 0x7f);
	if (bytes == 5)
		return code[0] == 0xe8 || code[0] == 0xe9;
	return bytes == 6 && code[0] == 0x0f && code[1] >= 0x80 && code[1] <= 0x8f;
}

static bool is_part_of(x86_reg reg, const x86_reg *parts, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (reg == parts[i])
			return true;
	return false;
}

/* Whether a register is one whose value the probe needs. */
static bool is_needed(x86_reg reg, unsigned arguments) {
	static const x86_reg parts[4][5] = {
		{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
		{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
		{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
		{X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
	};
	for (unsigned i = 0; i < 4; i++)
		if ((i == 3 || (arguments & 1u << i)) && is_part_of(reg, parts[i], 5))
			return true;
	return false;
}

/* Whether control goes on behind the instruction, and it changes neither memory nor what the probe
 * needs. */
static bool is_harmless(csh handle, const cs_insn *insn, unsigned arguments) {
	cs_regs read, written;
	uint8_t reads, writes;
	if (mw_capstone.insn_group(handle, insn, X86_GRP_JUMP) ||
	    mw_capstone.insn_group(handle, insn, X86_GRP_RET) ||
	    mw_capstone.insn_group(handle, insn, X86_GRP_CALL) ||
	    mw_capstone.insn_group(handle, insn, X86_GRP_INT) ||
	    mw_capstone.regs_access(handle, insn, read, &reads, written, &writes) != CS_ERR_OK)
		return false;
	for (uint8_t i = 0; i < writes; i++)
		if (is_needed((x86_reg)written[i], arguments))
			return false;
	const cs_x86 *x86 = &insn->detail->x86;
	for (uint8_t i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_MEM &&
		    (x86->operands[i].access & CS_AC_WRITE) != 0)
			return false;
	/* Capstone does not list what these do. */
	return insn->id != X86_INS_SYSCALL && insn->id != X86_INS_LEAVE &&
	       insn->id != X86_INS_ENTER && insn->id != X86_INS_UD2;
}

/* "test rdi, rdi": what follows may be a jump for NULL. */
static bool tests_first(const uint8_t *code, size_t bytes) {
	return bytes == 3 && code[0] == 0x48 && code[1] == 0x85 && code[2] == 0xff;
}

/* "je": of one or four bytes. */
static bool jumps_if_zero(const uint8_t *code, size_t bytes) {
	return (bytes == 2 && code[0] == 0x74) ||
	       (bytes == 6 && code[0] == 0x0f && code[1] == 0x84);
}

static mw_probe_site_t search(csh handle, cs_insn *insn, const uint8_t *code, size_t bytes,
			      unsigned arguments, bool skips_null) {
	mw_probe_site_t site = {.offset = 0};
	const uint8_t *at = code;
	uint64_t address = 0;
	bool is_tested = false;
	for (int i = 0; i < INSTRUCTIONS_MAX; i++) {
		const uint8_t *start = at;
		uint32_t offset = (uint32_t)(at - code);
		if (!mw_capstone.disasm_iter(handle, &at, &bytes, &address, insn))
			break;
		bool is_passed = is_tested && jumps_if_zero(start, insn->size);
		if (!is_passed && is_emulated(start, insn->size))
			return (mw_probe_site_t){.offset = offset, .is_emulated = true};
		/* The jump itself serves if there is nothing behind it. */
		if (is_passed && !site.is_emulated)
			site = (mw_probe_site_t){.offset = offset, .is_emulated = true};
		if (!is_passed && !is_harmless(handle, insn, arguments))
			break;
		is_tested = skips_null && tests_first(start, insn->size);
	}
	return site;
}

mw_probe_site_t mw_probe_site_find(const uint8_t *code, size_t bytes, unsigned arguments,
				   bool skips_null) {
	mw_probe_site_t site = {.offset = 0};
	csh handle;
	/* Without capstone the probe stands at the entry: right everywhere, and slower. */
	if (mw_capstone_load(NULL) != 0 ||
	    mw_capstone.open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
		return site;
	mw_capstone.option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	cs_insn *insn = mw_capstone.malloc(handle);
	if (insn != NULL) {
		site = search(handle, insn, code, bytes, arguments, skips_null);
		mw_capstone.free(insn, 1);
	}
	mw_capstone.close(&handle);
	return site;
}
