/* SPDX-License-Identifier: MIT
 * test_symbols.c -- symbols found by their ranges are those that libdwfl finds by looking through
 * all: of this test, which has labels, aliases and symbols within others, and of libraries. */
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/symbols.h"
#include "test.h"

/* A global function with a local one and a label inside, an alias and a weaker alias, one of
 * another size at the same place; code behind a label without a size; a weak symbol that is longer
 * than the global one there. */
__asm__(".text\n"
	".globl test_outer, test_alias, test_short, test_strong\n"
	".weak test_weak, test_long\n"
	".type test_outer, @function\n.type test_alias, @function\n.type test_weak, @function\n"
	".type test_short, @function\n.type test_inner, @function\n"
	".type test_strong, @function\n.type test_long, @function\n"
	"test_outer:\ntest_alias:\ntest_weak:\ntest_short:\n"
	".skip 16, 0x90\n"
	"test_inner:\n.skip 16, 0x90\n.size test_inner, . - test_inner\n"
	"test_label_inside:\n.skip 16, 0x90\n"
	".size test_outer, . - test_outer\n.size test_alias, . - test_alias\n"
	".size test_weak, . - test_weak\n.size test_short, 8\n"
	"test_label:\n.skip 16, 0x90\n"
	"test_strong:\ntest_long:\n.skip 16, 0x90\n.size test_strong, 8\n.size test_long, 16\n"
	"ret\n");

static Dwfl *begin(void) {
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
						 .find_debuginfo = dwfl_standard_find_debuginfo,
						 .section_address = dwfl_offline_section_address};
	return dwfl_begin(&callbacks);
}

static Dwfl_Module *open_module(Dwfl *dwfl, const char *path) {
	dwfl_report_begin(dwfl);
	Dwfl_Module *module = dwfl_report_elf(dwfl, "module", path, -1, 0, true);
	dwfl_report_end(dwfl, NULL, NULL);
	return module;
}

/* Whether an address is code's: others are in no profile, and libdwfl takes the first ones for
 * those of sections that are not in memory. */
static bool is_code(Dwfl_Module *module, uint64_t address) {
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	size_t count = 0;
	GElf_Phdr segment;
	elf_getphdrnum(elf, &count);
	for (int i = 0; i < (int)count; i++)
		if (gelf_getphdr(elf, i, &segment) != NULL && segment.p_type == PT_LOAD &&
		    (segment.p_flags & PF_X) != 0 &&
		    address - bias - segment.p_vaddr < segment.p_memsz)
			return true;
	return false;
}

static size_t check_address(mw_symbols_t *symbols, Dwfl_Module *module, uint64_t address) {
	GElf_Off offset;
	GElf_Sym symbol;
	if (!is_code(module, address))
		return 0;
	const char *want =
		dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
	const char *have = mw_symbols_find(symbols, module, address);
	CHECK_STR(have != NULL ? have : "none", want != NULL && want[0] != '\0' ? want : "none");
	return have != NULL;
}

/* At the edges of some of the symbols, and at addresses between. */
static void check_file(const char *path, size_t symbols_to_check) {
	Dwfl *dwfl = begin();
	Dwfl_Module *module = open_module(dwfl, path);
	CHECK(module != NULL);
	mw_symbols_t symbols = {.is_listed = false};
	int count = dwfl_module_getsymtab(module);
	CHECK(count > 0);
	size_t named = 0, step = (size_t)count / symbols_to_check + 1;
	uint64_t before = 0;
	for (size_t i = 1; i < (size_t)count; i += step) {
		GElf_Sym symbol;
		GElf_Addr start;
		if (dwfl_module_getsym_info(module, (int)i, &symbol, &start, NULL, NULL, NULL) ==
		    NULL)
			continue;
		const uint64_t addresses[] = {start - 1,
					      start,
					      start + symbol.st_size / 2,
					      start + symbol.st_size - 1,
					      start + symbol.st_size,
					      start + symbol.st_size + 1,
					      start / 2 + before / 2};
		for (size_t k = 0; k < sizeof(addresses) / sizeof(addresses[0]); k++)
			named += check_address(&symbols, module, addresses[k]);
		before = start;
	}
	CHECK(symbols.is_listed);
	CHECK(named > 0);
	mw_symbols_release(&symbols);
	dwfl_end(dwfl);
}

/* The first byte of the file's first section of code. */
static uint64_t start_of_code(Dwfl_Module *module) {
	GElf_Addr bias;
	GElf_Shdr header;
	Elf *elf = dwfl_module_getelf(module, &bias);
	Elf_Scn *section = NULL;
	while (elf != NULL && (section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, &header) != NULL &&
		    (header.sh_flags & SHF_EXECINSTR) != 0)
			return header.sh_addr + bias;
	return 0;
}

