/* SPDX-License-Identifier: MIT
 * loaded_modules.c -- follows the dynamic linker's list, and reads each module's dynamic section.
 */
#include "live/loaded/loaded_modules.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

/* More than programs have.  A list that is longer is damaged, or a ring. */
enum { MODULES_MAX = 4096, DYNAMIC_MAX = 512 };
/* Addresses of a program are below. */
#define ADDRESS_LIMIT (UINT64_C(1) << 56)

bool mw_program_start_read(int thread, mw_program_start_t *out) {
	char path[64];
	Elf64_auxv_t entry;
	*out = (mw_program_start_t){0};
	snprintf(path, sizeof(path), "/proc/%d/auxv", thread);
	FILE *file = fopen(path, "re");
	while (file != NULL && fread(&entry, sizeof(entry), 1, file) == 1 &&
	       entry.a_type != AT_NULL) {
		if (entry.a_type == AT_PHDR)
			out->headers = entry.a_un.a_val;
		else if (entry.a_type == AT_PHNUM)
			out->header_count = entry.a_un.a_val;
	}
	if (file != NULL)
		fclose(file);
	return out->headers != 0;
}

/* Returns the mapping that holds the first bytes of the file of which a part is at `address`: the
 * nearest one below. */
static const mw_map_t *first_of_file(const mw_address_space_t *space, uint64_t address) {
	const mw_map_t *map = mw_address_space_at(space, address);
	if (map == NULL || map->inode == 0)
		return NULL;
	for (const mw_map_t *at = map;; at--) {
		if (at->inode == map->inode && at->device == map->device && at->offset == 0)
			return at;
		if (at == space->maps)
			return NULL;
	}
}

