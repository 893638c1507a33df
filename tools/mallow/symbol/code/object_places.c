/* SPDX-License-Identifier: MIT
 * object_places.c -- lists the rows of the line tables and the symbols of a file. */
#include "symbol/code/object_places.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>

#include "model/memory.h"

typedef struct listing {
	mw_object_place_t *places;
	size_t count, capacity;
	GElf_Phdr segments[64]; /* those that are executed */
	size_t segment_count;
} listing_t;

static void find_segments(listing_t *l, Dwfl_Module *module) {
	GElf_Addr bias;
	size_t count;
	Elf *elf = dwfl_module_getelf(module, &bias);
	if (elf == NULL || elf_getphdrnum(elf, &count) != 0)
		return;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		GElf_Phdr segment;
		if (gelf_getphdr(elf, (int)i, &segment) != NULL && segment.p_type == PT_LOAD &&
		    (segment.p_flags & PF_X) != 0 &&
		    l->segment_count < sizeof(l->segments) / sizeof(l->segments[0]))
			l->segments[l->segment_count++] = segment;
	}
}

/* Leaves out what lies in no segment: functions that the linker has dropped are at 0. */
static void add(listing_t *l, uint64_t address) {
	for (size_t i = 0; i < l->segment_count; i++) {
		const GElf_Phdr *s = &l->segments[i];
		if (address - s->p_vaddr > s->p_filesz || l->count >= MW_READ_ENTRIES_MAX)
			continue;
		l->places = mw_grow(l->places, &l->capacity, l->count + 1, sizeof(*l->places));
		l->places[l->count++] =
			(mw_object_place_t){address, address - s->p_vaddr + s->p_offset};
		return;
	}
}

static void add_lines(listing_t *l, Dwfl_Module *module) {
	Dwarf_Addr bias = 0;
	for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, &bias)) != NULL;) {
		Dwarf_Lines *lines;
		size_t count;
		if (dwarf_getsrclines(unit, &lines, &count) != 0)
			continue;
		for (size_t i = 0; i < count; i++) {
			Dwarf_Addr address;
			if (dwarf_lineaddr(dwarf_onesrcline(lines, i), &address) == 0)
				add(l, address + bias);
		}
	}
}

static void add_symbols(listing_t *l, Dwfl_Module *module) {
	int count = dwfl_module_getsymtab(module);
	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		if (dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL) ==
			    NULL ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
			continue;
		add(l, address);
		add(l, address + symbol.st_size);
	}
}

static int compare(const void *a, const void *b) {
	const mw_object_place_t *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

mw_object_place_t *mw_object_places(mw_object_t *object, size_t *count) {
	listing_t l = {.count = 0};
	Dwfl_Module *module = mw_object_module(object);
	find_segments(&l, module);
	if (mw_object_has_debug(object))
		add_lines(&l, module);
	add_symbols(&l, module);
	if (l.count > 1)
		qsort(l.places, l.count, sizeof(*l.places), compare);
	*count = 0;
	for (size_t i = 0; i < l.count; i++)
		if (*count == 0 || l.places[*count - 1].address != l.places[i].address)
			l.places[(*count)++] = l.places[i];
	return l.places;
}
