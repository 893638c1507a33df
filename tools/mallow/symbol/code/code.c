/* SPDX-License-Identifier: MIT
 * code.c -- reads symbols and bytes with libdwfl, and instructions with capstone. */
#include "symbol/code/code.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libraries/capstone.h"
#include "model/memory.h"
#include "symbol/code/plt.h"
#include "symbol/elf/demangle.h"
#include "symbol/elf/elf_object.h"
#include "symbol/files/debuginfod.h"

/* Largest function that is disassembled. */
#define FUNCTION_BYTES_MAX (4u << 20)
/* Size of the longest stub of a procedure linkage table. */
#define STUB_BYTES 16

typedef struct demangled {
	const char *raw; /* name in libdw's memory: equal pointers mean equal functions */
	char *name;
} demangled_t;

struct mw_code {
	mw_object_t *object;
	Dwfl_Module *module;
	Elf *elf;
	unsigned machine;
	uint64_t bias;
	csh decoder;
	bool has_decoder;
	mw_slots_t slots;
	demangled_t *demangled;
	size_t demangled_count, demangled_capacity;
};

static int start_decoder(mw_code_t *c, mw_syntax_t syntax, mw_error_t *error) {
	static const struct {
		unsigned machine;
		cs_arch arch;
		cs_mode mode;
	} machines[] = {{EM_X86_64, CS_ARCH_X86, CS_MODE_64},
			{EM_386, CS_ARCH_X86, CS_MODE_32},
			{EM_AARCH64, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN}};
	if (mw_capstone_load(error) != 0)
		return -1;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]) && !c->has_decoder; i++)
		c->has_decoder = machines[i].machine == c->machine &&
				 mw_capstone.open(machines[i].arch, machines[i].mode,
						  &c->decoder) == CS_ERR_OK;
	if (!c->has_decoder)
		return mw_error_set(error,
				    "mallow cannot decode code for ELF machine %u; allowed: "
				    "x86-64, i386, aarch64",
				    c->machine);
	mw_capstone.option(c->decoder, CS_OPT_DETAIL, CS_OPT_ON);
	mw_capstone.option(c->decoder, CS_OPT_SKIPDATA, CS_OPT_ON);
	if (c->machine != EM_AARCH64 && syntax == MW_SYNTAX_ATT)
		mw_capstone.option(c->decoder, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	return 0;
}

mw_code_t *mw_code_open(const mw_profile_t *profile, uint32_t mapping,
			const mw_symbolize_options_t *options, mw_syntax_t syntax,
			mw_error_t *error) {
	const mw_mapping_t *m = &profile->mappings[mapping];
	mw_debuginfod_allow(options->debuginfod);
	mw_object_t *object = mw_object_open(profile, m, options, error);
	if (object == NULL)
		return NULL;
	mw_code_t *c = mw_xcalloc(1, sizeof(*c));
	GElf_Addr elf_bias;
	GElf_Ehdr header;
	*c = (mw_code_t){.object = object, .module = mw_object_module(object), .bias = m->bias};
	c->elf = dwfl_module_getelf(c->module, &elf_bias);
	c->machine = c->elf != NULL && gelf_getehdr(c->elf, &header) != NULL ? header.e_machine : 0;
	if (start_decoder(c, syntax, error) != 0 ||
	    (!m->bias_known && !mw_object_bias(object, m, &c->bias))) {
		mw_code_close(c);
		return NULL;
	}
	mw_slots_list(&c->slots, c->elf);
	return c;
}

void mw_code_close(mw_code_t *c) {
	if (c == NULL)
		return;
	if (c->has_decoder)
		mw_capstone.close(&c->decoder);
	for (size_t i = 0; i < c->demangled_count; i++)
		free(c->demangled[i].name);
	free(c->demangled);
	mw_slots_release(&c->slots);
	mw_object_close(c->object);
	free(c);
}

uint64_t mw_code_bias(const mw_code_t *c) {
	return c->bias;
}

/* Returns the start of the next symbol: symbols of assembly often have no size. */
static uint64_t next_symbol(const mw_code_t *c, uint64_t start) {
	uint64_t next = start + FUNCTION_BYTES_MAX;
	int count = dwfl_module_getsymtab(c->module);
	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		if (dwfl_module_getsym_info(c->module, i, &symbol, &address, NULL, NULL, NULL) !=
			    NULL &&
		    address > start && address < next)
			next = address;
	}
	return next;
}

bool mw_code_find(mw_code_t *c, uint64_t address, mw_code_range_t *range) {
	GElf_Off offset;
	GElf_Sym symbol;
	const char *name =
		dwfl_module_addrinfo(c->module, address, &offset, &symbol, NULL, NULL, NULL);
	if (name == NULL || *name == '\0')
		return false;
	uint64_t start = address - offset;
	uint64_t end = symbol.st_size > 0 ? start + symbol.st_size : next_symbol(c, start);
	if (end <= address)
		return false;
	*range = (mw_code_range_t){.start = start, .end = end, .name = mw_demangle(name)};
	return true;
}

/* Returns the bytes at an address, and in *length how many there are; NULL: the file has none. */
static const uint8_t *bytes_at(const mw_code_t *c, uint64_t address, size_t *length) {
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(c->elf, section)) != NULL) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_PROGBITS ||
		    (header.sh_flags & SHF_EXECINSTR) == 0 || address < header.sh_addr ||
		    address - header.sh_addr >= header.sh_size)
			continue;
		Elf_Data *data = elf_rawdata(section, NULL);
		size_t at = (size_t)(address - header.sh_addr);
		if (data == NULL || data->d_buf == NULL || at >= data->d_size)
			return NULL;
		*length = data->d_size - at;
		return (const uint8_t *)data->d_buf + at;
	}
	return NULL;
}