/* Symbols at 0 are absolute: names of versions. */
static bool has_symbol_up_to(Dwfl_Module *module, uint64_t address) {
	int count = dwfl_module_getsymtab(module);
	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr start;
		const char *name =
			dwfl_module_getsym_info(module, i, &symbol, &start, NULL, NULL, NULL);
		if (name != NULL && name[0] != '\0' && symbol.st_shndx != SHN_UNDEF &&
		    symbol.st_shndx != SHN_ABS && start <= address)
			return true;
	}
	return false;
}

static int check_start(struct dl_phdr_info *info, size_t size, void *context) {
	size_t *checked = context;
	(void)size;
	if (info->dlpi_name[0] != '/')
		return 0;
	Dwfl *dwfl = begin();
	Dwfl_Module *module = open_module(dwfl, info->dlpi_name);
	CHECK(module != NULL);
	uint64_t start = start_of_code(module);
	if (start != 0 && !has_symbol_up_to(module, start)) {
		mw_symbols_t symbols = {.is_listed = false};
		for (int i = 0; i < 100 && !symbols.is_listed; i++)
			check_address(&symbols, module, start);
		CHECK(symbols.is_listed);
		size_t questions = symbols.questions;
		CHECK(mw_symbols_find(&symbols, module, start) == NULL);
		CHECK(symbols.questions == questions);
		mw_symbols_release(&symbols);
		++*checked;
	}
	dwfl_end(dwfl);
	return 0;
}

/* Stripped libraries have code before their first exported function: in large ones thousands of
 * such addresses are looked up, and libdwfl looks through all symbols for each. */
static void code_before_the_first_symbol_is_not_asked_for(void) {
	size_t checked = 0;
	dl_iterate_phdr(check_start, &checked);
	CHECK(checked > 0);
}

static void own_symbols_are_libdwfls(void) {
	check_file("/proc/self/exe", 3000);
}

static int check_library(struct dl_phdr_info *info, size_t size, void *context) {
	size_t *checked = context;
	(void)size;
	if (info->dlpi_name[0] == '/') {
		check_file(info->dlpi_name, 300);
		++*checked;
	}
	return 0;
}

/* Those this test needs: libc, with the symbols of its debug file where it is installed, and others
 * that are stripped. */
static void libraries_symbols_are_libdwfls(void) {
	size_t checked = 0;
	dl_iterate_phdr(check_library, &checked);
	CHECK(checked > 0);
}

static uint64_t start_of_outer(Dwfl_Module *module) {
	int count = dwfl_module_getsymtab(module);
	GElf_Addr start = 0;
	for (int i = 1; i < count && start == 0; i++) {
		GElf_Sym symbol;
		const char *name = dwfl_module_getsym(module, i, &symbol, NULL);
		if (name != NULL && strcmp(name, "test_outer") == 0)
			start = symbol.st_value;
	}
	CHECK(start != 0);
	return start;
}

/* Each address of the code above. */
static void overlapping_symbols_are_libdwfls(void) {
	Dwfl *dwfl = begin();
	Dwfl_Module *module = open_module(dwfl, "/proc/self/exe");
	mw_symbols_t symbols = {.is_listed = false};
	uint64_t start = start_of_outer(module);
	size_t named = 0;
	for (uint64_t address = start - 32; address < start + 128; address++)
		named += check_address(&symbols, module, address);
	CHECK(named >= 64);
	mw_symbols_release(&symbols);
	dwfl_end(dwfl);
}

static const char *starting_at(mw_symbols_t *symbols, Dwfl_Module *module, uint64_t address) {
	const char *name = mw_symbols_starting_at(symbols, module, address);
	return name != NULL ? name : "none";
}

static void symbols_are_found_by_their_start(void) {
	Dwfl *dwfl = begin();
	Dwfl_Module *module = open_module(dwfl, "/proc/self/exe");
	uint64_t start = start_of_outer(module);
	mw_symbols_t symbols = {.is_listed = false};
	/* Asked one by one at first, then looked up in lists: the answers are the same. */
	for (int round = 0; round < 2; round++) {
		CHECK(strcmp(starting_at(&symbols, module, start), "none") != 0);
		CHECK_STR(starting_at(&symbols, module, start + 48), "test_label");
		/* Within another. */
		CHECK_STR(starting_at(&symbols, module, start + 16), "none");
		CHECK_STR(starting_at(&symbols, module, start + 17), "none");
		CHECK_STR(starting_at(&symbols, module, start + 49), "none");
		CHECK(symbols.is_listed == (round == 1));
		for (uint64_t k = 0; round == 0 && !symbols.is_listed; k++) {
			CHECK(k < 100000);
			mw_symbols_find(&symbols, module, start + k % 64);
		}
	}
	mw_symbols_release(&symbols);
	dwfl_end(dwfl);
}

int main(void) {
	RUN(symbols_are_found_by_their_start);
	RUN(own_symbols_are_libdwfls);
	RUN(libraries_symbols_are_libdwfls);
	RUN(overlapping_symbols_are_libdwfls);
	RUN(code_before_the_first_symbol_is_not_asked_for);
	return 0;
}
