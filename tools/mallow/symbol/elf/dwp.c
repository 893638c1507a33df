/* SPDX-License-Identifier: MIT
 * dwp.c -- finds a unit's parts in a package, and makes an ELF file in memory of them.
 * The formats: "GNU DebugFission" (version 2 of the index, DWARF 4) and DWARF 5, section 7.3.5. */
#include "symbol/elf/dwp.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/memory.h"

/* Sections of a package that are read. */
typedef enum section {
	INFO,
	ABBREVIATIONS,
	LINES,
	STRING_OFFSETS,
	RANGE_LISTS,
	STRINGS, /* all units share it */
	INDEX,
	SECTION_COUNT
} section_t;

static const char *const names[SECTION_COUNT] = {
	".debug_info.dwo",     ".debug_abbrev.dwo", ".debug_line.dwo", ".debug_str_offsets.dwo",
	".debug_rnglists.dwo", ".debug_str.dwo",    ".debug_cu_index",
};

/* Bytes of a section or of a part of it. */
typedef struct part {
	const unsigned char *bytes;
	size_t size;
} part_t;

/* An ELF file in memory for one unit. */
typedef struct unit {
	uint64_t number;
	Dwarf_Addr base;
	void *image;
	size_t image_bytes;
	Elf *elf;
	Dwarf *debug;
	bool is_good;
	Dwarf_Die entry;
} unit_t;

struct mw_dwp {
	part_t file; /* the mapped package */
	Elf *elf;    /* of that; owns the sections that were unpacked */
	part_t sections[SECTION_COUNT];
	unit_t **units; /* units that were looked up, also those that are not good */
	size_t unit_count, unit_capacity;
};

static uint32_t read_u32(const unsigned char *bytes) {
	uint32_t value;
	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint64_t read_u64(const unsigned char *bytes) {
	uint64_t value;
	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* Returns the kind of a section by its name; `is_old_zlib`: it is compressed as GNU's tools did
 * before SHF_COMPRESSED, and ".zdebug_info.dwo" is its name then. */
static section_t kind_of_name(const char *name, bool *is_old_zlib) {
	*is_old_zlib = strncmp(name, ".zdebug", 7) == 0;
	for (int i = 0; i < SECTION_COUNT; i++)
		if (*is_old_zlib ? strcmp(name + 2, names[i] + 1) == 0
				 : strcmp(name, names[i]) == 0)
			return (section_t)i;
	return SECTION_COUNT;
}

/* Returns the bytes of a section, which libelf unpacks if they are compressed; none if they lie
 * outside of the file or are damaged. */
static part_t contents_of(Elf_Scn *s, const GElf_Shdr *section, bool is_old_zlib) {
	if (section->sh_type == SHT_NOBITS)
		return (part_t){0};
	if ((section->sh_flags & SHF_COMPRESSED) != 0 && elf_compress(s, 0, 0) < 0)
		return (part_t){0};
	if (is_old_zlib && elf_compress_gnu(s, 0, 0) < 0)
		return (part_t){0};
	const Elf_Data *data = elf_rawdata(s, NULL);
	return data != NULL && data->d_buf != NULL ? (part_t){data->d_buf, data->d_size}
						   : (part_t){0};
}

/* Fills in the sections that the package has. */
static bool read_sections(mw_dwp_t *p) {
	Elf64_Ehdr header;
	if (p->file.size < sizeof(header))
		return false;
	memcpy(&header, p->file.bytes, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	p->elf = elf_memory((char *)p->file.bytes, p->file.size);
	size_t strings;
	if (p->elf == NULL || elf_getshdrstrndx(p->elf, &strings) != 0)
		return false;
	for (Elf_Scn *s = elf_nextscn(p->elf, NULL); s != NULL; s = elf_nextscn(p->elf, s)) {
		GElf_Shdr section;
		bool is_old_zlib;
		const char *name = gelf_getshdr(s, &section) != NULL
					   ? elf_strptr(p->elf, strings, section.sh_name)
					   : NULL;
		section_t kind = name != NULL ? kind_of_name(name, &is_old_zlib) : SECTION_COUNT;
		if (kind != SECTION_COUNT)
			p->sections[kind] = contents_of(s, &section, is_old_zlib);
	}
	return p->sections[INFO].size > 0 && p->sections[INDEX].size > 0;
}

static mw_dwp_t *open_at(const char *path) {
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat file;
	if (fd < 0)
		return NULL;
	void *bytes = MAP_FAILED;
	/* libelf writes to the headers of the sections that it unpacks. */
	if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 0)
		bytes = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
			     0);
	close(fd);
	if (bytes == MAP_FAILED)
		return NULL;
	mw_dwp_t *p = mw_xcalloc(1, sizeof(*p));
	p->file = (part_t){bytes, (size_t)file.st_size};
	if (read_sections(p))
		return p;
	mw_dwp_close(p);
	return NULL;
}

mw_dwp_t *mw_dwp_open(const char *path) {
	char *name = NULL, *target = realpath(path, NULL);
	mw_dwp_t *p = NULL;
	if (asprintf(&name, "%s.dwp", path) > 0)
		p = open_at(name);
	if (p == NULL && target != NULL && strcmp(target, path) != 0) {
		free(name);
		if (asprintf(&name, "%s.dwp", target) > 0)
			p = open_at(name);
		else
			name = NULL;
	}
	free(name);
	free(target);
	return p;
}

static void free_unit(unit_t *unit) {
	if (unit->debug != NULL)
		dwarf_end(unit->debug);
	if (unit->elf != NULL)
		elf_end(unit->elf);
	if (unit->image != NULL)
		munmap(unit->image, unit->image_bytes);
	free(unit);
}

void mw_dwp_close(mw_dwp_t *p) {
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->unit_count; i++)
		free_unit(p->units[i]);
	free(p->units);
	elf_end(p->elf);
	munmap((void *)p->file.bytes, p->file.size);
	free(p);
}

