/* SPDX-License-Identifier: MIT
 * mapped_pages.c -- finds the sections of debug information that are mapped unchanged from the
 * file. */
#include "symbol/elf/mapped_pages.h"

#include <gelf.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* True if the whole range is one mapping of a file, by /proc/self/maps.  Sections that libelf
 * unpacked or read are in private memory, whose content madvise(2) would lose. */
static bool is_of_file(uint64_t start, uint64_t end) {
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[8192];
	bool found = false;
	while (maps != NULL && !found && fgets(line, sizeof(line), maps) != NULL) {
		uint64_t low, high;
		unsigned long inode;
		found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %lu", &low, &high,
			       &inode) == 3 &&
			inode != 0 && low <= start && end <= high;
	}
	if (maps != NULL)
		fclose(maps);
	return found;
}

static void add_section(mw_pages_t *pages, Elf_Scn *section) {
	Elf_Data *data = elf_rawdata(section, NULL);
	if (data == NULL || data->d_buf == NULL || pages->count == MW_PAGES_RANGES_MAX)
		return;
	/* Only whole pages: the pages at both ends also belong to other sections. */
	uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	uintptr_t start = ((uintptr_t)data->d_buf + mask) & ~mask;
	uintptr_t end = ((uintptr_t)data->d_buf + data->d_size) & ~mask;
	if (start >= end || !is_of_file(start, end))
		return;
	pages->ranges[pages->count].start = (char *)start;
	pages->ranges[pages->count++].bytes = end - start;
}

static void list(mw_pages_t *pages, Elf *elf) {
	GElf_Ehdr header;
	size_t names;
	Elf_Scn *section = NULL;
	/* In relocatable files libdwfl changes the debug information in place, so their pages
	 * are kept. */
	if (gelf_getehdr(elf, &header) == NULL || elf_getshdrstrndx(elf, &names) != 0 ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN))
		return;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr s;
		const char *name = gelf_getshdr(section, &s) != NULL
					   ? elf_strptr(elf, names, s.sh_name)
					   : NULL;
		if (name != NULL && s.sh_type == SHT_PROGBITS && strncmp(name, ".debug_", 7) == 0)
			add_section(pages, section);
	}
}

void mw_pages_drop(mw_pages_t *pages, Elf *elf) {
	if (!pages->is_listed && elf != NULL)
		list(pages, elf);
	pages->is_listed = true;
	for (size_t i = 0; i < pages->count; i++)
		madvise(pages->ranges[i].start, pages->ranges[i].bytes, MADV_DONTNEED);
}
