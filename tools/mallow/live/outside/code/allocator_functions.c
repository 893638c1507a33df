/* SPDX-License-Identifier: MIT
 * functions.c -- reads symbol tables with libelf. */
#include "live/outside/code/allocator_functions.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/memory.h"

/* Bytes of a function that are looked at for a place. */
#define CODE_BYTES 96

static const struct {
	mw_probe_kind_t kind;
	const char *name;
} names[] = {
#define MW_FUNCTION(kind, name) {MW_PROBE_##kind, name},
#include "live/outside/code/allocator_functions.def"
#undef MW_FUNCTION
};
#define NAMES (sizeof(names) / sizeof(names[0]))

/* Returns the offset in the file of an address of the file, if it is code. */
static bool find_offset(Elf *elf, uint64_t address, uint64_t *offset) {
	size_t count = 0;
	GElf_Phdr header;
	if (elf_getphdrnum(elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count && i < 4096; i++)
		if (gelf_getphdr(elf, (int)i, &header) != NULL && header.p_type == PT_LOAD &&
		    (header.p_flags & PF_X) != 0 && address >= header.p_vaddr &&
		    address - header.p_vaddr < header.p_filesz) {
			*offset = address - header.p_vaddr + header.p_offset;
			return true;
		}
	return false;
}

static unsigned needed_arguments(mw_probe_kind_t kind) {
	switch (kind) {
	case MW_PROBE_CALLOC:
	case MW_PROBE_REALLOC:
		return MW_ARGUMENT_1 | MW_ARGUMENT_2;
	case MW_PROBE_ALIGNED:
		return MW_ARGUMENT_2;
	case MW_PROBE_POSIX:
		return MW_ARGUMENT_1 | MW_ARGUMENT_3;
	case MW_PROBE_MALLOC:
	case MW_PROBE_NEW:
	case MW_PROBE_FREE:
	case MW_PROBE_KINDS:
		break;
	}
	return MW_ARGUMENT_1;
}

static uint64_t address_of(const mw_outside_modules_t *modules, size_t module, uint64_t offset) {
	for (size_t i = 0; i < modules->range_count; i++) {
		const mw_outside_range_t *range = &modules->ranges[i];
		if (range->module == module && offset >= range->offset &&
		    offset - range->offset < range->limit - range->start)
			return range->start + (offset - range->offset);
	}
	return 0;
}

static void add(mw_outside_functions_t *functions, const mw_outside_modules_t *modules,
		const mw_outside_function_t *function) {
	uint8_t code[CODE_BYTES];
	for (size_t i = 0; i < functions->count; i++)
		if (functions->all[i].module == function->module &&
		    functions->all[i].offset == function->offset)
			return;
	size_t most = function->bytes > 0 && function->bytes < sizeof(code) ? function->bytes
									    : sizeof(code);
	ssize_t got = pread(modules->all[function->module].fd, code, most, (off_t)function->offset);
	if (got <= 0)
		return;
	functions->all = mw_grow(functions->all, &functions->capacity, functions->count + 1,
				 sizeof(*functions->all));
	mw_outside_function_t *added = &functions->all[functions->count++];
	*added = *function;
	added->start = address_of(modules, function->module, function->offset);
	added->site = mw_probe_site_find(code, (size_t)got, needed_arguments(function->kind),
					 function->kind == MW_PROBE_FREE);
}

typedef struct search {
	mw_outside_functions_t found; /* without sites */
	bool has_malloc, has_free;
} search_t;

static void look_at(search_t *search, Elf *elf, const GElf_Sym *symbol, const char *name,
		    size_t module) {
	size_t i = 0;
	unsigned binding = GELF_ST_BIND(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol->st_info) != STT_FUNC ||
	    binding == STB_LOCAL)
		return;
	while (i < NAMES && strcmp(names[i].name, name) != 0)
		i++;
	mw_outside_function_t function = {.module = module, .bytes = symbol->st_size};
	if (i == NAMES || !find_offset(elf, symbol->st_value, &function.offset))
		return;
	function.kind = names[i].kind;
	search->has_malloc |= strcmp(name, "malloc") == 0;
	search->has_free |= strcmp(name, "free") == 0;
	search->found.all = mw_grow(search->found.all, &search->found.capacity,
				    search->found.count + 1, sizeof(function));
	search->found.all[search->found.count++] = function;
}

static void search_table(search_t *search, Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
			 size_t module) {
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;
	size_t count =
		data != NULL && header->sh_entsize > 0 ? data->d_size / header->sh_entsize : 0;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		const char *name = gelf_getsym(data, (int)i, &symbol) != NULL
					   ? elf_strptr(elf, header->sh_link, symbol.st_name)
					   : NULL;
		if (name != NULL)
			look_at(search, elf, &symbol, name, module);
	}
}

/* The first glibc versions with a malloc of ld.so's own that programs see: it is called before
 * there is another one. */
static bool is_loader(const char *path) {
	const char *name = strrchr(path, '/');
	return name != NULL && strncmp(name, "/ld-linux", 9) == 0;
}

void mw_outside_functions_add(mw_outside_functions_t *functions,
			      const mw_outside_modules_t *modules, size_t module) {
	search_t search = {.found = {.count = 0}};
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(modules->all[module].fd, ELF_C_READ_MMAP, NULL);
	GElf_Ehdr ehdr;
	GElf_Shdr header;
	if (elf != NULL && gelf_getehdr(elf, &ehdr) != NULL && ehdr.e_machine == EM_X86_64 &&
	    !is_loader(modules->all[module].path))
		for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;)
			if (gelf_getshdr(section, &header) != NULL &&
			    (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB))
				search_table(&search, elf, section, &header, module);
	for (size_t i = 0; search.has_malloc && search.has_free && i < search.found.count; i++)
		add(functions, modules, &search.found.all[i]);
	free(search.found.all);
	elf_end(elf);
}

void mw_outside_functions_release(mw_outside_functions_t *functions) {
	free(functions->all);
	*functions = (mw_outside_functions_t){.all = NULL};
}

bool mw_outside_functions_have(const mw_outside_functions_t *functions, uint64_t address) {
	for (size_t i = 0; i < functions->count; i++) {
		const mw_outside_function_t *function = &functions->all[i];
		if (function->kind != MW_PROBE_FREE && function->start != 0 &&
		    address > function->start && address - function->start <= function->bytes)
			return true;
	}
	return false;
}