/* Returns the kind of a column of the index, or SECTION_COUNT for one that is not read. */
static section_t kind_of_column(uint32_t version, uint32_t column) {
	switch (column) {
	case 1:
		return INFO;
	case 3:
		return ABBREVIATIONS;
	case 4:
		return LINES;
	case 6:
		return STRING_OFFSETS;
	case 8:
		return version == 5 ? RANGE_LISTS : SECTION_COUNT;
	default:
		return SECTION_COUNT;
	}
}

/* Returns the row of a unit in the index, counted from 1; 0 = it is not there. */
static uint32_t find_row(const unsigned char *slots, uint32_t count, uint64_t number) {
	/* The table is hashed by the low half of the number; the high half is the step. */
	uint64_t mask = (uint64_t)count - 1, at = number & mask, step = ((number >> 32) & mask) | 1;
	const unsigned char *rows = slots + 8 * (size_t)count;
	for (uint32_t i = 0; i < count; i++, at = (at + step) & mask) {
		uint32_t row = read_u32(rows + 4 * at);
		if (row == 0 || read_u64(slots + 8 * at) == number)
			return row;
	}
	return 0;
}

/* Fills in the unit's part of each section. */
static bool find_parts(const mw_dwp_t *p, uint64_t number, part_t parts[SECTION_COUNT]) {
	enum { HEADER_BYTES = 16 };
	part_t index = p->sections[INDEX];
	if (index.size < HEADER_BYTES)
		return false;
	/* DWARF 5 has a version of two bytes and two bytes of padding. */
	uint32_t version = read_u32(index.bytes);
	uint32_t columns = read_u32(index.bytes + 4), units = read_u32(index.bytes + 8);
	uint32_t slots = read_u32(index.bytes + 12);
	size_t left = index.size - HEADER_BYTES;
	if ((version != 2 && version != 5) || slots == 0 || (slots & (slots - 1)) != 0 ||
	    columns == 0 || columns > 64 || left / 12 < slots)
		return false;
	const unsigned char *at = index.bytes + HEADER_BYTES;
	uint32_t row = find_row(at, slots, number);
	at += 12 * (size_t)slots;
	left -= 12 * (size_t)slots;
	/* A row of the sections' kinds, `units` rows of offsets, `units` rows of sizes. */
	size_t row_bytes = 4 * (size_t)columns;
	if (row == 0 || row > units || left / row_bytes < 2 * (size_t)units + 1)
		return false;
	for (uint32_t i = 0; i < columns; i++) {
		section_t kind = kind_of_column(version, read_u32(at + 4 * (size_t)i));
		if (kind == SECTION_COUNT)
			continue;
		size_t offset = read_u32(at + row * row_bytes + 4 * (size_t)i);
		size_t size = read_u32(at + ((size_t)units + row) * row_bytes + 4 * (size_t)i);
		part_t whole = p->sections[kind];
		if (offset > whole.size || size > whole.size - offset)
			return false;
		parts[kind] = (part_t){whole.bytes + offset, size};
	}
	return parts[INFO].size > 0 && parts[ABBREVIATIONS].size > 0;
}

/* Returns a section of the file that holds the skeleton.  libdw has unpacked it, and left it the
 * name ".zdebug_addr". */
