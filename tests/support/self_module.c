/* SPDX-License-Identifier: MIT
 * self_module.c -- asks the dynamic linker about the program itself. */
#include "self_module.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void take_note(self_module_t *self, const char *note, size_t size) {
	const ElfW(Nhdr) *header = (const void *)note;
	size_t name_bytes = (header->n_namesz + 3u) & ~3u;
	if (header->n_type != NT_GNU_BUILD_ID || sizeof(*header) + name_bytes > size)
		return;
	const unsigned char *id = (const unsigned char *)note + sizeof(*header) + name_bytes;
	for (size_t i = 0; i < header->n_descsz && 2 * i + 3 <= sizeof(self->build_id); i++)
		snprintf(self->build_id + 2 * i, 3, "%02x", id[i]);
}

/* Called for the program first; 1 ends the walk. */
static int take_program(struct dl_phdr_info *info, size_t size, void *context) {
	self_module_t *self = context;
	(void)size;
	self->bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
			self->start = self->bias + (segment->p_vaddr & ~(uint64_t)4095);
			self->limit = self->bias + ((segment->p_vaddr + segment->p_memsz + 4095) &
						    ~(uint64_t)4095);
			self->file_offset = segment->p_offset & ~(uint64_t)4095;
		}
		/* .note.gnu.property may share the segment: each note of 4-byte alignment. */
		if (segment->p_type == PT_NOTE && segment->p_align <= 4)
			for (uint64_t at = 0; at + sizeof(ElfW(Nhdr)) < segment->p_filesz;) {
				const char *note =
					(const char *)(self->bias + segment->p_vaddr + at);
				const ElfW(Nhdr) *header = (const void *)note;
				take_note(self, note, segment->p_filesz - at);
				at += sizeof(*header) + ((header->n_namesz + 3u) & ~3u) +
				      ((header->n_descsz + 3u) & ~3u);
			}
	}
	return 1;
}

void self_module_find(self_module_t *self) {
	memset(self, 0, sizeof(*self));
	ssize_t length = readlink("/proc/self/exe", self->path, sizeof(self->path) - 1);
	dl_iterate_phdr(take_program, self);
	if (length <= 0 || self->start == 0) {
		fprintf(stderr, "cannot find out where the test itself is mapped\n");
		exit(1);
	}
}

__attribute__((noinline)) uint64_t self_pc(void) {
	return (uint64_t)__builtin_return_address(0);
}
