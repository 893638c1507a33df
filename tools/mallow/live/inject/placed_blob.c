/* SPDX-License-Identifier: MIT
 * placed_blob.c -- reads the ELF file of the blob. */
#include "live/inject/placed_blob.h"

#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "live/inject/injected.h"
#include "model/memory.h"

enum { HEADERS_MAX = 16, DYNAMIC_MAX = 64, PAGE_BYTES = 4096, NOTES_MAX_BYTES = 1024 };
/* Ten times what the blob takes. */
#define MEMORY_MAX_BYTES (UINT64_C(64) << 20)

/* The file is a part of this command. */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".globl mw_blob_file, mw_blob_file_end\n"
	".hidden mw_blob_file, mw_blob_file_end\n"
	"mw_blob_file: .incbin \"" MALLOW_ATTACH_BLOB "\"\n"
	"mw_blob_file_end:\n"
	".popsection\n");
extern const uint8_t mw_blob_file[], mw_blob_file_end[];

static uint64_t round_up(uint64_t bytes, uint64_t align) {
	return (bytes + align - 1) & ~(align - 1);
}

/* Takes sizes from the program headers.  False: they are not as expected. */
static bool take_segments(const Elf64_Phdr *segments, size_t count, mw_blob_t *out) {
	uint64_t code_end = 0;
	for (size_t i = 0; i < count; i++) {
		const Elf64_Phdr *s = &segments[i];
		if (s->p_type != PT_LOAD)
			continue;
		if (s->p_vaddr > MEMORY_MAX_BYTES || s->p_memsz > MEMORY_MAX_BYTES ||
		    s->p_filesz > s->p_memsz)
			return false;
		uint64_t file_end = s->p_vaddr + s->p_filesz;
		uint64_t end = round_up(s->p_vaddr + s->p_memsz, PAGE_BYTES);
		out->byte_count = file_end > out->byte_count ? file_end : out->byte_count;
		out->memory_bytes = end > out->memory_bytes ? end : out->memory_bytes;
		uint64_t data = s->p_vaddr & ~(uint64_t)(PAGE_BYTES - 1);
		if ((s->p_flags & PF_W) == 0)
			code_end = file_end > code_end ? file_end : code_end;
		else if (out->code_bytes == 0 || data < out->code_bytes)
			out->code_bytes = data;
	}
	return out->code_bytes >= code_end && code_end != 0 && out->byte_count >= out->code_bytes;
}

/* Finds the note in a segment of notes, which begins at `at` from the blob's first byte. */
static bool take_note(const uint8_t *notes, uint64_t bytes, uint64_t at, mw_attach_note_t *note,
		      uint64_t *note_at) {
	for (uint64_t k = 0; k + sizeof(Elf64_Nhdr) <= bytes;) {
		Elf64_Nhdr header;
		memcpy(&header, notes + k, sizeof(header));
		uint64_t name = k + sizeof(header);
		uint64_t content = round_up(name + header.n_namesz, 4);
		if (content > bytes || header.n_descsz > bytes - content)
			return false;
		if (header.n_type == MW_ATTACH_NOTE_TYPE &&
		    header.n_namesz == sizeof(MW_ATTACH_NOTE_OWNER) &&
		    header.n_descsz == sizeof(*note) &&
		    memcmp(notes + name, MW_ATTACH_NOTE_OWNER, header.n_namesz) == 0) {
			memcpy(note, notes + content, sizeof(*note));
			*note_at = at + content;
			return true;
		}
		k = round_up(content + header.n_descsz, 4);
	}
	return false;
}

/* Sets where entry code and work area are.  False: outside of the blob. */
static bool follow_note(const mw_attach_note_t *note, uint64_t note_at, uint64_t code_bytes,
			uint64_t memory_bytes, uint64_t *entry, uint64_t *work) {
	*entry = note_at + offsetof(mw_attach_note_t, entry_offset) +
		 (uint64_t)(int64_t)note->entry_offset;
	*work = note_at + offsetof(mw_attach_note_t, work_offset) +
		(uint64_t)(int64_t)note->work_offset;
	return *entry < code_bytes && *work >= code_bytes && *work < memory_bytes &&
	       memory_bytes - *work >= sizeof(mw_attach_work_t);
}

static bool relocate(uint64_t address, const Elf64_Phdr *dynamic, mw_blob_t *out) {
	uint64_t table = 0, bytes = 0;
	for (uint64_t at = dynamic->p_vaddr; at + sizeof(Elf64_Dyn) <= out->byte_count;
	     at += sizeof(Elf64_Dyn)) {
		Elf64_Dyn entry;
		memcpy(&entry, out->bytes + at, sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_RELA)
			table = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_RELASZ)
			bytes = entry.d_un.d_val;
	}
	if (table > out->byte_count || bytes > out->byte_count - table)
		return false;
	for (uint64_t at = table; at + sizeof(Elf64_Rela) <= table + bytes;
	     at += sizeof(Elf64_Rela)) {
		Elf64_Rela r;
		memcpy(&r, out->bytes + at, sizeof(r));
		uint64_t word = ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE
					? address + (uint64_t)r.r_addend
					: 0;
		if ((word == 0 && ELF64_R_TYPE(r.r_info) != R_X86_64_DTPMOD64) ||
		    r.r_offset > out->byte_count - sizeof(word))
			return false;
		memcpy(out->bytes + r.r_offset, &word, sizeof(word));
	}
	return true;
}