static part_t section_of(Dwarf *debug, const char *wanted) {
	Elf *elf = dwarf_getelf(debug);
	size_t strings;
	if (elf == NULL || elf_getshdrstrndx(elf, &strings) != 0)
		return (part_t){0};
	for (Elf_Scn *s = elf_nextscn(elf, NULL); s != NULL; s = elf_nextscn(elf, s)) {
		GElf_Shdr section;
		if (gelf_getshdr(s, &section) == NULL)
			continue;
		const char *name = elf_strptr(elf, strings, section.sh_name);
		if (name == NULL ||
		    (strcmp(name, wanted) != 0 &&
		     (strncmp(name, ".z", 2) != 0 || strcmp(name + 2, wanted + 1) != 0)))
			continue;
		const Elf_Data *data = elf_rawdata(s, NULL);
		return data != NULL && data->d_buf != NULL ? (part_t){data->d_buf, data->d_size}
							   : (part_t){0};
	}
	return (part_t){0};
}

/* Returns a section of the skeleton's file from the place that an attribute of the skeleton names,
 * at most MEBIBYTE: DWARF 4 does not say how long the part is.  A unit with more addresses loses
 * the functions that need these. */
static part_t from_base(Dwarf_Die *skeleton, unsigned attribute_name, const char *section) {
	enum { MEBIBYTE = 1 << 20 };
	Dwarf_Attribute attribute;
	Dwarf_Word base = 0;
	part_t part = section_of(dwarf_cu_getdwarf(skeleton->cu), section);
	if (dwarf_formudata(dwarf_attr(skeleton, attribute_name, &attribute), &base) != 0 ||
	    base > part.size)
		return (part_t){0};
	size_t size = part.size - base;
	return (part_t){part.bytes + base, size < MEBIBYTE ? size : MEBIBYTE};
}

/* Sections of the ELF file in memory.  The names are those of a file that is not split, as libdw
 * leaves out addresses and ranges of a .dwo file. */
enum { OUT_STRINGS = 5, OUT_ADDRESSES, OUT_RANGES, OUT_NAMES, OUT_COUNT };
static const char out_names[] = "\0.debug_info\0.debug_abbrev\0.debug_line\0.debug_str_offsets\0"
				".debug_rnglists\0.debug_str\0.debug_addr\0.debug_ranges\0"
				".shstrtab";

/* The parts of an ELF file to be made; those that are changed are in memory of their own. */
typedef struct content {
	part_t parts[OUT_COUNT]; /* the first ones as in section_t */
	unsigned char *offsets, *strings, *addresses, *ranges;
} content_t;

static void free_content(content_t *c) {
	free(c->offsets);
	free(c->strings);
	free(c->addresses);
	free(c->ranges);
}

/* Copies the strings that the unit refers to, and makes the unit's offsets those of the copies: all
 * units of a package share one section of strings, which may have gigabytes. */
static bool copy_strings(content_t *c, part_t strings, part_t offsets, bool has_header) {
	size_t first = has_header ? 8 : 0, used = 0, capacity = 0;
	if (offsets.size < first)
		return offsets.size == 0;
	c->offsets = mw_xcalloc(offsets.size, 1);
	memcpy(c->offsets, offsets.bytes, offsets.size);
	for (size_t at = first; offsets.size - at >= 4; at += 4) {
		size_t from = read_u32(offsets.bytes + at);
		if (from >= strings.size)
			return false;
		size_t length = strnlen((const char *)strings.bytes + from, strings.size - from);
		/* A unit refers to a string once, so its strings are at most all strings. */
		if (length == strings.size - from || used + length + 1 > strings.size)
			return false;
		c->strings = mw_grow(c->strings, &capacity, used + length + 1, 1);
		memcpy(c->strings + used, strings.bytes + from, length + 1);
		uint32_t to = (uint32_t)used;
		memcpy(c->offsets + at, &to, sizeof(to));
		used += length + 1;
	}
	c->parts[STRING_OFFSETS] = (part_t){c->offsets, offsets.size};
	c->parts[OUT_STRINGS] = (part_t){c->strings, used};
	return true;
}

static unsigned char *copy_of(part_t part) {
	unsigned char *copy = mw_xcalloc(part.size + 1, 1);
	if (part.size > 0)
		memcpy(copy, part.bytes, part.size);
	return copy;
}

static void subtract(unsigned char *at, uint64_t base) {
	uint64_t value = read_u64(at) - base;
	memcpy(at, &value, sizeof(value));
}

/* Copies the skeleton's addresses and ranges, relative to `base`.  libdw does not know the skeleton
 * of a unit in a file of its own, and takes 0 for the base of the unit's ranges. */
static void copy_addresses(content_t *c, Dwarf_Die *skeleton, bool is_5, Dwarf_Addr base) {
	part_t addresses =
		from_base(skeleton, is_5 ? DW_AT_addr_base : DW_AT_GNU_addr_base, ".debug_addr");
	c->addresses = copy_of(addresses);
	for (size_t at = 0; addresses.size - at >= 8; at += 8)
		subtract(c->addresses + at, base);
	c->parts[OUT_ADDRESSES] = (part_t){c->addresses, addresses.size};
	if (is_5)
		return;
	part_t ranges = from_base(skeleton, DW_AT_GNU_ranges_base, ".debug_ranges");
	c->ranges = copy_of(ranges);
	/* A pair of the largest number and an address changes the base of those after it. */
	for (size_t at = 0; ranges.size - at >= 16; at += 16)
		if (read_u64(c->ranges + at) == UINT64_MAX)
			subtract(c->ranges + at + 8, base);
	c->parts[OUT_RANGES] = (part_t){c->ranges, ranges.size};
}