/* Writes "name+0x10" for a target, "name@plt" for a stub, "" if no symbol is there. */
static void name_target(const mw_code_t *c, uint64_t target, char *text, size_t size) {
	GElf_Off offset;
	GElf_Sym symbol;
	size_t length;
	const uint8_t *bytes = bytes_at(c, target, &length);
	uint64_t slot = bytes != NULL
				? mw_stub_slot(&c->slots, c->machine, bytes,
					       length < STUB_BYTES ? length : STUB_BYTES, target)
				: 0;
	const char *name = slot != 0 ? mw_slots_name(&c->slots, slot) : NULL;
	text[0] = '\0';
	if (name != NULL) {
		char *readable = mw_demangle(name);
		snprintf(text, size, " <%s@plt>", readable);
		free(readable);
		return;
	}
	name = dwfl_module_addrinfo(c->module, target, &offset, &symbol, NULL, NULL, NULL);
	if (name == NULL || *name == '\0')
		return;
	char *readable = mw_demangle(name);
	if (offset == 0)
		snprintf(text, size, " <%s>", readable);
	else
		snprintf(text, size, " <%s+0x%" PRIx64 ">", readable, offset);
	free(readable);
}

/* Writes the name of the function that a call or jump reaches, directly or through a slot. */
static void name_operand(const mw_code_t *c, const cs_insn *insn, char *text, size_t size) {
	text[0] = '\0';
	if (insn->id == 0 || insn->detail == NULL)
		return;
	bool is_branch = mw_capstone.insn_group(c->decoder, insn, CS_GRP_CALL) ||
			 mw_capstone.insn_group(c->decoder, insn, CS_GRP_JUMP);
	if (c->machine == EM_AARCH64) {
		const cs_arm64 *arm = &insn->detail->arm64;
		/* capstone puts `bl` into no group, so calls are recognised by their id. */
		bool is_call = insn->id == ARM64_INS_BL;
		if ((is_branch || is_call) && arm->op_count > 0 &&
		    arm->operands[arm->op_count - 1].type == ARM64_OP_IMM)
			name_target(c, (uint64_t)arm->operands[arm->op_count - 1].imm, text, size);
		return;
	}
	const cs_x86 *x86 = &insn->detail->x86;
	if (!is_branch || x86->op_count != 1)
		return;
	if (x86->operands[0].type == X86_OP_IMM)
		name_target(c, (uint64_t)x86->operands[0].imm, text, size);
	if (x86->operands[0].type != X86_OP_MEM || x86->operands[0].mem.base != X86_REG_RIP)
		return;
	uint64_t slot = insn->address + insn->size + (uint64_t)x86->operands[0].mem.disp;
	const char *name = mw_slots_name(&c->slots, slot);
	char *readable = name != NULL ? mw_demangle(name) : NULL;
	if (readable != NULL)
		snprintf(text, size, " <%s@got>", readable);
	free(readable);
}

int mw_code_read(mw_code_t *c, const mw_code_range_t *range, mw_instruction_t **out, size_t *count,
		 mw_error_t *error) {
	size_t length, capacity = 0;
	const uint8_t *bytes = bytes_at(c, range->start, &length);
	*out = NULL;
	*count = 0;
	if (bytes == NULL)
		return mw_error_set(error,
				    "%.200s: the file holds no code of this function; give the "
				    "file that ran, with --binary-path=PATH",
				    range->name);
	if (length > range->end - range->start)
		length = (size_t)(range->end - range->start);
	if (length > FUNCTION_BYTES_MAX)
		length = FUNCTION_BYTES_MAX;
	cs_insn *insn = mw_capstone.malloc(c->decoder);
	uint64_t address = range->start;
	while (insn != NULL && length > 0 &&
	       mw_capstone.disasm_iter(c->decoder, &bytes, &length, &address, insn)) {
		char target[512], *text;
		name_operand(c, insn, target, sizeof(target));
		if (asprintf(&text, "%s%s%s%s", insn->mnemonic, *insn->op_str != '\0' ? " " : "",
			     insn->op_str, target) < 0)
			break;
		*out = mw_grow(*out, &capacity, *count + 1, sizeof(mw_instruction_t));
		(*out)[(*count)++] = (mw_instruction_t){insn->address, text};
	}
	if (insn != NULL)
		mw_capstone.free(insn, 1);
	return 0;
}

static const char *demangle_once(mw_code_t *c, const char *raw) {
	for (size_t i = c->demangled_count; i-- > 0;)
		if (c->demangled[i].raw == raw)
			return c->demangled[i].name;
	c->demangled = mw_grow(c->demangled, &c->demangled_capacity, c->demangled_count + 1,
			       sizeof(demangled_t));
	c->demangled[c->demangled_count] = (demangled_t){raw, mw_demangle(raw)};
	return c->demangled[c->demangled_count++].name;
}

size_t mw_code_places(mw_code_t *c, uint64_t address, mw_code_place_t places[MW_CODE_PLACES_MAX]) {
	mw_symbol_frame_t frames[MW_OBJECT_INLINE_MAX];
	_Static_assert(MW_OBJECT_INLINE_MAX <= (int)MW_CODE_PLACES_MAX, "all fit");
	size_t count = mw_object_lookup(c->object, address, frames);
	/* A range has no name in the file, and no line. */
	if (count == 1 && frames[0].is_range)
		return 0;
	for (size_t i = 0; i < count; i++)
		places[i] = (mw_code_place_t){.name = demangle_once(c, frames[i].name),
					      .file = frames[i].file,
					      .line = frames[i].line};
	return count;
}
