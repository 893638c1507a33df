/* SPDX-License-Identifier: MIT
 * module_elf.c -- reads the program headers and the build-id note of a loaded object. */
#include "prof/modules/module_elf.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/bits.h"
#include "os/unwind/object.h"

/* Objects have about ten segments. A header with more than this is not one. */
#define SEGMENTS_MAX 256u

typedef struct object {
	uintptr_t map_start, map_limit, bias;
	const ElfW(Phdr) * segments;
	unsigned segment_count;
} object_t;

static bool find_segments(object_t *object) {
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
	for (unsigned i = 0; i < object->segment_count; i++) {
		const ElfW(Phdr) *segment = &object->segments[i];
		uintptr_t start = segment->p_vaddr + object->bias;
		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) && address >= start &&
		    bytes <= segment->p_memsz && address - start <= segment->p_memsz - bytes)
			return true;
	}
	return false;
}

static void read_note(const char *notes, uint64_t bytes, mw_state_module_t *module) {
	uint32_t id_bytes;
	const char *id = mw_os_object_build_id(notes, bytes, &id_bytes);
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
	for (unsigned i = 0; i < object.segment_count; i++) {
		const ElfW(Phdr) *segment = &object.segments[i];
		uintptr_t start = segment->p_vaddr + object.bias;
		if (segment->p_type == PT_NOTE && module->build_id_bytes == 0 &&
		    is_readable(&object, start, segment->p_memsz))
			read_note((const char *)start, segment->p_memsz, module);
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
