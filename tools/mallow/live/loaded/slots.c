/* SPDX-License-Identifier: MIT
 * slots.c -- reads the relocations of each module. */
#include "live/loaded/slots.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "model/memory.h"

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, DATA_SLOT = R_X86_64_GLOB_DAT, ADDRESS = R_X86_64_64 };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, DATA_SLOT = R_AARCH64_GLOB_DAT, ADDRESS = R_AARCH64_ABS64 };
#endif

/* Relocations read at a time; the largest tables that are read, those of a browser are 40 MiB. */
enum { BATCH = 1024, TABLE_MAX_BYTES = 256 << 20 };
/* No name in mw_attach_symbols is longer. */
enum { NAME_BYTES = 48 };

/* A module that is read. */
typedef struct reading {
	const mw_address_space_t *space;
	const mw_module_t *module;
	const mw_allocator_t *allocator;
	mw_slots_t *out;
	/* Symbol that was looked at last for each remainder of its number: many relocations name
	 * few symbols. */
	struct seen {
		uint64_t symbol; /* + 1 */
		unsigned function;
	} seen[256];
	/* A slot of the module is bound to another allocator's function. */
	bool is_mixed;
} reading_t;

/* Returns mw_attach_function_t of the symbol, or MW_ATTACH_FUNCTION_COUNT. */
static unsigned function_of(const reading_t *r, uint64_t index) {
	const mw_module_t *module = r->module;
	Elf64_Sym symbol;
	char name[NAME_BYTES] = "";
	uint64_t at = module->symbols + index * sizeof(symbol);
	if (at < module->start || at > module->limit - sizeof(symbol) ||
	    !mw_address_space_read(r->space, at, &symbol, sizeof(symbol)) ||
	    symbol.st_name >= module->names.bytes)
		return MW_ATTACH_FUNCTION_COUNT;
	uint64_t bytes = module->names.bytes - symbol.st_name;
	bytes = bytes < sizeof(name) ? bytes : sizeof(name);
	if (!mw_address_space_read(r->space, module->names.address + symbol.st_name, name,
				   (size_t)bytes) ||
	    memchr(name, '\0', (size_t)bytes) == NULL)
		return MW_ATTACH_FUNCTION_COUNT;
	for (unsigned i = 0; i < MW_ATTACH_FUNCTION_COUNT; i++)
		if (r->allocator->functions[i] != 0 && strcmp(name, mw_attach_symbols[i]) == 0)
			return i;
	return MW_ATTACH_FUNCTION_COUNT;
}

static unsigned function_by_symbol(reading_t *r, uint64_t index) {
	struct seen *seen = &r->seen[index % (sizeof(r->seen) / sizeof(r->seen[0]))];
	if (seen->symbol != index + 1)
		*seen = (struct seen){index + 1, function_of(r, index)};
	return seen->function;
}

/* Returns whether the dynamic linker closes the page once the module is relocated. */
static bool is_closed_later(const reading_t *r, uint64_t address) {
	const mw_module_table_t *relro = &r->module->relro;
	return address >= relro->address && address - relro->address < relro->bytes;
}

/* Returns the mapping of a slot; NULL: it may not be written, because it is not private memory of
 * the module. A module's zeroed data has no file. */
static const mw_map_t *map_of_slot(const reading_t *r, uint64_t address) {
	const mw_module_t *module = r->module;
	const mw_map_t *map = mw_address_space_at(r->space, address);
	if (address % 8 != 0 || address < module->start || address > module->limit - 8 ||
	    map == NULL || map->is_shared || map->is_code || !map->is_readable ||
	    (map->inode != 0 &&
	     (map->inode != module->first->inode || map->device != module->first->device)))
		return NULL;
	return map->is_writable || is_closed_later(r, address) ? map : NULL;
}

static bool is_code(const reading_t *r, uint64_t address) {
	const mw_map_t *map = mw_address_space_at(r->space, address);
	return map != NULL && map->is_code;
}