/* Writes the ELF file: its header, the table of sections, and their contents. */
static void write_image(unit_t *unit, const content_t *c, uint16_t machine) {
	size_t start = sizeof(Elf64_Ehdr) + (OUT_COUNT + 1) * sizeof(Elf64_Shdr), at = start;
	for (int i = 0; i < OUT_COUNT; i++)
		at += c->parts[i].size;
	unit->image_bytes = at;
	void *image = mmap(NULL, at, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image == MAP_FAILED)
		return;
	unit->image = image;
	Elf64_Ehdr *header = image;
	*header = (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					   ELFDATA2LSB, EV_CURRENT},
			       .e_type = ET_REL,
			       .e_machine = machine,
			       .e_version = EV_CURRENT,
			       .e_shoff = sizeof(Elf64_Ehdr),
			       .e_ehsize = sizeof(Elf64_Ehdr),
			       .e_shentsize = sizeof(Elf64_Shdr),
			       .e_shnum = OUT_COUNT + 1,
			       .e_shstrndx = OUT_NAMES + 1};
	Elf64_Shdr *sections = (void *)(header + 1);
	const char *name = out_names + 1;
	at = start;
	for (int i = 0; i < OUT_COUNT; i++, name += strlen(name) + 1) {
		part_t part = c->parts[i];
		sections[i + 1] =
			(Elf64_Shdr){.sh_name = (uint32_t)(name - out_names),
				     .sh_type = i == OUT_NAMES ? SHT_STRTAB : SHT_PROGBITS,
				     .sh_offset = at,
				     .sh_size = part.size,
				     .sh_addralign = 1};
		if (part.size > 0)
			memcpy((char *)image + at, part.bytes, part.size);
		at += part.size;
	}
}

/* Has libdw read the unit's ELF file. */
static void read_image(unit_t *unit) {
	if (unit->image == NULL)
		return;
	unit->elf = elf_memory(unit->image, unit->image_bytes);
	if (unit->elf == NULL)
		return;
	unit->debug = dwarf_begin_elf(unit->elf, DWARF_C_READ, NULL);
	Dwarf_CU *cu = NULL;
	unit->is_good = unit->debug != NULL && dwarf_get_units(unit->debug, NULL, &cu, NULL, NULL,
							       &unit->entry, NULL) == 0;
}

static void make_unit(const mw_dwp_t *p, unit_t *unit, Dwarf_Die *skeleton) {
	part_t parts[SECTION_COUNT] = {0};
	content_t content = {0};
	Dwarf_Half version;
	GElf_Ehdr header;
	if (!find_parts(p, unit->number, parts) ||
	    dwarf_cu_info(skeleton->cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) != 0 ||
	    gelf_getehdr(dwarf_getelf(dwarf_cu_getdwarf(skeleton->cu)), &header) == NULL)
		return;
	for (int i = INFO; i < STRING_OFFSETS; i++)
		content.parts[i] = parts[i];
	content.parts[RANGE_LISTS] = parts[RANGE_LISTS];
	content.parts[OUT_NAMES] = (part_t){(const unsigned char *)out_names, sizeof(out_names)};
	if (dwarf_lowpc(skeleton, &unit->base) != 0)
		unit->base = 0;
	if (copy_strings(&content, p->sections[STRINGS], parts[STRING_OFFSETS], version >= 5)) {
		copy_addresses(&content, skeleton, version >= 5, unit->base);
		write_image(unit, &content, header.e_machine);
		read_image(unit);
	}
	free_content(&content);
}

bool mw_dwp_find(mw_dwp_t *p, Dwarf_Die *skeleton, uint64_t number, Dwarf_Die *entry,
		 Dwarf_Addr *base) {
	unit_t *unit = NULL;
	for (size_t i = 0; i < p->unit_count && unit == NULL; i++)
		if (p->units[i]->number == number)
			unit = p->units[i];
	if (unit == NULL) {
		unit = mw_xcalloc(1, sizeof(*unit));
		unit->number = number;
		p->units =
			mw_grow(p->units, &p->unit_capacity, p->unit_count + 1, sizeof(unit_t *));
		p->units[p->unit_count++] = unit;
		make_unit(p, unit, skeleton);
	}
	*entry = unit->entry;
	*base = unit->base;
	return unit->is_good;
}
