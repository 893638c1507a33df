/* SPDX-License-Identifier: MIT
 * fake_modules.c -- program headers, symbols, hash tables, relocations, link_map. */
#include "fake_modules.h"

#include <elf.h>
#include <link.h>
#include <string.h>

enum {
	HEADERS = sizeof(Elf64_Ehdr),
	HEADER_COUNT = 5,
	SYMBOLS = 0x400,
	NAMES = 0x600,
	HASH = 0x700,
	RELOCATIONS = 0x800,
	DATA_RELOCATIONS = 0x900,
	DYNAMIC = FAKE_MODULES_DATA,
	/* In the program's data. */
	DEBUG = 0x3400,
	LINKS = 0x3500,
};

static void put(uint8_t *bytes, size_t at, const void *from, size_t length) {
	memcpy(bytes + at, from, length);
}

static void put_headers(uint8_t *module) {
	const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
				   .e_type = ET_DYN,
				   .e_phoff = HEADERS,
				   .e_phentsize = sizeof(Elf64_Phdr),
				   .e_phnum = HEADER_COUNT};
	const Elf64_Phdr segments[HEADER_COUNT] = {
		{.p_type = PT_PHDR, .p_vaddr = HEADERS, .p_offset = HEADERS},
		{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = FAKE_MODULES_RELRO},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_W,
		 .p_offset = FAKE_MODULES_RELRO,
		 .p_vaddr = FAKE_MODULES_RELRO,
		 .p_memsz = 0x2000},
		{.p_type = PT_DYNAMIC, .p_vaddr = DYNAMIC, .p_memsz = 0x200},
		{.p_type = PT_GNU_RELRO, .p_vaddr = FAKE_MODULES_RELRO, .p_memsz = 0x1000},
	};
	put(module, 0, &header, sizeof(header));
	put(module, HEADERS, segments, sizeof(segments));
}

/* Symbols 1 and 2 are malloc and free; undefined if their addresses are 0. */
static void put_symbols(uint8_t *module, uint64_t of_malloc, uint64_t of_free) {
	static const char names[] = "\0malloc\0free";
	const Elf64_Sym symbols[3] = {
		{0},
		{.st_name = 1,
		 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		 .st_shndx = of_malloc != 0,
		 .st_value = of_malloc},
		{.st_name = 8,
		 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		 .st_shndx = of_free != 0,
		 .st_value = of_free},
	};
	put(module, SYMBOLS, symbols, sizeof(symbols));
	put(module, NAMES, names, sizeof(names));
}

/* One bucket. A gnu table's chain holds hashes, the last with bit 0. */
static void put_hashes(uint8_t *module, bool is_gnu) {
	const uint32_t gnu[] = {1, 1, 1, 0, 0, 0, 1, 0xd39ad3d & ~1U, 0x7c96f087 | 1};
	const uint32_t old[] = {1, 3, 1, 0, 2, 0};
	put(module, HASH, is_gnu ? gnu : old, is_gnu ? sizeof(gnu) : sizeof(old));
}

static void put_dynamic(uint8_t *module, bool is_gnu, uint64_t jumps, uint64_t data) {
	const Elf64_Dyn entries[] = {
		{DT_SYMTAB, {SYMBOLS}},
		{DT_STRTAB, {NAMES}},
		{DT_STRSZ, {13}},
		{is_gnu ? DT_GNU_HASH : DT_HASH, {HASH}},
		{DT_JMPREL, {RELOCATIONS}},
		{DT_PLTRELSZ, {jumps * sizeof(Elf64_Rela)}},
		{DT_PLTREL, {DT_RELA}},
		{DT_RELA, {DATA_RELOCATIONS}},
		{DT_RELASZ, {data * sizeof(Elf64_Rela)}},
		{DT_DEBUG, {FAKE_MODULES_BASE + DEBUG}},
		{DT_NULL, {0}},
	};
	put(module, DYNAMIC, entries, sizeof(entries));
}

static void put_word(uint8_t *module, size_t at, uint64_t word) {
	put(module, at, &word, sizeof(word));
}

