/* SPDX-License-Identifier: MIT
 * symbols.c -- the symbols sorted into ranges, as far as it is plain which one is the answer.
 *
 * libdwfl takes the global symbols that hold an address, then the local ones, then those without a
 * size, with rules for symbols that overlap.  Where only symbols of one start, size and binding
 * hold an address the first of them is the answer; for the rest libdwfl is asked. */
#include "symbol/symbols.h"

#include <stdlib.h>

#include "model/alloc.h"

/* Listing the symbols takes as long as so many questions to libdwfl. */
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

/* Up to the end of its section, as libdwfl goes by the section of the address; itself in any case:
 * of absolute ones, and those at the end of a section (_end). */
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
		/* Not around the end of all addresses. */
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

/* Into the ranges of each one's table.  Symbols that overlap become one range; its answer is the
 * first's if all are alike, and to be asked for if not. */
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

/* The global ones only: where a local symbol has a size they may come before it. */
static void list_labels(mw_symbols_t *s, entries_t *labels) {
	entries_t global = {0};
	for (size_t i = 0; i < labels->count; i++)
		if (labels->entries[i].table == GLOBAL)
			add_entry(&global, labels->entries[i]);
	sort_into_ranges(&global, &s->labels);
	free(labels->entries);
}

/* Of what is in none, as between the procedure linkage table and the code, libdwfl has its own
 * opinion. */
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
	for (size_t i = 0; i < labels.count; i++)
		add_range(&s->starts, (mw_symbol_range_t){.start = labels.entries[i].start});
	if (labels.count > 0)
		qsort(s->starts.ranges, s->starts.count, sizeof(mw_symbol_range_t), compare_starts);
	list_labels(s, &labels);
	list_sections(s, module);
	s->is_listed = true;
}

/* The last that starts at or before an address, or NULL. */
static const mw_symbol_range_t *find_before(const mw_symbol_ranges_t *r, uint64_t address) {
	size_t low = 0, high = r->count; /* the first that starts behind `address` */
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

/* Of an address that no symbol of some size holds: whether one ends behind all labels before it.
 * No label is the answer then: stripped libraries have one at the start of their code, and exported
 * functions in between. */
static bool is_behind_symbol(const mw_symbols_t *s, uint64_t address) {
	const mw_symbol_range_t *label = find_before(&s->starts, address);
	for (int table = GLOBAL; table <= LOCAL; table++) {
		const mw_symbol_range_t *sized = find_before(&s->sized[table], address);
		if (sized != NULL && (label == NULL || label->start < sized->end))
			return true;
	}
	return false;
}

static const char *ask(Dwfl_Module *module, uint64_t address) {
	GElf_Off offset;
	GElf_Sym symbol;
	const char *name =
		dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
	return name != NULL && name[0] != '\0' ? name : NULL;
}

const char *mw_symbols_find(mw_symbols_t *s, Dwfl_Module *module, uint64_t address) {
	if (!s->is_listed && s->questions++ < QUESTIONS_WORTH_LISTING)
		return ask(module, address);
	if (!s->is_listed)
		list_symbols(s, module);
	const mw_symbol_range_t *local = find_range(&s->sized[LOCAL], address);
	const mw_symbol_range_t *range = find_range(&s->sized[GLOBAL], address);
	GElf_Sym symbol;
	if (range == NULL)
		range = local;
	if (range == NULL && is_behind_symbol(s, address) && is_in_section(s, address))
		return NULL;
	if (range == NULL || range->symbol == 0 ||
	    (range == local && find_range(&s->labels, address) != NULL))
		return ask(module, address);
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

void mw_symbols_release(mw_symbols_t *s) {
	free(s->sized[GLOBAL].ranges);
	free(s->sized[LOCAL].ranges);
	free(s->labels.ranges);
	free(s->starts.ranges);
	free(s->sections.ranges);
}
