/* SPDX-License-Identifier: MIT
 * library_entry.c -- reads program headers and notes of each loaded file, and compares code. */
#include "live/enter/library_entry.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "state/tool_entry.h"

/* More than loaded files have.  The rest is left out. */
enum { HEADERS_MAX = 64, NOTES_MAX_BYTES = 16384 };

/* The instruction by which the code calls the function that answers. */
#if defined(__x86_64__)
#define CALL ".byte 0xe8, 0, 0, 0, 0"
enum { CALL_BYTES = 5 };

/* Returns the address that an instruction at `address` calls; 0: it is no such call. */
static uint64_t called_by(const uint8_t *code, uint64_t address) {
	int32_t distance;
	memcpy(&distance, code + 1, sizeof(distance));
	return code[0] == 0xe8 ? address + CALL_BYTES + (uint64_t)(int64_t)distance : 0;
}
#elif defined(__aarch64__)
#define CALL "bl ."
enum { CALL_BYTES = 4 };

static uint64_t called_by(const uint8_t *code, uint64_t address) {
	uint32_t instruction;
	memcpy(&instruction, code, sizeof(instruction));
	int64_t words = (int32_t)(instruction << 6) >> 6;
	return instruction >> 26 == 0x25 ? address + (uint64_t)(words * 4) : 0;
}
#endif

/* The code that the command compares with, where nothing runs it. */
extern const uint8_t mw_entry_model[], mw_entry_model_call[], mw_entry_model_end[];
__asm__(".pushsection .rodata\n"
	".balign 4\n"
	".globl mw_entry_model, mw_entry_model_call, mw_entry_model_end\n"
	".hidden mw_entry_model, mw_entry_model_call, mw_entry_model_end\n"
	"mw_entry_model:\n" MW_TOOL_ENTRY_CODE("mw_entry_model_call: " CALL) "mw_entry_model_end:\n"
									     ".popsection\n");

enum { CODE_MAX_BYTES = 256 };

/* Returns whether the code at this address is the entry code, and calls a function of the file. */
static bool is_entry(const mw_address_space_t *space, const mw_map_t *file, uint64_t address) {
	uint8_t code[CODE_MAX_BYTES];
	size_t bytes = (size_t)(mw_entry_model_end - mw_entry_model);
	size_t call = (size_t)(mw_entry_model_call - mw_entry_model);
	size_t after = call + CALL_BYTES;
	const mw_map_t *map = mw_address_space_in_file(space, file, address, bytes);
	if (bytes > sizeof(code) || map == NULL || !map->is_code || map->is_writable ||
	    !mw_address_space_read(space, address, code, bytes) ||
	    memcmp(code, mw_entry_model, call) != 0 ||
	    memcmp(code + after, mw_entry_model + after, bytes - after) != 0)
		return false;
	uint64_t target = called_by(code + call, address + call);
	const mw_map_t *called =
		target != 0 ? mw_address_space_in_file(space, file, target, 1) : NULL;
	return called != NULL && called->is_code && !called->is_writable;
}

/* Returns whether the pointer at this address leads into the state file. */
static bool keeps_file(const mw_address_space_t *space, const mw_reach_t *reach, uint64_t address) {
	uint64_t words;
	if (reach->key.inode == 0)
		return true;
	if (!mw_address_space_read(space, address, &words, sizeof(words)))
		return false;
	const mw_map_t *map = mw_address_space_at(space, words);
	return map != NULL && map->is_shared && map->is_writable && map->inode == reach->key.inode;
}

/* Returns the address of the entry code that a note of mallow tells; 0: the note is another's, or
 * what it tells is not there. */
static uint64_t follow_note(mw_address_space_t *space, const mw_reach_t *reach,
			    const mw_map_t *file, uint64_t address, const mw_tool_note_t *note) {
	uint64_t entry = address + offsetof(mw_tool_note_t, entry_offset) +
			 (uint64_t)(int64_t)note->entry_offset;
	uint64_t words = address + offsetof(mw_tool_note_t, words_offset) +
			 (uint64_t)(int64_t)note->words_offset;
	if (!is_entry(space, file, entry) || !keeps_file(space, reach, words))
		return 0;
	space->blocks_have_guards = (note->flags & MW_TOOL_NOTE_GUARDS) != 0;
	return entry;
}

/* Rounds a size up to the alignment of notes, 4 or 8. */
static uint64_t padded(uint64_t bytes, uint64_t align) {
	return (bytes + align - 1) & ~(align - 1);
}