static void put_slots(uint8_t *program) {
#if defined(__x86_64__)
	const uint32_t jump = R_X86_64_JUMP_SLOT, data = R_X86_64_GLOB_DAT;
#else
	const uint32_t jump = R_AARCH64_JUMP_SLOT, data = R_AARCH64_GLOB_DAT;
#endif
	const Elf64_Rela jumps[] = {{FAKE_MODULES_UNBOUND, ELF64_R_INFO(1ULL, jump), 0},
				    {FAKE_MODULES_BOUND, ELF64_R_INFO(2ULL, jump), 0},
				    {FAKE_MODULES_OTHER, ELF64_R_INFO(1ULL, jump), 0},
				    {FAKE_MODULES_OUTSIDE, ELF64_R_INFO(1ULL, jump), 0}};
	const Elf64_Rela others[] = {{FAKE_MODULES_RELRO, ELF64_R_INFO(1ULL, data), 0}};
	const uint64_t library = FAKE_MODULES_BASE + FAKE_MODULES_LIBRARY;
	put(program, RELOCATIONS, jumps, sizeof(jumps));
	put(program, DATA_RELOCATIONS, others, sizeof(others));
	put_word(program, FAKE_MODULES_UNBOUND, FAKE_MODULES_BASE + FAKE_MODULES_CODE + 6);
	put_word(program, FAKE_MODULES_BOUND, library + FAKE_MODULES_FREE);
	put_word(program, FAKE_MODULES_OTHER, library + FAKE_MODULES_DATA);
	put_word(program, FAKE_MODULES_RELRO, library + FAKE_MODULES_MALLOC);
}

static void put_links(uint8_t *program) {
	const uint64_t links = FAKE_MODULES_BASE + LINKS;
	struct r_debug debug = {.r_version = 1};
	struct link_map first = {.l_addr = FAKE_MODULES_BASE};
	struct link_map second = {.l_addr = FAKE_MODULES_BASE + FAKE_MODULES_LIBRARY};
	/* Addresses in the same memory. */
	memcpy(&debug.r_map, &links, sizeof(links));
	uint64_t next = links + sizeof(first), dynamic = first.l_addr + DYNAMIC;
	memcpy(&first.l_next, &next, sizeof(next));
	memcpy(&first.l_ld, &dynamic, sizeof(dynamic));
	dynamic = second.l_addr + DYNAMIC;
	memcpy(&second.l_ld, &dynamic, sizeof(dynamic));
	put(program, DEBUG, &debug, sizeof(debug));
	put(program, LINKS, &first, sizeof(first));
	put(program, LINKS + sizeof(first), &second, sizeof(second));
}

void fake_modules_fill(uint8_t bytes[FAKE_MODULES_BYTES]) {
	uint8_t *library = bytes + FAKE_MODULES_LIBRARY;
	memset(bytes, 0, FAKE_MODULES_BYTES);
	put_headers(bytes);
	put_symbols(bytes, 0, 0);
	put_hashes(bytes, false);
	put_dynamic(bytes, false, 4, 1);
	put_slots(bytes);
	put_links(bytes);
	put_headers(library);
	put_symbols(library, FAKE_MODULES_MALLOC, FAKE_MODULES_FREE);
	put_hashes(library, true);
	put_dynamic(library, true, 0, 0);
}

void fake_modules_maps(mw_map_t maps[FAKE_MODULES_MAPS]) {
	for (unsigned i = 0; i < FAKE_MODULES_MAPS; i++)
		maps[i] = (mw_map_t){
			.start = FAKE_MODULES_BASE + 0x1000 * i,
			.limit = FAKE_MODULES_BASE + 0x1000 * (i + 1),
			.offset = 0x1000 * (i % 4),
			.inode = 1 + i / 4,
			.is_readable = true,
			.is_code = i % 4 == 1,
			.is_writable = i % 4 == 3,
		};
}

mw_program_start_t fake_modules_start(void) {
	return (mw_program_start_t){FAKE_MODULES_BASE + HEADERS, HEADER_COUNT};
}