static bool lay_out(uint64_t address, mw_blob_t *out) {
	const uint8_t *file = mw_blob_file;
	uint64_t file_bytes = (uint64_t)(mw_blob_file_end - mw_blob_file);
	Elf64_Ehdr header;
	Elf64_Phdr segments[HEADERS_MAX];
	mw_attach_note_t note;
	uint64_t note_at = 0;
	bool has_note = false, is_relocated = true;
	if (file_bytes < sizeof(header))
		return false;
	memcpy(&header, file, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phnum > HEADERS_MAX ||
	    header.e_phoff > file_bytes - header.e_phnum * sizeof(segments[0]))
		return false;
	memcpy(segments, file + header.e_phoff, header.e_phnum * sizeof(segments[0]));
	if (!take_segments(segments, header.e_phnum, out))
		return false;
	out->bytes = mw_xcalloc(out->byte_count, 1);
	for (size_t i = 0; i < header.e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			memcpy(out->bytes + segments[i].p_vaddr, file + segments[i].p_offset,
			       segments[i].p_filesz);
	for (size_t i = 0; i < header.e_phnum; i++) {
		const Elf64_Phdr *s = &segments[i];
		if (s->p_type == PT_DYNAMIC)
			is_relocated = relocate(address, s, out);
		else if (s->p_type == PT_NOTE && !has_note)
			has_note = take_note(out->bytes + s->p_vaddr, s->p_filesz, s->p_vaddr,
					     &note, &note_at);
	}
	return is_relocated && has_note && note.version == MW_ATTACH_VERSION &&
	       follow_note(&note, note_at, out->code_bytes, out->memory_bytes, &out->entry,
			   &out->work);
}

int mw_blob_lay_out(uint64_t address, mw_blob_t *out, mw_error_t *error) {
	*out = (mw_blob_t){0};
	if (lay_out(address, out))
		return 0;
	return mw_error_set(error, "this command was built without the code that it would put "
				   "into a process");
}

void mw_blob_free(mw_blob_t *blob) {
	free(blob->bytes);
	*blob = (mw_blob_t){0};
}

/* Returns where memory ends that begins with this mapping: mappings without a file that follow each
 * other. */
static uint64_t memory_end(const mw_address_space_t *space, size_t index) {
	while (index + 1 < space->count &&
	       space->maps[index + 1].start == space->maps[index].limit &&
	       space->maps[index + 1].inode == 0)
		index++;
	return space->maps[index].limit;
}

static bool find_at(const mw_address_space_t *space, size_t index, mw_placed_blob_t *out) {
	const mw_map_t *map = &space->maps[index];
	uint8_t notes[NOTES_MAX_BYTES];
	Elf64_Ehdr header;
	Elf64_Phdr segments[HEADERS_MAX];
	mw_attach_note_t note;
	mw_blob_t sizes = {0};
	uint64_t note_at = 0;
	bool has_note = false;
	if (!mw_address_space_read(space, map->start, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phnum > HEADERS_MAX ||
	    header.e_phoff > PAGE_BYTES ||
	    !mw_address_space_read(space, map->start + header.e_phoff, segments,
				   header.e_phnum * sizeof(segments[0])) ||
	    !take_segments(segments, header.e_phnum, &sizes))
		return false;
	for (size_t i = 0; i < header.e_phnum && !has_note; i++) {
		const Elf64_Phdr *s = &segments[i];
		has_note =
			s->p_type == PT_NOTE && s->p_filesz <= sizeof(notes) &&
			s->p_vaddr < sizes.code_bytes &&
			mw_address_space_read(space, map->start + s->p_vaddr, notes, s->p_filesz) &&
			take_note(notes, s->p_filesz, s->p_vaddr, &note, &note_at);
	}
	if (!has_note || memory_end(space, index) - map->start < sizes.memory_bytes ||
	    !follow_note(&note, note_at, sizes.code_bytes, sizes.memory_bytes, &out->entry,
			 &out->work))
		return false;
	out->entry += map->start;
	out->work += map->start;
	out->address = map->start;
	out->bytes = sizes.memory_bytes;
	out->code_bytes = sizes.code_bytes;
	return true;
}

/* Returns whether the code in the process is this command's. Relocated words are in the data. */
static bool is_same_code(const mw_address_space_t *space, const mw_placed_blob_t *placed) {
	mw_blob_t own;
	mw_error_t error;
	bool is_same = false;
	if (mw_blob_lay_out(placed->address, &own, &error) == 0 &&
	    own.code_bytes == placed->code_bytes && own.memory_bytes == placed->bytes) {
		uint8_t *there = mw_xcalloc(own.code_bytes, 1);
		is_same = mw_address_space_read(space, placed->address, there, own.code_bytes) &&
			  memcmp(there, own.bytes, own.code_bytes) == 0;
		free(there);
	}
	mw_blob_free(&own);
	return is_same;
}

bool mw_blob_find(const mw_address_space_t *space, mw_placed_blob_t *out) {
	*out = (mw_placed_blob_t){0};
	for (size_t i = 0; i < space->count; i++) {
		const mw_map_t *map = &space->maps[i];
		mw_injected_head_t head;
		if (map->inode != 0 || map->is_shared || !map->is_readable || map->is_stack)
			continue;
		if (map->is_code && !map->is_writable && find_at(space, i, out)) {
			out->is_current = is_same_code(space, out);
			return true;
		}
		if (map->is_writable && !map->is_code &&
		    mw_address_space_read(space, map->start, &head, sizeof(head)) &&
		    head.magic == MW_INJECTED_MAGIC && head.bytes <= map->limit - map->start &&
		    head.bytes <= MEMORY_MAX_BYTES)
			*out = (mw_placed_blob_t){
				.address = map->start, .bytes = head.bytes, .is_empty = true};
	}
	return out->is_empty;
}