/* Looks for mallow's note in a segment of notes. */
static uint64_t find_in_notes(mw_address_space_t *space, const mw_reach_t *reach,
			      const mw_map_t *file, uint64_t start, const Elf64_Phdr *segment) {
	_Alignas(Elf64_Nhdr) uint8_t notes[NOTES_MAX_BYTES];
	uint64_t bytes = segment->p_memsz < sizeof(notes) ? segment->p_memsz : sizeof(notes);
	uint64_t align = segment->p_align == 8 ? 8 : 4, entry = 0;
	if (mw_address_space_in_file(space, file, start, bytes) == NULL ||
	    !mw_address_space_read(space, start, notes, bytes))
		return 0;
	for (uint64_t at = 0; entry == 0 && at + sizeof(Elf64_Nhdr) <= bytes;) {
		Elf64_Nhdr header;
		memcpy(&header, notes + at, sizeof(header));
		uint64_t name = at + sizeof(header);
		uint64_t content = padded(name + header.n_namesz, align);
		uint64_t next = padded(content + header.n_descsz, align);
		if (content + header.n_descsz > bytes)
			break;
		if (header.n_type == MW_TOOL_NOTE_TYPE &&
		    header.n_namesz == sizeof(MW_TOOL_NOTE_OWNER) &&
		    header.n_descsz == sizeof(mw_tool_note_t) &&
		    memcmp(notes + name, MW_TOOL_NOTE_OWNER, header.n_namesz) == 0) {
			mw_tool_note_t note;
			memcpy(&note, notes + content, sizeof(note));
			entry = follow_note(space, reach, file, start + content, &note);
		}
		at = next;
	}
	return entry;
}

/* A static program has no dynamic section and nothing to relocate; musl leaves its pages open. */
static bool is_dynamic(const Elf64_Phdr *segments, size_t count) {
	size_t i = 0;
	while (i < count && segments[i].p_type != PT_DYNAMIC)
		i++;
	return i < count;
}

/* Returns whether the dynamic linker has relocated the file: before, a call of another function in
 * it leads nowhere. One without pages to close cannot be told. */
static bool is_relocated(const mw_address_space_t *space, const Elf64_Phdr *segments, size_t count,
			 uint64_t bias) {
	if (!is_dynamic(segments, count))
		return true;
	for (size_t i = 0; i < count; i++) {
		if (segments[i].p_type != PT_GNU_RELRO)
			continue;
		mw_module_table_t pages =
			mw_relro_pages(bias + segments[i].p_vaddr, segments[i].p_memsz);
		const mw_map_t *map = mw_address_space_at(space, pages.address);
		if (pages.bytes != 0 && (map == NULL || map->is_writable))
			return false;
	}
	return true;
}

/* Looks for mallow's note in a file whose first bytes are mapped here. */
static uint64_t find_in_file(mw_address_space_t *space, const mw_reach_t *reach,
			     const mw_map_t *file) {
	Elf64_Ehdr header;
	Elf64_Phdr segments[HEADERS_MAX];
	uint64_t entry = 0, bias = 0;
	if (!mw_address_space_read(space, file->start, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(segments[0]) ||
	    header.e_phnum > HEADERS_MAX || header.e_phoff > file->limit - file->start ||
	    !mw_address_space_read(space, file->start + header.e_phoff, segments,
				   header.e_phnum * sizeof(segments[0])))
		return 0;
	bool is_loaded = false;
	for (size_t i = 0; i < header.e_phnum && !is_loaded; i++) {
		is_loaded = segments[i].p_type == PT_LOAD && segments[i].p_offset == 0;
		bias = is_loaded ? file->start - segments[i].p_vaddr : 0;
	}
	is_loaded = is_loaded && is_relocated(space, segments, header.e_phnum, bias);
	for (size_t i = 0; i < header.e_phnum && is_loaded && entry == 0; i++)
		if (segments[i].p_type == PT_NOTE)
			entry = find_in_notes(space, reach, file, bias + segments[i].p_vaddr,
					      &segments[i]);
	return entry;
}

uint64_t mw_library_entry_find(mw_address_space_t *space, const mw_reach_t *reach) {
	uint64_t entry = 0;
	for (size_t i = 0; i < space->count && entry == 0; i++) {
		const mw_map_t *map = &space->maps[i];
		if (map->inode != 0 && map->offset == 0 && map->is_readable && !map->is_shared)
			entry = find_in_file(space, reach, map);
	}
	return entry;
}