static bool read_segments(const mw_address_space_t *space, mw_module_t *module,
			  Elf64_Phdr segments[MW_MODULE_HEADERS_MAX]) {
	Elf64_Ehdr header;
	const mw_map_t *first = module->first;
	if (!first->is_readable ||
	    !mw_address_space_read(space, first->start, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(segments[0]) ||
	    header.e_phnum == 0 || header.e_phnum > MW_MODULE_HEADERS_MAX ||
	    header.e_phoff > first->limit - first->start)
		return false;
	module->headers = first->start + header.e_phoff;
	module->header_count = header.e_phnum;
	return mw_address_space_read(space, module->headers, segments,
				     header.e_phnum * sizeof(segments[0]));
}

/* Sets where the segments are.  False: the file is not mapped where the list says. */
static bool place_segments(mw_module_t *module, const Elf64_Phdr *segments) {
	bool begins = false;
	module->start = UINT64_MAX;
	for (uint32_t i = 0; i < module->header_count; i++) {
		const Elf64_Phdr *s = &segments[i];
		if (s->p_vaddr >= ADDRESS_LIMIT || s->p_memsz >= ADDRESS_LIMIT)
			return false;
		uint64_t at = module->bias + s->p_vaddr;
		if (s->p_type == PT_GNU_RELRO)
			module->relro = mw_relro_pages(at, s->p_memsz);
		if (s->p_type != PT_LOAD)
			continue;
		begins |= s->p_offset == 0 && at == module->first->start;
		module->start = at < module->start ? at : module->start;
		module->limit = at + s->p_memsz > module->limit ? at + s->p_memsz : module->limit;
	}
	return begins && module->limit > module->start && module->limit < ADDRESS_LIMIT;
}

/* The linker of glibc and musl adds the bias to the addresses of most modules' dynamic sections. */
static uint64_t address_in(const mw_module_t *module, uint64_t value) {
	uint64_t address = value < module->bias ? module->bias + value : value;
	return address >= module->start && address < module->limit ? address : 0;
}

static void bound(const mw_module_t *module, mw_module_table_t *table) {
	if (table->address == 0 || table->bytes > module->limit - table->address)
		*table = (mw_module_table_t){0};
}

static void take_entry(mw_module_t *module, const Elf64_Dyn *entry, bool *has_rela) {
	uint64_t value = entry->d_un.d_val;
	switch (entry->d_tag) {
	case DT_SYMTAB:
		module->symbols = address_in(module, value);
		break;
	case DT_STRTAB:
		module->names.address = address_in(module, value);
		break;
	case DT_STRSZ:
		module->names.bytes = value;
		break;
	case DT_HASH:
		module->hash = address_in(module, value);
		break;
	case DT_GNU_HASH:
		module->gnu_hash = address_in(module, value);
		break;
	case DT_JMPREL:
		module->jumps.address = address_in(module, value);
		break;
	case DT_PLTRELSZ:
		module->jumps.bytes = value;
		break;
	case DT_RELA:
		module->data.address = address_in(module, value);
		break;
	case DT_RELASZ:
		module->data.bytes = value;
		break;
	case DT_PLTREL:
		*has_rela = value == DT_RELA;
		break;
	default:
		break;
	}
}

/* Returns the number of entries before the last. */
static size_t read_dynamic(const mw_address_space_t *space, uint64_t address,
			   Elf64_Dyn entries[DYNAMIC_MAX]) {
	size_t count = 0;
	while (count < DYNAMIC_MAX &&
	       mw_address_space_read(space, address + count * sizeof(entries[0]), &entries[count],
				     sizeof(entries[0])) &&
	       entries[count].d_tag != DT_NULL)
		count++;
	return count;
}

static bool read_module(const mw_address_space_t *space, const struct link_map *link,
			mw_module_t *out) {
	Elf64_Phdr segments[MW_MODULE_HEADERS_MAX];
	Elf64_Dyn entries[DYNAMIC_MAX];
	bool has_rela = true;
	uint64_t dynamic = (uint64_t)(uintptr_t)link->l_ld;
	*out = (mw_module_t){.bias = link->l_addr, .name = (uint64_t)(uintptr_t)link->l_name};
	out->first = first_of_file(space, dynamic);
	if (out->first == NULL || !read_segments(space, out, segments) ||
	    !place_segments(out, segments) || dynamic < out->start || dynamic >= out->limit)
		return false;
	size_t count = read_dynamic(space, dynamic, entries);
	for (size_t i = 0; i < count; i++)
		take_entry(out, &entries[i], &has_rela);
	bound(out, &out->names);
	bound(out, &out->data);
	bound(out, &out->jumps);
	if (!has_rela)
		out->jumps = (mw_module_table_t){0};
	return true;
}

/* Returns the address of the program's r_debug; 0: there is none, for the reason in `out`. */
static uint64_t find_list(const mw_address_space_t *space, const mw_program_start_t *start,
			  mw_modules_t *out) {
	Elf64_Phdr segments[MW_MODULE_HEADERS_MAX];
	Elf64_Dyn entries[DYNAMIC_MAX];
	uint64_t bias = 0, dynamic = 0, address = 0;
	out->is_static = true;
	if (start->header_count == 0 || start->header_count > MW_MODULE_HEADERS_MAX ||
	    !mw_address_space_read(space, start->headers, segments,
				   start->header_count * sizeof(segments[0])))
		return 0;
	for (uint64_t i = 0; i < start->header_count; i++)
		if (segments[i].p_type == PT_PHDR)
			bias = start->headers - segments[i].p_vaddr;
	for (uint64_t i = 0; i < start->header_count; i++) {
		if (segments[i].p_type == PT_DYNAMIC)
			dynamic = bias + segments[i].p_vaddr;
		if (segments[i].p_type == PT_INTERP)
			out->is_static = false;
	}
	size_t count = dynamic != 0 ? read_dynamic(space, dynamic, entries) : 0;
	for (size_t i = 0; i < count; i++)
		if (entries[i].d_tag == DT_DEBUG)
			address = entries[i].d_un.d_ptr;
	out->is_static &= address == 0;
	out->is_unfinished = !out->is_static && address == 0;
	return address;
}

/* Or a module of it was unloaded meanwhile: the list may be whole a moment later. */
static int say_damaged(mw_modules_t *out, mw_error_t *error) {
	out->is_unfinished = true;
	return mw_error_set(error, "the list of its modules is damaged");
}

int mw_modules_read(const mw_address_space_t *space, const mw_program_start_t *start,
		    mw_modules_t *out, mw_error_t *error) {
	struct r_debug list;
	struct link_map link;
	*out = (mw_modules_t){0};
	uint64_t address = find_list(space, start, out);
	if (address == 0)
		return mw_error_set(error, out->is_static ? "it has no dynamic linker"
							  : "its dynamic linker has no list of "
							    "modules");
	if (!mw_address_space_read(space, address, &list, sizeof(list)))
		return mw_error_set(error, "the list of its modules cannot be read");
	out->is_unfinished = list.r_state != RT_CONSISTENT;
	uint64_t at = (uint64_t)(uintptr_t)list.r_map;
	for (size_t i = 0; at != 0; i++, at = (uint64_t)(uintptr_t)link.l_next) {
		mw_module_t module;
		if (i == MODULES_MAX || !mw_address_space_read(space, at, &link, sizeof(link)))
			return say_damaged(out, error);
		if (!read_module(space, &link, &module)) {
			if (i == 0)
				return mw_error_set(error, "its program is not where the list of "
							   "its modules says");
			out->left_out++;
			continue;
		}
		out->items =
			mw_grow(out->items, &out->capacity, out->count + 1, sizeof(*out->items));
		out->items[out->count++] = module;
	}
	return out->count > 0 ? 0 : say_damaged(out, error);
}

void mw_modules_free(mw_modules_t *modules) {
	free(modules->items);
	*modules = (mw_modules_t){0};
}
