/* SPDX-License-Identifier: MIT
 * symbols.c -- sorts the symbols into ranges wherever the answer is unique.
 * libdwfl takes the global symbols that hold an address, then the local ones, then the symbols
 * without a size, with rules for overlapping symbols.  If all symbols that hold an address have
 * one start, size and binding, the first of them is the answer.  In other cases libdwfl is
 * asked. */
#include "symbol/elf/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

/* Listing the symbols takes as long as this number of lookups in libdwfl. */
#define QUESTIONS_WORTH_LISTING 8

enum { GLOBAL, LOCAL };

/* A symbol while the list is made. */
typedef struct entry {
	uint64_t start, end;
	uint32_t symbol;
	uint8_t table, binding;
} entry_t;

typedef struct entries {
	entry_t *entries;
	size_t count, capacity;
} entries_t;

static int compare_entries(const void *a, const void *b) {
	const entry_t *x = a, *y = b;
	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

static int compare_starts(const void *a, const void *b) {
	const mw_symbol_range_t *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void add_range(mw_symbol_ranges_t *r, mw_symbol_range_t range) {
	r->ranges = mw_grow(r->ranges, &r->capacity, r->count + 1, sizeof(range));
	r->ranges[r->count++] = range;
}

static void add_entry(entries_t *list, entry_t entry) {
	list->entries = mw_grow(list->entries, &list->capacity, list->count + 1, sizeof(entry_t));
	list->entries[list->count++] = entry;
}

/* Returns the end of a symbol without a size: the end of its section, because libdwfl uses the
 * section of the address.  Absolute symbols, and symbols at the end of a section (_end), cover
 * at least themselves. */
static uint64_t end_of_label(Elf *elf, GElf_Word section, uint64_t start, GElf_Addr bias) {
	GElf_Shdr header;
	uint64_t end = 0;
	if (section < SHN_LORESERVE && gelf_getshdr(elf_getscn(elf, section), &header) != NULL)
		end = header.sh_addr + header.sh_size + bias;
	return end > start ? end : start + 1;
}

static void take_symbol(Dwfl_Module *module, int number, bool is_local, entries_t *sized,
			entries_t *labels) {
	GElf_Sym symbol;
	GElf_Addr start, bias;
	GElf_Word section;
	Elf *elf;
	const char *name =
		dwfl_module_getsym_info(module, number, &symbol, &start, &section, &elf, &bias);
	int type = GELF_ST_TYPE(symbol.st_info);
	if (name == NULL || name[0] == '\0' || symbol.st_shndx == SHN_UNDEF ||
	    type == STT_SECTION || type == STT_FILE || type == STT_TLS)
		return;
	entry_t entry = {.start = start,
			 .symbol = (uint32_t)number,
			 .table = is_local ? LOCAL : GLOBAL,
			 .binding = GELF_ST_BIND(symbol.st_info)};
	if (symbol.st_size > 0) {
		/* The range must not wrap around the end of the address space. */
		uint64_t most = UINT64_MAX - start;
		entry.end = start + (symbol.st_size < most ? symbol.st_size : most);
		add_entry(sized, entry);
		return;
	}
	entry.end = end_of_label(elf, section, start, bias);
	add_entry(labels, entry);
}

static bool are_alike(const entry_t *a, const entry_t *b) {
	return a->start == b->start && a->end == b->end && a->binding == b->binding;
}

/* Makes ranges of the symbols.  Overlapping symbols become one range.  Its answer is the first
 * symbol if all are alike, else libdwfl has to be asked. */
static void sort_into_ranges(entries_t *list, mw_symbol_ranges_t *ranges) {
	if (list->count > 0)
		qsort(list->entries, list->count, sizeof(entry_t), compare_entries);
	for (size_t i = 0, next; i < list->count; i = next) {
		const entry_t *first = &list->entries[i];
		mw_symbol_range_t range = {first->start, first->end, first->symbol};
		for (next = i + 1; next < list->count; next++) {
			const entry_t *e = &list->entries[next];
			if (e->table != first->table || e->start >= range.end)
				break;
			if (!are_alike(first, e))
				range.symbol = 0;
			if (e->end > range.end)
				range.end = e->end;
		}
		add_range(&ranges[first->table], range);
	}
	free(list->entries);
}

static void list_starts(mw_symbols_t *s, const entries_t *labels) {
	mw_symbol_range_t *ranges;
	for (size_t i = 0; i < labels->count; i++)
		add_range(&s->starts, (mw_symbol_range_t){.start = labels->entries[i].start,
							  .end = labels->entries[i].end});
	ranges = s->starts.ranges;
	if (s->starts.count > 0)
		qsort(ranges, s->starts.count, sizeof(*ranges), compare_starts);
	for (size_t i = 1; i < s->starts.count; i++)
		if (ranges[i].end < ranges[i - 1].end)
			ranges[i].end = ranges[i - 1].end;
}

/* Lists global symbols without a size only: a local symbol with a size may precede a local
 * label. */
static void list_labels(mw_symbols_t *s, entries_t *labels) {
	entries_t global = {0};
	for (size_t i = 0; i < labels->count; i++)
		if (labels->entries[i].table == GLOBAL)
			add_entry(&global, labels->entries[i]);
	sort_into_ranges(&global, &s->labels);
	free(labels->entries);
}

/* Lists the code sections.  Outside of them, for example between the procedure linkage table and
 * the code, libdwfl uses other rules. */
static void list_sections(mw_symbols_t *s, Dwfl_Module *module) {
	GElf_Addr bias;
	GElf_Shdr header;
	Elf *elf = dwfl_module_getelf(module, &bias);
	Elf_Scn *section = NULL;
	while (elf != NULL && (section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, &header) != NULL &&
		    (header.sh_flags & SHF_EXECINSTR) != 0)
			add_range(&s->sections,
				  (mw_symbol_range_t){header.sh_addr + bias,
						      header.sh_addr + bias + header.sh_size, 0});
}

static bool is_in_section(const mw_symbols_t *s, uint64_t address) {
	for (size_t i = 0; i < s->sections.count; i++)
		if (address >= s->sections.ranges[i].start && address < s->sections.ranges[i].end)
			return true;
	return false;
}

static void list_symbols(mw_symbols_t *s, Dwfl_Module *module) {
	entries_t sized = {0}, labels = {0};
	int count = dwfl_module_getsymtab(module);
	int first_global = dwfl_module_getsymtab_first_global(module);
	for (int i = 1; i < count; i++)
		take_symbol(module, i, i < first_global, &sized, &labels);
	sort_into_ranges(&sized, s->sized);
	list_starts(s, &labels);
	list_labels(s, &labels);
	list_sections(s, module);
	s->is_listed = true;
}

/* Returns the last range that starts at or before an address, or NULL. */
static const mw_symbol_range_t *find_before(const mw_symbol_ranges_t *r, uint64_t address) {
	/* After the loop, `low` counts the ranges that start at or before the address. */
	size_t low = 0, high = r->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (r->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? &r->ranges[low - 1] : NULL;
}

static const mw_symbol_range_t *find_range(const mw_symbol_ranges_t *r, uint64_t address) {
	const mw_symbol_range_t *range = find_before(r, address);
	return range != NULL && address < range->end ? range : NULL;
}

/* Called for an address that no symbol with a size holds.  True if a label cannot be the answer
 * either. libdwfl takes no label that starts before the end of a symbol with a size.  Stripped
 * libraries have a label at the start of their code and exported functions after the label.
 * Code before the first function (in libLLVM, the start-up functions of all its files) has no
 * label at all; the absolute symbols at 0, which name versions, end there. */
static bool has_no_label(const mw_symbols_t *s, uint64_t address) {
	const mw_symbol_range_t *label = find_before(&s->starts, address);
	if (label == NULL || label->end <= address)
		return true;
	for (int table = GLOBAL; table <= LOCAL; table++) {
		const mw_symbol_range_t *sized = find_before(&s->sized[table], address);
		if (sized != NULL && label->start < sized->end)
			return true;
	}
	return false;
}

static const char *ask(mw_symbols_t *s, Dwfl_Module *module, uint64_t address) {
	GElf_Off offset;
	GElf_Sym symbol;
	s->questions++;
	const char *name =
		dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
	return name != NULL && name[0] != '\0' ? name : NULL;
}

const char *mw_symbols_find(mw_symbols_t *s, Dwfl_Module *module, uint64_t address) {
	if (!s->is_listed && s->questions < QUESTIONS_WORTH_LISTING)
		return ask(s, module, address);
	if (!s->is_listed)
		list_symbols(s, module);
	const mw_symbol_range_t *local = find_range(&s->sized[LOCAL], address);
	const mw_symbol_range_t *range = find_range(&s->sized[GLOBAL], address);
	GElf_Sym symbol;
	if (range == NULL)
		range = local;
	if (range == NULL && has_no_label(s, address) && is_in_section(s, address))
		return NULL;
	if (range == NULL || range->symbol == 0 ||
	    (range == local && find_range(&s->labels, address) != NULL))
		return ask(s, module, address);
	return dwfl_module_getsym(module, (int)range->symbol, &symbol, NULL);
}

static bool starts_at(const mw_symbol_ranges_t *r, uint64_t address) {
	const mw_symbol_range_t *range = find_before(r, address);
	return range != NULL && range->start == address;
}

const char *mw_symbols_starting_at(mw_symbols_t *s, Dwfl_Module *module, uint64_t address) {
	GElf_Off offset = 1;
	GElf_Sym symbol;
	if (s->is_listed && !starts_at(&s->sized[GLOBAL], address) &&
	    !starts_at(&s->sized[LOCAL], address) && !starts_at(&s->starts, address))
		return NULL;
	s->questions++;
	const char *name =
		dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
	return name != NULL && name[0] != '\0' && offset == 0 ? name : NULL;
}

/* ---- unwind ranges ---- */

/* Header of the index: version, three encodings, address of the information, number of entries. */
#define INDEX_HEADER_BYTES 12
#define INDEX_ENTRY_BYTES 8
/* Length, reference, start and length of the code, 4 bytes each, as compilers write them. */
#define RANGE_BYTES 16

static int32_t signed_at(const uint8_t *bytes) {
	int32_t value;
	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Remembers a section's bytes and address. */
static void take_section(Elf_Scn *section, const GElf_Shdr *header, const uint8_t **bytes,
			 size_t *count, uint64_t *address) {
	Elf_Data *data = elf_rawdata(section, NULL);
	if (data == NULL || data->d_buf == NULL)
		return;
	*bytes = data->d_buf;
	*count = data->d_size;
	*address = header->sh_addr;
}

static void seek_index(mw_symbols_t *s, Dwfl_Module *module) {
	GElf_Addr bias;
	size_t names;
	Elf_Scn *section = NULL;
	Elf *elf = dwfl_module_getelf(module, &bias);
	const char *identity = elf != NULL ? elf_getident(elf, NULL) : NULL;
	s->is_index_sought = true;
	/* Numbers of the index are read as they are: all supported machines are little-endian. */
	if (identity == NULL || identity[EI_DATA] != ELFDATA2LSB || bias != 0 ||
	    elf_getshdrstrndx(elf, &names) != 0)
		return;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS)
			continue;
		const char *name = elf_strptr(elf, names, header.sh_name);
		if (name != NULL && strcmp(name, ".eh_frame_hdr") == 0)
			take_section(section, &header, &s->index, &s->index_bytes,
				     &s->index_address);
		else if (name != NULL && strcmp(name, ".eh_frame") == 0)
			take_section(section, &header, &s->frames, &s->frames_bytes,
				     &s->frames_address);
	}
	/* Version 1; the address in 4 bytes; the number as 4 bytes; a table of pairs of 4 bytes,
	 * relative to the index. */
	if (s->index == NULL || s->index_bytes < INDEX_HEADER_BYTES || s->index[0] != 1 ||
	    (s->index[1] & 7) != 3 || s->index[2] != 0x03 || s->index[3] != 0x3b)
		s->index = NULL;
}

/* True if the range at `place` in the unwind information, whose code begins at `start`, holds the
 * address. */
static bool range_holds(const mw_symbols_t *s, uint64_t place, uint64_t start, uint64_t address) {
	uint64_t offset = place - s->frames_address;
	if (s->frames == NULL || offset >= s->frames_bytes ||
	    s->frames_bytes - offset < RANGE_BYTES)
		return false;
	const uint8_t *range = s->frames + offset;
	uint32_t length = (uint32_t)signed_at(range + 12);
	/* Otherwise the range has an encoding of addresses that compilers do not use. */
	return place + 8 + (uint64_t)(int64_t)signed_at(range + 8) == start &&
	       address - start < length;
}

bool mw_symbols_find_range(mw_symbols_t *s, Dwfl_Module *module, uint64_t address,
			   uint64_t *start) {
	if (!s->is_index_sought)
		seek_index(s, module);
	if (s->index == NULL)
		return false;
	size_t count = (uint32_t)signed_at(s->index + 8);
	size_t most = (s->index_bytes - INDEX_HEADER_BYTES) / INDEX_ENTRY_BYTES;
	const uint8_t *entries = s->index + INDEX_HEADER_BYTES;
	int64_t wanted = (int64_t)(address - s->index_address);
	/* After the loop, `low` is the number of entries at or before the address. */
	size_t low = 0, high = count < most ? count : most;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (signed_at(entries + middle * INDEX_ENTRY_BYTES) <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	const uint8_t *entry = entries + (low - 1) * INDEX_ENTRY_BYTES;
	*start = s->index_address + (uint64_t)(int64_t)signed_at(entry);
	return range_holds(s, s->index_address + (uint64_t)(int64_t)signed_at(entry + 4), *start,
			   address);
}

void mw_symbols_release(mw_symbols_t *s) {
	free(s->sized[GLOBAL].ranges);
	free(s->sized[LOCAL].ranges);
	free(s->labels.ranges);
	free(s->starts.ranges);
	free(s->sections.ranges);
}
