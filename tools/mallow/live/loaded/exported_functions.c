/* SPDX-License-Identifier: MIT
 * exported_functions.c -- looks a name up as the dynamic linker does (DT_GNU_HASH, DT_HASH). */
#include "live/loaded/exported_functions.h"

#include <elf.h>
#include <string.h>

/* Longest chain of names with one hash that is followed. */
enum { CHAIN_MAX = 4096, NAME_MAX_BYTES = 128 };

static bool read_in(const mw_address_space_t *space, const mw_module_t *module, uint64_t address,
		    void *out, size_t bytes) {
	return address >= module->start && address < module->limit &&
	       bytes <= module->limit - address &&
	       mw_address_space_read(space, address, out, bytes);
}

static bool is_named(const mw_address_space_t *space, const mw_module_t *module, uint64_t offset,
		     const char *name) {
	char text[NAME_MAX_BYTES];
	size_t bytes = strlen(name) + 1;
	return bytes <= sizeof(text) && offset < module->names.bytes &&
	       bytes <= module->names.bytes - offset &&
	       read_in(space, module, module->names.address + offset, text, bytes) &&
	       memcmp(text, name, bytes) == 0;
}

/* Returns the address of symbol `index` if it is a function of this name; else 0. */
static uint64_t function_at(const mw_address_space_t *space, const mw_module_t *module,
			    uint64_t index, const char *name) {
	Elf64_Sym symbol;
	if (!read_in(space, module, module->symbols + index * sizeof(symbol), &symbol,
		     sizeof(symbol)) ||
	    symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS ||
	    ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
	    ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ||
	    !is_named(space, module, symbol.st_name, name))
		return 0;
	uint64_t address = module->bias + symbol.st_value;
	const mw_map_t *map = mw_address_space_at(space, address);
	return address >= module->start && address < module->limit && map != NULL && map->is_code
		       ? address
		       : 0;
}

static uint64_t find_gnu(const mw_address_space_t *space, const mw_module_t *module,
			 const char *name) {
	struct {
		uint32_t buckets, first, filter_words, shift;
	} table;
	uint32_t hash = 5381, index, of_chain;
	for (const char *at = name; *at != '\0'; at++)
		hash = hash * 33 + (uint8_t)*at;
	if (!read_in(space, module, module->gnu_hash, &table, sizeof(table)) || table.buckets == 0)
		return 0;
	uint64_t buckets = module->gnu_hash + sizeof(table) + 8 * (uint64_t)table.filter_words;
	uint64_t chains = buckets + 4 * (uint64_t)table.buckets;
	if (!read_in(space, module, buckets + 4 * (uint64_t)(hash % table.buckets), &index,
		     sizeof(index)) ||
	    index < table.first)
		return 0;
	for (unsigned steps = 0; steps < CHAIN_MAX; steps++, index++) {
		if (!read_in(space, module, chains + 4 * (uint64_t)(index - table.first), &of_chain,
			     sizeof(of_chain)))
			return 0;
		uint64_t address =
			(of_chain | 1) == (hash | 1) ? function_at(space, module, index, name) : 0;
		if (address != 0 || (of_chain & 1) != 0)
			return address;
	}
	return 0;
}

static uint64_t find_old(const mw_address_space_t *space, const mw_module_t *module,
			 const char *name) {
	struct {
		uint32_t buckets, chains;
	} table;
	uint32_t hash = 0, index;
	for (const char *at = name; *at != '\0'; at++) {
		hash = (hash << 4) + (uint8_t)*at;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	if (!read_in(space, module, module->hash, &table, sizeof(table)) || table.buckets == 0)
		return 0;
	uint64_t buckets = module->hash + sizeof(table);
	uint64_t chains = buckets + 4 * (uint64_t)table.buckets;
	if (!read_in(space, module, buckets + 4 * (uint64_t)(hash % table.buckets), &index,
		     sizeof(index)))
		return 0;
	for (unsigned steps = 0; steps < CHAIN_MAX && index != 0 && index < table.chains; steps++) {
		uint64_t address = function_at(space, module, index, name);
		if (address != 0)
			return address;
		if (!read_in(space, module, chains + 4 * (uint64_t)index, &index, sizeof(index)))
			return 0;
	}
	return 0;
}

uint64_t mw_module_function(const mw_address_space_t *space, const mw_module_t *module,
			    const char *name) {
	if (module->symbols == 0 || module->names.bytes == 0)
		return 0;
	if (module->gnu_hash != 0)
		return find_gnu(space, module, name);
	return module->hash != 0 ? find_old(space, module, name) : 0;
}

uint64_t mw_modules_function(const mw_address_space_t *space, const mw_modules_t *modules,
			     const char *name, const mw_module_t **module) {
	for (size_t i = 0; i < modules->count; i++) {
		uint64_t address = mw_module_function(space, &modules->items[i], name);
		if (address == 0)
			continue;
		*module = &modules->items[i];
		return address;
	}
	*module = NULL;
	return 0;
}
