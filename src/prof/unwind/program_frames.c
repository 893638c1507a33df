/* SPDX-License-Identifier: MIT
 * program_frames.c -- finds .eh_frame by the section headers of the program's file. */
#include "prof/unwind/program_frames.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "os/file/file.h"
#include "os/memory/map.h"
#include "os/unwind/object.h"
#include "prof/unwind/cfi/cfi_index.h"

/* Most section headers that are read. A program compiled with a section for each function has a few
 * dozen when it is linked. */
#define SECTIONS_MAX 4096u

/* Written by mw_program_frames_start(), before threads exist; read-only afterwards. */
static struct program_index {
	mw_cfi_area_t frames;
	const mw_cfi_index_entry_t *entries;
	uint32_t count;
	size_t mapped_bytes;
} program_index;

static MW_COLD bool read_whole(int file, void *buffer, size_t bytes, uint64_t offset_bytes) {
	return mw_os_read_at(file, buffer, bytes, offset_bytes) == (long)bytes;
}

/* Returns whether the section is .eh_frame. `names`: the section with all names. */
static MW_COLD bool is_eh_frame(int file, const ElfW(Shdr) * section, const ElfW(Shdr) * names) {
	static const char wanted[] = ".eh_frame";
	char name[sizeof wanted];
	return section->sh_flags & SHF_ALLOC && section->sh_type != SHT_NOBITS &&
	       section->sh_size > 0 && section->sh_name < names->sh_size &&
	       names->sh_size - section->sh_name >= sizeof name &&
	       read_whole(file, name, sizeof name, names->sh_offset + section->sh_name) &&
	       mw_same_bytes(name, wanted, sizeof name);
}

/* Finds the section header of .eh_frame. */
static MW_COLD bool find_section(int file, ElfW(Shdr) * section) {
	ElfW(Ehdr) elf;
	ElfW(Shdr) names;
	if (!read_whole(file, &elf, sizeof elf, 0) ||
	    !mw_same_bytes(elf.e_ident, ELFMAG, SELFMAG) || elf.e_shentsize != sizeof names ||
	    elf.e_shnum > SECTIONS_MAX || elf.e_shstrndx >= elf.e_shnum ||
	    !read_whole(file, &names, sizeof names, elf.e_shoff + elf.e_shstrndx * sizeof names))
		return false;
	for (unsigned i = 0; i < elf.e_shnum; i++)
		if (read_whole(file, section, sizeof *section, elf.e_shoff + i * sizeof *section) &&
		    is_eh_frame(file, section, &names))
			return true;
	return false;
}

/* Returns whether the file provides these bytes of the program in one readable segment. */
static MW_COLD bool is_readable(const mw_os_program_t *program, uintptr_t lo, uint64_t bytes) {
	for (unsigned i = 0; i < program->header_count; i++) {
		const ElfW(Phdr) *segment = &program->headers[i];
		uintptr_t start = program->bias + segment->p_vaddr;
		if (segment->p_type == PT_LOAD && segment->p_flags & PF_R &&
		    lo - start < segment->p_filesz && bytes <= segment->p_filesz - (lo - start))
			return true;
	}
	return false;
}

static MW_COLD void make_index(const mw_os_program_t *program, const mw_cfi_area_t *frames) {
	uint32_t capacity = mw_cfi_index_capacity(frames);
	size_t bytes =
		mw_round_up((size_t)capacity * sizeof(mw_cfi_index_entry_t), MW_OS_PAGE_BYTES);
	mw_cfi_index_entry_t *entries = capacity ? mw_os_map(bytes) : NULL;
	if (!entries)
		return;
	program_index.count =
		mw_cfi_index_fill(frames, program->start, program->limit, entries, capacity);
	program_index.frames = *frames;
	program_index.entries = entries;
	program_index.mapped_bytes = bytes;
	mw_os_object_set_program_tables((uintptr_t)frames->lo, (uintptr_t)frames->hi);
}

/* The program's segments stay mapped while it runs, and so does its unwind information. */
static MW_COLD void find_frames(const mw_os_program_t *program) {
	ElfW(Shdr) section;
	int file = mw_os_open(MW_OS_NO_DIRECTORY, "/proc/self/exe", MW_OS_READ);
	if (file < 0)
		return;
	bool found = find_section(file, &section);
	mw_os_close(file);
	uintptr_t lo = program->bias + section.sh_addr;
	if (found && is_readable(program, lo, section.sh_size))
		make_index(program, &(mw_cfi_area_t){(const uint8_t *)lo,
						     (const uint8_t *)lo + section.sh_size});
}

void mw_program_frames_start(void) {
	const mw_os_program_t *program = mw_os_object_program();
	for (unsigned i = 0; i < program->header_count; i++)
		if (program->headers[i].p_type == PT_GNU_EH_FRAME)
			return;
	program_index = (struct program_index){.count = 0};
	if (program->header_count > 0)
		find_frames(program);
}

const uint8_t *mw_program_frames_search(uintptr_t pc) {
	return mw_cfi_index_search(&program_index.frames, program_index.entries,
				   program_index.count, pc);
}

uint64_t mw_program_frames_memory_bytes(void) {
	return program_index.mapped_bytes;
}

MW_COLD void mw_program_frames_visit_memory(void (*see)(uintptr_t start, uintptr_t limit)) {
	uintptr_t start = (uintptr_t)program_index.entries;
	if (start)
		see(start, start + program_index.mapped_bytes);
}
