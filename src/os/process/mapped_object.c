/* SPDX-License-Identifier: MIT
 * mapped_object.c -- reads program headers. */
#include "os/process/mapped_object.h"

#include <elf.h>
#include <link.h>
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
	/* Addresses in the file: of what is at `start`, and behind the last segment. */
	uintptr_t first = UINTPTR_MAX, end = 0;
	for (unsigned i = 0; i < count; i++) {
		if (headers[i].p_type != PT_LOAD)
			continue;
		uintptr_t limit = headers[i].p_vaddr + headers[i].p_memsz;
		end = limit > end ? limit : end;
		/* Segments are in the order of addresses. */
		if (first == UINTPTR_MAX)
			first = headers[i].p_vaddr - headers[i].p_offset;
	}
	uintptr_t page = mw_os_counted_page_bytes() - 1;
	return end > first ? (start + (end - first) + page) & ~page : 0;
}
