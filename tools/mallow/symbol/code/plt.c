/* SPDX-License-Identifier: MIT
 * plt.c -- reads relocations against functions, and recognises stubs of the procedure linkage
 * table. */
#include "symbol/code/plt.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

static int compare_slots(const void *left, const void *right) {
	const mw_slot_t *a = left, *b = right;
	return (a->address > b->address) - (a->address < b->address);
}

static bool get_relocation(Elf_Data *data, int i, bool has_addends, GElf_Rel *out) {
	GElf_Rela relocation;
	if (!has_addends)
		return gelf_getrel(data, i, out) != NULL;
	if (gelf_getrela(data, i, &relocation) == NULL)
		return false;
	*out = (GElf_Rel){.r_offset = relocation.r_offset, .r_info = relocation.r_info};
	return true;
}

static void add_relocations(mw_slots_t *s, Elf *elf, Elf_Scn *section, const GElf_Shdr *header) {
	GElf_Shdr symbols_header;
	Elf_Scn *symbols_section = elf_getscn(elf, header->sh_link);
	if (gelf_getshdr(symbols_section, &symbols_header) == NULL)
		return;
	Elf_Data *symbols = elf_getdata(symbols_section, NULL), *data = elf_getdata(section, NULL);
	bool has_addends = header->sh_type == SHT_RELA;
	GElf_Rel relocation;
	for (int i = 0; get_relocation(data, i, has_addends, &relocation); i++) {
		GElf_Sym symbol;
		size_t number = GELF_R_SYM(relocation.r_info);
		if (number == 0 || number > INT32_MAX ||
		    gelf_getsym(symbols, (int)number, &symbol) == NULL)
			continue;
		const char *name = elf_strptr(elf, symbols_header.sh_link, symbol.st_name);
		if (name == NULL || *name == '\0')
			continue;
		s->slots = mw_grow(s->slots, &s->capacity, s->count + 1, sizeof(mw_slot_t));
		s->slots[s->count++] = (mw_slot_t){relocation.r_offset, name};
	}
}

static uint64_t find_table(Elf_Scn *dynamic) {
	Elf_Data *data = elf_getdata(dynamic, NULL);
	GElf_Dyn entry;
	for (int i = 0; gelf_getdyn(data, i, &entry) != NULL; i++)
		if (entry.d_tag == DT_PLTGOT)
			return entry.d_un.d_ptr;
	return 0;
}

void mw_slots_list(mw_slots_t *s, Elf *elf) {
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) == NULL)
			continue;
		if (header.sh_type == SHT_RELA || header.sh_type == SHT_REL)
			add_relocations(s, elf, section, &header);
		else if (header.sh_type == SHT_DYNAMIC)
			s->table = find_table(section);
	}
	if (s->count > 0)
		qsort(s->slots, s->count, sizeof(mw_slot_t), compare_slots);
}

const char *mw_slots_name(const mw_slots_t *s, uint64_t address) {
	const mw_slot_t key = {.address = address};
	const mw_slot_t *slot =
		s->count > 0 ? bsearch(&key, s->slots, s->count, sizeof(key), compare_slots) : NULL;
	return slot != NULL ? slot->name : NULL;
}

void mw_slots_release(mw_slots_t *s) {
	free(s->slots);
}

/* Recognises: [endbr64] [bnd] jmp *disp(%rip) */
static uint64_t stub_x86_64(const uint8_t *bytes, size_t length, uint64_t address) {
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = length >= 4 && memcmp(bytes, endbr64, 4) == 0 ? 4 : 0;
	at += at < length && bytes[at] == 0xf2;
	if (length < at + 6 || bytes[at] != 0xff || bytes[at + 1] != 0x25)
		return 0;
	int32_t distance;
	memcpy(&distance, bytes + at + 2, sizeof(distance));
	return address + at + 6 + (uint64_t)(int64_t)distance;
}

/* Recognises: [endbr32] jmp *address; or, in position-independent code, jmp *disp(%ebx),
 * relative to `table`. */
static uint64_t stub_386(const uint8_t *bytes, size_t length, uint64_t table) {
	static const uint8_t endbr32[] = {0xf3, 0x0f, 0x1e, 0xfb};
	size_t at = length >= 4 && memcmp(bytes, endbr32, 4) == 0 ? 4 : 0;
	uint32_t place;
	if (length < at + 6 || bytes[at] != 0xff)
		return 0;
	memcpy(&place, bytes + at + 2, sizeof(place));
	if (bytes[at + 1] == 0x25)
		return place;
	return bytes[at + 1] == 0xa3 && table != 0 ? (uint32_t)(table + place) : 0;
}

/* Recognises: adrp x16, page; ldr x17, [x16, #offset] */
static uint64_t stub_aarch64(const uint8_t *bytes, size_t length, uint64_t address) {
	uint32_t words[2];
	if (length < sizeof(words))
		return 0;
	memcpy(words, bytes, sizeof(words));
	if ((words[0] & 0x9f00001f) != 0x90000010 || (words[1] & 0xffc003ff) != 0xf9400211)
		return 0;
	/* The distance in pages: 21 bits, signed. */
	int64_t pages = (int64_t)((words[0] >> 5 & 0x7ffff) << 2 | (words[0] >> 29 & 3));
	pages = (pages ^ 0x100000) - 0x100000;
	return (address & ~(uint64_t)4095) + (uint64_t)pages * 4096 +
	       (uint64_t)(words[1] >> 10 & 0xfff) * 8;
}

uint64_t mw_stub_slot(const mw_slots_t *slots, unsigned machine, const uint8_t *bytes,
		      size_t length, uint64_t address) {
	return machine == EM_X86_64    ? stub_x86_64(bytes, length, address)
	       : machine == EM_386     ? stub_386(bytes, length, slots->table)
	       : machine == EM_AARCH64 ? stub_aarch64(bytes, length, address)
				       : 0;
}
