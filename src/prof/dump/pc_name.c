/* SPDX-License-Identifier: MIT
 * pc_name.c -- finds the object by the loader and the function by the file's symbol table. */
#include "prof/dump/pc_name.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/fmt.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/platform/libc_calls.h"
#include "os/unwind/object.h"
#include "state/layout.h"

/* Number of sections or symbols that are read at a time, onto the stack. */
#define BATCH 32u
/* Capacity for a name; longer names are cut. */
#define NAME_BYTES 256u

/* A symbol table in a file, and its string table. */
typedef struct symbols {
	int file;
	ElfW(Shdr) table, strings;
} symbols_t;

static bool read_exactly(int file, void *buffer, size_t bytes, uint64_t offset) {
	return mw_os_read_at(file, buffer, bytes, offset) == (long)bytes;
}

/* Finds .symtab, or .dynsym if the file is stripped. */
static bool find_table(symbols_t *symbols) {
	ElfW(Ehdr) header;
	if (!read_exactly(symbols->file, &header, sizeof header, 0) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_shentsize != sizeof(ElfW(Shdr)))
		return false;
	bool found = false;
	for (unsigned i = 0; i < header.e_shnum; i++) {
		ElfW(Shdr) section;
		if (!read_exactly(symbols->file, &section, sizeof section,
				  header.e_shoff + i * sizeof section))
			return false;
		if (section.sh_entsize != sizeof(ElfW(Sym)) || section.sh_link >= header.e_shnum ||
		    (section.sh_type != SHT_SYMTAB && (found || section.sh_type != SHT_DYNSYM)))
			continue;
		symbols->table = section;
		found = read_exactly(symbols->file, &symbols->strings, sizeof symbols->strings,
				     header.e_shoff + section.sh_link * sizeof section);
	}
	return found;
}

static bool find_symbol(const symbols_t *symbols, uint64_t address, ElfW(Sym) * result) {
	ElfW(Sym) batch[BATCH];
	uint64_t count = symbols->table.sh_size / sizeof(ElfW(Sym));
	for (uint64_t first = 0; first < count; first += BATCH) {
		long bytes = mw_os_read_at(symbols->file, batch, sizeof batch,
					   symbols->table.sh_offset + first * sizeof(ElfW(Sym)));
		for (unsigned i = 0; bytes > 0 && i < (size_t)bytes / sizeof(ElfW(Sym)); i++)
			if (ELF64_ST_TYPE(batch[i].st_info) == STT_FUNC && batch[i].st_shndx != 0 &&
			    first + i < count && address - batch[i].st_value < batch[i].st_size) {
				*result = batch[i];
				return true;
			}
		if (bytes != (long)sizeof batch)
			return false;
	}
	return false;
}

/* Writes "function+0x12", or nothing if the function is unknown. */
static size_t name_function(const char *path, uint64_t address, uint64_t looked_up, char *buffer,
			    size_t capacity) {
	symbols_t symbols = {.file = mw_os_open(MW_OS_NO_DIRECTORY, path, MW_OS_READ)};
	ElfW(Sym) symbol = {0};
	char name[NAME_BYTES] = "";
	if (symbols.file < 0)
		return 0;
	if (find_table(&symbols) && find_symbol(&symbols, looked_up, &symbol)) {
		long bytes = mw_os_read_at(symbols.file, name, sizeof name - 1,
					   symbols.strings.sh_offset + symbol.st_name);
		name[bytes > 0 ? bytes : 0] = '\0';
	}
	mw_os_close(symbols.file);
	if (name[0] == '\0')
		return 0;
	return mw_fmt(buffer, capacity, "%s+%#lx", name, address - symbol.st_value);
}

static void name_place(const char *path, uint64_t address, uint64_t looked_up, char *buffer,
		       size_t capacity) {
	/* An object without a path is the vdso. */
	size_t length =
		path[0] == '/' ? name_function(path, address, looked_up, buffer, capacity) : 0;
	if (length == 0)
		mw_fmt(buffer, capacity, "%s+%#lx", path, address);
	else if (length < capacity)
		mw_fmt(buffer + length, capacity - length, " (%s+%#lx)", path, address);
}

void mw_pc_name_in(const char *path, uint64_t address, char *buffer, size_t capacity) {
	name_place(path, address, address, buffer, capacity);
}

void mw_pc_name(uint64_t pc, char *buffer, size_t capacity) {
	uint64_t address = pc & ~MW_FRAME_EXACT;
	/* A return address may belong to the next function. */
	uint64_t looked_up = pc & MW_FRAME_EXACT ? address : address - 1;
	struct dl_find_object object;
	char path[512];
	if (!mw_os_object_can_ask_loader() ||
	    mw_libc_calls._dl_find_object((void *)(uintptr_t)looked_up, &object) != 0) {
		mw_fmt(buffer, capacity, "%#lx", address);
		return;
	}
	const struct link_map *map = object.dlfo_link_map;
	uint64_t bias = map->l_addr;
	mw_fmt(path, sizeof path, "%s", map->l_name ? map->l_name : "");
	/* The loader's list has no name for the program itself. */
	if (path[0] == '\0')
		mw_os_executable(path, sizeof path);
	name_place(path, address - bias, looked_up - bias, buffer, capacity);
}
