/* SPDX-License-Identifier: MIT
 * module_elf.c -- reads the program headers and the build-id note of a loaded object. */
#include "prof/modules/module_elf.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/libc_text.h"
#include "os/unwind/object.h"

/* Objects have about ten segments. A header with more than this is not one. */
#define SEGMENTS_MAX 256u

typedef struct object {
	uintptr_t map_start, map_limit, bias;
	const ElfW(Phdr) * segments;
	unsigned segment_count;
} object_t;

static MW_NOINLINE bool find_segments(object_t *object) {
	/* The loader has checked the header of an object. This check is for memory that is no
	 * object. */
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)object->map_start;
	if (object->map_limit - object->map_start < sizeof *header ||
	    !mw_same_bytes(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phnum > SEGMENTS_MAX)
		return false;
	uint64_t table_bytes = (uint64_t)header->e_phnum * sizeof(ElfW(Phdr));
	if (header->e_phoff > object->map_limit - object->map_start ||
	    table_bytes > object->map_limit - object->map_start - header->e_phoff)
		return false;
	object->segments = (const ElfW(Phdr) *)(object->map_start + header->e_phoff);
	object->segment_count = header->e_phnum;
	/* Searches the segment that begins with the header: the program headers must lie in it. */
	for (unsigned i = 0; i < object->segment_count; i++) {
		const ElfW(Phdr) *segment = &object->segments[i];
		if (segment->p_type != PT_LOAD || segment->p_offset != 0)
			continue;
		object->bias = object->map_start - segment->p_vaddr;
		return header->e_phoff + table_bytes <= segment->p_filesz;
	}
	return false;
}

/* Returns whether [address, address + bytes) is mapped and readable. */
static bool is_readable(const object_t *object, uintptr_t address, uint64_t bytes) {
	if (address < object->map_start || address >= object->map_limit ||
	    bytes > object->map_limit - address)
		return false;
	for (unsigned i = 0; i < object->segment_count; i++) {
		const ElfW(Phdr) *segment = &object->segments[i];
		uintptr_t start = segment->p_vaddr + object->bias;
		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) && address >= start &&
		    bytes <= segment->p_memsz && address - start <= segment->p_memsz - bytes)
			return true;
	}
	return false;
}

/* Returns the object's build-id; NULL: it has none. */
static const char *find_build_id(const object_t *object, uint32_t *id_bytes) {
	const char *id = NULL;
	for (unsigned i = 0; i < object->segment_count && !id; i++) {
		const ElfW(Phdr) *segment = &object->segments[i];
		uintptr_t start = segment->p_vaddr + object->bias;
		if (segment->p_type == PT_NOTE && is_readable(object, start, segment->p_memsz))
			id = mw_os_object_build_id((const char *)start, segment->p_memsz, id_bytes);
	}
	return id;
}

static void read_build_id(const object_t *object, mw_state_module_t *module) {
	uint32_t id_bytes;
	const char *id = find_build_id(object, &id_bytes);
	if (!id || id_bytes > sizeof module->build_id)
		return;
	module->build_id_bytes = (uint8_t)id_bytes;
	memcpy(module->build_id, id, id_bytes);
}

bool mw_module_read_elf(uintptr_t map_start, uintptr_t map_limit, mw_state_module_t *module) {
	object_t object = {.map_start = map_start, .map_limit = map_limit};
	if (!find_segments(&object))
		return false;
	module->bias = object.bias;
	read_build_id(&object, module);
	for (unsigned i = 0; i < object.segment_count; i++) {
		const ElfW(Phdr) *segment = &object.segments[i];
		uintptr_t start = segment->p_vaddr + object.bias;
		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		/* The kernel maps whole pages. */
		uintptr_t within = segment->p_vaddr & (MW_STATE_PAGE_BYTES - 1);
		if (module->start == 0) {
			module->start = start - within;
			module->file_offset = segment->p_offset - within;
		}
		/* A second executable segment is rare; the bias holds for it as well. */
		module->limit = (start + segment->p_memsz + MW_STATE_PAGE_BYTES - 1) &
				~(uintptr_t)(MW_STATE_PAGE_BYTES - 1);
	}
	return module->start != 0;
}

/* ---- stamps ---- */

/* Of a longer range the first bytes and WINDOWS evenly spread windows are read. The loader and the
 * unwinder read the same tables, so that no page is read that nobody needs. */
#define WHOLE_BYTES 8192u
#define WINDOWS 64u
#define WINDOW_BYTES 64u

static uint64_t mix_bytes(uint64_t hash, const char *bytes, uint64_t count) {
	uint64_t word;
	for (; count >= sizeof word; count -= sizeof word, bytes += sizeof word) {
		memcpy(&word, bytes, sizeof word);
		hash = mw_module_mix(hash, word);
	}
	word = count;
	memcpy(&word, bytes, count);
	return mw_module_mix(hash, word ^ count << 56);
}

static uint64_t mix_range(uint64_t hash, const object_t *object, uintptr_t start, uint64_t bytes) {
	if (!is_readable(object, start, bytes))
		return mw_module_mix(hash, bytes);
	const char *range = (const char *)start;
	if (bytes <= WHOLE_BYTES)
		return mix_bytes(hash, range, bytes);
	hash = mix_bytes(hash, range, WHOLE_BYTES / 2);
	uint64_t step = (bytes - WINDOW_BYTES) / WINDOWS;
	for (uint64_t i = 1; i <= WINDOWS; i++)
		hash = mix_bytes(hash, range + i * step, WINDOW_BYTES);
	return mw_module_mix(hash, bytes);
}

/* Mixes the dynamic symbols and their names in. Linkers write the names behind the symbols. */
static uint64_t mix_symbols(uint64_t hash, const object_t *object, const ElfW(Dyn) * dynamic) {
	uintptr_t symbols = 0, names = 0, name_bytes = 0;
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_SYMTAB)
			symbols = dynamic->d_un.d_ptr;
		else if (dynamic->d_tag == DT_STRTAB)
			names = dynamic->d_un.d_ptr;
		else if (dynamic->d_tag == DT_STRSZ)
			name_bytes = dynamic->d_un.d_val;
	}
	/* The loader adds the bias on most machines. */
	if (symbols < object->map_start)
		symbols += object->bias;
	if (names < object->map_start)
		names += object->bias;
	if (names > symbols)
		hash = mix_range(hash, object, symbols, names - symbols);
	return mix_range(hash, object, names, name_bytes);
}

static uint64_t mix_functions(uint64_t hash, const object_t *object) {
	for (unsigned i = 0; i < object->segment_count; i++)
		if (object->segments[i].p_type == PT_GNU_EH_FRAME)
			hash = mix_range(hash, object, object->segments[i].p_vaddr + object->bias,
					 object->segments[i].p_memsz);
	return hash;
}

uint64_t mw_module_stamp(uintptr_t map_start, uintptr_t map_limit,
			 const struct link_map *link_map) {
	object_t object = {.map_start = map_start, .map_limit = map_limit};
	if (!find_segments(&object))
		return 0;
	uint32_t id_bytes;
	const char *id = find_build_id(&object, &id_bytes);
	if (id)
		return mix_bytes(1, id, id_bytes);
	uint64_t hash = mix_functions(2, &object);
	if (link_map) {
		hash = mix_bytes(hash, link_map->l_name, mw_strlen(link_map->l_name));
		if (link_map->l_ld) /* a static program has no dynamic section */
			hash = mix_symbols(hash, &object, link_map->l_ld);
	}
	return hash;
}
