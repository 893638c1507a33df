/* SPDX-License-Identifier: MIT
 * loaded_symbol.c -- reads the hash tables of loaded objects (ELF gABI; the GNU table by the format
 * that binutils and glibc share). */
#include "os/platform/loaded_symbol.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/libc_text.h"

#define WORD_BITS (8 * sizeof(ElfW(Addr)))
/* Set in a symbol's version if it is not the default one. */
#define VERSION_HIDDEN 0x8000u

/* The dynamic section of an object, as far as a search needs it. NULL: missing. */
typedef struct dynamic {
	uintptr_t bias;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash, *hash;
	const ElfW(Half) * versions;
	const ElfW(Rela) * relocations; /* of data */
	size_t relocation_bytes;
	bool is_thread_local; /* thread-local symbols are searched, and no others */
} dynamic_t;

typedef struct search {
	const char *names;
	size_t stride, count;
	void **found;
	bool skips; /* objects are passed over until this code's object has been */
} search_t;

/* The dynamic linker has added the bias to the entries, except in sections that it cannot write. */
static const void *pointer(uintptr_t bias, uintptr_t value) {
	return (const void *)(value < bias ? value + bias : value);
}

static bool read_entries(uintptr_t bias, const ElfW(Dyn) * entry, dynamic_t *dynamic) {
	*dynamic = (dynamic_t){.bias = bias};
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		const void *value = pointer(dynamic->bias, entry->d_un.d_ptr);
		if (entry->d_tag == DT_SYMTAB)
			dynamic->symbols = value;
		else if (entry->d_tag == DT_STRTAB)
			dynamic->strings = value;
		else if (entry->d_tag == DT_GNU_HASH)
			dynamic->gnu_hash = value;
		else if (entry->d_tag == DT_HASH)
			dynamic->hash = value;
		else if (entry->d_tag == DT_VERSYM)
			dynamic->versions = value;
		else if (entry->d_tag == DT_RELA)
			dynamic->relocations = value;
		else if (entry->d_tag == DT_RELASZ)
			dynamic->relocation_bytes = entry->d_un.d_val;
	}
	return dynamic->symbols && dynamic->strings;
}

static bool read_dynamic(const struct dl_phdr_info *info, dynamic_t *dynamic) {
	const ElfW(Dyn) *entry = NULL;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return read_entries(info->dlpi_addr, entry, dynamic);
}

static const ElfW(Sym) * symbol_if(const dynamic_t *dynamic, uint32_t index, const char *name) {
	const ElfW(Sym) *symbol = &dynamic->symbols[index];
	unsigned type = symbol->st_info & 0xf;
	bool is_address = symbol->st_value != 0 &&
			  (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE);
	bool is_usable = symbol->st_shndx != SHN_UNDEF &&
			 (dynamic->is_thread_local ? type == STT_TLS : is_address) &&
			 !(dynamic->versions && (dynamic->versions[index] & VERSION_HIDDEN));
	if (!is_usable || mw_strcmp(dynamic->strings + symbol->st_name, name) != 0)
		return NULL;
	return symbol;
}

static const ElfW(Sym) * find_by_gnu_hash(const dynamic_t *dynamic, const char *name) {
	const uint32_t *table = dynamic->gnu_hash;
	uint32_t buckets = table[0], first = table[1], words = table[2], shift = table[3];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(table + 4);
	const uint32_t *bucket = (const uint32_t *)(bloom + words), *chain = bucket + buckets;
	uint32_t hash = 5381;
	for (const char *letter = name; *letter; letter++)
		hash = hash * 33 + (unsigned char)*letter;
	if (buckets == 0 || words == 0)
		return NULL;
	ElfW(Addr) word = bloom[hash / WORD_BITS % words];
	if (!(word >> hash % WORD_BITS & word >> (hash >> shift) % WORD_BITS & 1))
		return NULL;
	uint32_t index = bucket[hash % buckets];
	if (index < first)
		return NULL;
	for (;; index++) {
		uint32_t other = chain[index - first];
		const ElfW(Sym) *symbol =
			(other | 1) == (hash | 1) ? symbol_if(dynamic, index, name) : NULL;
		if (symbol || (other & 1)) /* the last one of the bucket */
			return symbol;
	}
}

