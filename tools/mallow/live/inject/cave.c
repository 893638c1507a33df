/* SPDX-License-Identifier: MIT
 * cave.c -- looks at the program headers of each file that is mapped as code. */
#include "live/inject/cave.h"

#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

enum { HEADERS_MAX = 64, CODE_MAX_BYTES = 4096, ALIGN = 16 };

/* Returns the mapping that holds the first bytes of the file; NULL: none right below. */
static const mw_map_t *first_of_file(const mw_address_space_t *space, const mw_map_t *map) {
	while (map->offset != 0) {
		if (map == space->maps || map[-1].inode != map->inode ||
		    map[-1].device != map->device)
			return NULL;
		map--;
	}
	return map;
}

/* Returns where the segment ends that holds the end of this mapping, if it holds no zeroed data. */
static uint64_t code_end(const mw_address_space_t *space, const mw_map_t *map) {
	const mw_map_t *first = first_of_file(space, map);
	Elf64_Ehdr header;
	Elf64_Phdr segments[HEADERS_MAX];
	uint64_t bias = 0;
	if (first == NULL || !first->is_readable ||
	    !mw_address_space_read(space, first->start, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(segments[0]) ||
	    header.e_phnum > HEADERS_MAX || header.e_phoff > first->limit - first->start ||
	    !mw_address_space_read(space, first->start + header.e_phoff, segments,
				   header.e_phnum * sizeof(segments[0])))
		return 0;
	for (unsigned i = 0; i < header.e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0)
			bias = first->start - segments[i].p_vaddr;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		const Elf64_Phdr *s = &segments[i];
		uint64_t end = bias + s->p_vaddr + s->p_memsz;
		if (s->p_type == PT_LOAD && (s->p_flags & PF_X) != 0 && s->p_filesz == s->p_memsz &&
		    end > map->start && end <= map->limit)
			return end;
	}
	return 0;
}

/* Returns where the unused room of the mapping begins; 0: it has too little, or it is used. */
static uint64_t room_in(const mw_address_space_t *space, const mw_map_t *map, const uint8_t *code,
			size_t bytes, bool *has_code) {
	static const uint8_t zeros[CODE_MAX_BYTES];
	uint8_t there[CODE_MAX_BYTES];
	uint64_t end = code_end(space, map);
	uint64_t at = (end + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	if (end == 0 || at > map->limit || map->limit - at < bytes || map->limit - at >= 4096 ||
	    !mw_address_space_read(space, at, there, bytes))
		return 0;
	*has_code = memcmp(there, code, bytes) == 0;
	return *has_code || memcmp(there, zeros, bytes) == 0 ? at : 0;
}

uint64_t mw_cave_find(const mw_address_space_t *space, const uint8_t *code, size_t bytes,
		      bool *has_code) {
	uint64_t found = 0;
	for (size_t i = 0; i < space->count && bytes <= CODE_MAX_BYTES; i++) {
		const mw_map_t *map = &space->maps[i];
		bool is_there = false;
		if (map->inode == 0 || !map->is_code || map->is_writable || map->is_shared)
			continue;
		uint64_t at = room_in(space, map, code, bytes, &is_there);
		if (at == 0 || (found != 0 && !is_there))
			continue;
		found = at;
		*has_code = is_there;
		if (is_there)
			break;
	}
	return found;
}

bool mw_cave_write(int thread, uint64_t address, const uint8_t *code, size_t bytes) {
	for (size_t at = 0; at < bytes; at += sizeof(long)) {
		long word = 0;
		size_t rest = bytes - at < sizeof(word) ? bytes - at : sizeof(word);
		memcpy(&word, code + at, rest);
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): addresses and words of the process. */
		if (ptrace(PTRACE_POKETEXT, thread, (void *)(address + at), (void *)word) != 0)
			return false;
	}
	return true;
}
