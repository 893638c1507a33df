/* SPDX-License-Identifier: MIT
 * mapped_object.c -- reads program headers. */
#include "os/process/mapped_object.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "os/memory/map.h"
#include "os/process/child.h"

/* Linkers write about a dozen program headers. An object with more is treated as damaged. */
#define HEADERS_MAX 64u

typedef ElfW(Phdr) header_t;

static unsigned read_headers(uintptr_t start, header_t headers[HEADERS_MAX]) {
	ElfW(Ehdr) file;
	if (mw_os_copy_memory(&file, start, sizeof file) != sizeof file ||
	    memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_phnum > HEADERS_MAX ||
	    file.e_phentsize != sizeof *headers)
		return 0;
	size_t bytes = file.e_phnum * sizeof *headers;
	return mw_os_copy_memory(headers, start + file.e_phoff, bytes) == bytes ? file.e_phnum : 0;
}

uintptr_t mw_os_mapped_object_end(uintptr_t start) {
	header_t headers[HEADERS_MAX];
	unsigned count = read_headers(start, headers);
	uintptr_t end = 0, page = MW_OS_PAGE_BYTES - 1;
	bool has_first = false;
	uintptr_t first = 0; /* address in the file of what is at `start` */
	for (unsigned i = 0; i < count; i++) {
		if (headers[i].p_type != PT_LOAD)
			continue;
		if (!has_first)
			first = headers[i].p_vaddr - headers[i].p_offset;
		has_first = true;
		uintptr_t limit = headers[i].p_vaddr + headers[i].p_memsz;
		end = limit > end ? limit : end;
	}
	return end > first ? (start + (end - first) + page) & ~page : 0;
}