/* Libraries that have only the old table are few: all their symbols are compared. */
static MW_COLD const ElfW(Sym) * find_in_all(const dynamic_t *dynamic, const char *name) {
	uint32_t count = dynamic->hash ? dynamic->hash[1] : 0;
	const ElfW(Sym) *symbol = NULL;
	for (uint32_t index = 1; index < count && !symbol; index++)
		symbol = symbol_if(dynamic, index, name);
	return symbol;
}

static const ElfW(Sym) * find_in(const dynamic_t *dynamic, const char *name) {
	return dynamic->gnu_hash ? find_by_gnu_hash(dynamic, name) : find_in_all(dynamic, name);
}

mw_os_symbol_t mw_os_find_symbol_of(const struct link_map *object, const char *name) {
	dynamic_t dynamic;
	const ElfW(Sym) *symbol = read_entries(object->l_addr, object->l_ld, &dynamic)
					  ? find_in(&dynamic, name)
					  : NULL;
	return symbol ? (mw_os_symbol_t){.start = object->l_addr + symbol->st_value,
					 .bytes = symbol->st_size}
		      : (mw_os_symbol_t){.start = 0};
}

/* The linker of the object leaves a pair of words for the variable. The dynamic linker has filled
 * in the first one, the number of the block. */
bool mw_os_find_thread_local_of(const struct link_map *object, const char *name,
				mw_os_thread_local_t *found) {
#if defined(__x86_64__)
	dynamic_t dynamic;
	if (!read_entries(object->l_addr, object->l_ld, &dynamic) || !dynamic.relocations)
		return false;
	dynamic.is_thread_local = true;
	const ElfW(Sym) *symbol = find_in(&dynamic, name);
	for (size_t i = 0; symbol && i < dynamic.relocation_bytes / sizeof(ElfW(Rela)); i++) {
		const ElfW(Rela) *relocation = &dynamic.relocations[i];
		if (ELF64_R_TYPE(relocation->r_info) != R_X86_64_DTPMOD64 ||
		    &dynamic.symbols[ELF64_R_SYM(relocation->r_info)] != symbol)
			continue;
		*found = (mw_os_thread_local_t){
			.module = *(const size_t *)(object->l_addr + relocation->r_offset),
			.offset = symbol->st_value};
		return found->module != 0;
	}
#else
	(void)object, (void)name, (void)found;
#endif
	return false;
}

/* The second word of a thread's control block leads to its blocks ("ELF Handling For Thread-Local
 * Storage", variant II). */
uintptr_t mw_os_thread_local_address(const mw_os_thread_local_t *variable) {
#if defined(__x86_64__)
	const uintptr_t *blocks = ((const uintptr_t **)__builtin_thread_pointer())[1];
#if defined(__GLIBC__)
	/* Two words for each block. Before them is the number of places, of which one is no
	 * block. */
	uintptr_t block = variable->module <= blocks[-2] ? blocks[2 * variable->module] : 0;
	if (block == UINTPTR_MAX) /* not allocated yet */
		return 0;
#else
	uintptr_t block = variable->module <= blocks[0] ? blocks[variable->module] : 0;
#endif
	return block ? block + variable->offset : 0;
#else
	(void)variable;
	return 0;
#endif
}

static int search_object(struct dl_phdr_info *info, size_t info_bytes, void *argument) {
	(void)info_bytes;
	search_t *search = argument;
	dynamic_t dynamic;
	bool all = true;
	if (search->skips) {
		search->skips = !mw_os_object_contains(info, (uintptr_t)mw_os_find_symbols);
		return 0;
	}
	if (!read_dynamic(info, &dynamic))
		return 0;
	for (size_t i = 0; i < search->count; i++) {
		const char *name = search->names + i * search->stride;
		const ElfW(Sym) *symbol = search->found[i] ? NULL : find_in(&dynamic, name);
		if (symbol)
			search->found[i] = (void *)(dynamic.bias + symbol->st_value);
		all &= search->found[i] != NULL;
	}
	return all; /* ends the visit */
}

void mw_os_find_symbols(const char *names, size_t stride, size_t count, void **found,
			bool behind_own) {
	search_t search = {.names = names,
			   .stride = stride,
			   .count = count,
			   .found = found,
			   .skips = behind_own};
	int saved_errno = errno;
	dl_iterate_phdr(search_object, &search);
	errno = saved_errno;
}