static bool is_own_code(const reading_t *r, uint64_t address) {
	return address >= r->module->start && address < r->module->limit && is_code(r, address);
}

static void take_slot(reading_t *r, uint64_t address, unsigned function, bool is_jump) {
	mw_slots_t *out = r->out;
	const mw_map_t *map = map_of_slot(r, address);
	uint64_t value;
	if (map == NULL || !mw_address_space_read(r->space, address, &value, sizeof(value)) ||
	    out->count == MW_ATTACH_SLOTS_MAX) {
		out->left_out++;
		return;
	}
	if (map->is_writable && is_closed_later(r, address)) {
		out->early++;
		return;
	}
	bool is_bound = value == r->allocator->functions[function];
	if (!is_bound && !(is_jump && is_own_code(r, value))) {
		out->others++;
		r->is_mixed |= function != MW_ATTACH_dlopen && function != MW_ATTACH_prctl &&
			       is_code(r, value) && !is_own_code(r, value);
		return;
	}
	out->unbound += !is_bound;
	out->items = mw_grow(out->items, &out->capacity, out->count + 1, sizeof(*out->items));
	out->items[out->count++] = (mw_attach_slot_t){
		.address = address,
		.original = value,
		.function = function,
		.protection = PROT_READ | (map->is_writable ? PROT_WRITE : 0),
	};
}

static void read_table(reading_t *r, const mw_module_table_t *table) {
	static _Thread_local Elf64_Rela batch[BATCH];
	uint64_t count = table->bytes / sizeof(batch[0]);
	if (table->bytes > TABLE_MAX_BYTES) {
		r->out->left_out++;
		return;
	}
	for (uint64_t at = 0; at < count;) {
		uint64_t now = count - at < BATCH ? count - at : BATCH;
		if (!mw_address_space_read(r->space, table->address + at * sizeof(batch[0]), batch,
					   (size_t)now * sizeof(batch[0]))) {
			r->out->left_out++;
			return;
		}
		for (uint64_t i = 0; i < now; i++) {
			uint64_t type = ELF64_R_TYPE(batch[i].r_info);
			uint64_t symbol = ELF64_R_SYM(batch[i].r_info);
			if (symbol == 0 || (type == ADDRESS && batch[i].r_addend != 0) ||
			    (type != JUMP_SLOT && type != DATA_SLOT && type != ADDRESS))
				continue;
			unsigned function = function_by_symbol(r, symbol);
			if (function < MW_ATTACH_FUNCTION_COUNT)
				take_slot(r, r->module->bias + batch[i].r_offset, function,
					  type == JUMP_SLOT);
		}
		at += now;
	}
}

/* Slots of the module that are not bound yet would be bound to the other allocator's functions, too
 * (RTLD_DEEPBIND): a block must not be freed by the one that did not allocate it. */
static void leave_unbound(const reading_t *r, size_t first) {
	mw_slots_t *out = r->out;
	size_t kept = first;
	for (size_t i = first; i < out->count; i++)
		if (out->items[i].original == r->allocator->functions[out->items[i].function])
			out->items[kept++] = out->items[i];
	out->others += out->count - kept;
	out->unbound -= out->count - kept;
	out->count = kept;
}

void mw_slots_find(const mw_address_space_t *space, const mw_modules_t *modules,
		   const mw_allocator_t *allocator, mw_slots_t *out) {
	*out = (mw_slots_t){0};
	for (size_t i = 0; i < modules->count; i++) {
		reading_t reading = {space, &modules->items[i], allocator, out, {{0, 0}}, false};
		size_t before = out->count;
		if (modules->items[i].symbols == 0 || modules->items[i].names.bytes == 0)
			continue;
		read_table(&reading, &modules->items[i].jumps);
		read_table(&reading, &modules->items[i].data);
		if (reading.is_mixed)
			leave_unbound(&reading, before);
		out->modules += out->count > before;
	}
}

void mw_slots_free(mw_slots_t *slots) {
	free(slots->items);
	*slots = (mw_slots_t){0};
}
