/* SPDX-License-Identifier: MIT
 * own_allocator.c -- looks for functions of allocators among an executable's symbols. */
#include "live/files/own_allocator.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/files/apart.h"
#include "live/files/regular_file.h"
#include "model/memory.h"
#include "state/tool_entry.h"

/* Bounds of what is read. Browsers have symbol tables of 100 MB. */
#define SECTIONS_MAX 4096u
#define NAMES_MAX_BYTES ((uint64_t)512 << 20)
#define SYMBOLS_MAX ((uint64_t)16 << 20)
#define CHUNK 1024u
/* How long a file may be read; a table of 100 MB that is on a disk takes a second. */
#define READING_MS 10000
enum { SEGMENTS_MAX = 64, NOTES_MAX_BYTES = 16384 };

/* In the order of what they tell: an allocator that has its own names also defines malloc. */
static const mw_own_allocator_t known[] = {
	{"jemalloc", "_rjem_malloc", false},
	{"jemalloc", "je_malloc", false},
	{"jemalloc", "mallocx", false},
	{"mimalloc", "mi_malloc", false},
	{"tcmalloc", "tc_malloc", false},
	{"tcmalloc", "TCMallocInternalMalloc", false},
	{"Go's runtime", "runtime.mallocgc", false},
	{"a malloc of its own", "malloc", false},
};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };
static const mw_own_allocator_t go = {"Go's runtime", ".gopclntab", false};

typedef struct elf_file {
	int fd;
	Elf64_Shdr *sections;
	unsigned count;
	unsigned names; /* number of the section with the sections' names */
} elf_file_t;

static bool read_at(int fd, void *bytes, size_t length, uint64_t offset) {
	return offset <= INT64_MAX && pread(fd, bytes, length, (off_t)offset) == (ssize_t)length;
}

static bool open_elf(const char *path, elf_file_t *elf) {
	Elf64_Ehdr header;
	*elf = (elf_file_t){.fd = mw_open_regular_file(path)};
	if (elf->fd < 0 || !read_at(elf->fd, &header, sizeof(header), 0) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) ||
	    header.e_shnum > SECTIONS_MAX)
		return false;
	elf->count = header.e_shnum;
	elf->names = header.e_shstrndx;
	elf->sections = mw_xcalloc(elf->count + 1u, sizeof(Elf64_Shdr));
	return read_at(elf->fd, elf->sections, elf->count * sizeof(Elf64_Shdr), header.e_shoff);
}

static void close_elf(elf_file_t *elf) {
	free(elf->sections);
	if (elf->fd >= 0)
		close(elf->fd);
}

/* Reads the strings of a section, with a NUL behind them. NULL: there are none. */
static char *read_strings(const elf_file_t *elf, unsigned section, uint64_t *length) {
	const Elf64_Shdr *s = section < elf->count ? &elf->sections[section] : NULL;
	if (s == NULL || s->sh_type != SHT_STRTAB || s->sh_size > NAMES_MAX_BYTES)
		return NULL;
	char *strings = malloc(s->sh_size + 1);
	if (strings == NULL || !read_at(elf->fd, strings, s->sh_size, s->sh_offset)) {
		free(strings);
		return NULL;
	}
	strings[s->sh_size] = '\0';
	*length = s->sh_size;
	return strings;
}

/* Marks the known functions that a symbol table defines. */
static void look_at_symbols(const elf_file_t *elf, const Elf64_Shdr *table, bool is_there[KNOWN]) {
	uint64_t length = 0, count = table->sh_size / sizeof(Elf64_Sym);
	char *names = read_strings(elf, table->sh_link, &length);
	Elf64_Sym symbols[CHUNK];
	for (uint64_t at = 0; names != NULL && at < count && at < SYMBOLS_MAX; at += CHUNK) {
		uint64_t now = count - at < CHUNK ? count - at : CHUNK;
		if (!read_at(elf->fd, symbols, now * sizeof(symbols[0]),
			     table->sh_offset + at * sizeof(symbols[0])))
			break;
		for (uint64_t i = 0; i < now; i++)
			for (size_t k = 0; k < KNOWN; k++)
				if (symbols[i].st_shndx != SHN_UNDEF &&
				    ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
				    symbols[i].st_name < length &&
				    strcmp(names + symbols[i].st_name, known[k].symbol) == 0)
					is_there[k] = true;
	}
	free(names);
}

/* A Go program without symbols has the table of its functions. */
static bool is_go(const elf_file_t *elf) {
	uint64_t length = 0;
	bool found = false;
	char *names = read_strings(elf, elf->names, &length);
	for (unsigned i = 0; names != NULL && i < elf->count && !found; i++)
		found = elf->sections[i].sh_name < length &&
			strcmp(names + elf->sections[i].sh_name, go.symbol) == 0;
	free(names);
	return found;
}

static void find_in_file(const char *path, mw_own_allocator_t *found) {
	elf_file_t elf;
	bool is_there[KNOWN] = {false};
	/* The archive of mallow has jemalloc's functions, too. */
	if (mw_file_has_mallow(path, NULL))
		return;
	if (open_elf(path, &elf)) {
		for (unsigned i = 0; i < elf.count; i++)
			if (elf.sections[i].sh_type == SHT_SYMTAB ||
			    elf.sections[i].sh_type == SHT_DYNSYM)
				look_at_symbols(&elf, &elf.sections[i], is_there);
		for (size_t k = KNOWN; k-- > 0;)
			if (is_there[k])
				*found = known[k];
		if (found->symbol == NULL && is_go(&elf))
			*found = go;
	}
	close_elf(&elf);
}

typedef struct reading {
	const char *path;
	mw_own_allocator_t *found; /* in memory that both processes share */
} reading_t;

static mw_apart_outcome_t find_apart(const void *context, mw_error_t *error) {
	const reading_t *reading = context;
	mw_own_allocator_t found = {.name = NULL};
	(void)error;
	find_in_file(reading->path, &found);
	*reading->found = found;
	return MW_APART_DONE;
}

bool mw_own_allocator_find(const char *path, mw_own_allocator_t *found) {
	*found = (mw_own_allocator_t){.is_unknown = true};
	void *shared = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return false;
	const reading_t reading = {.path = path, .found = shared};
	/* The texts have the same addresses in both processes. */
	if (mw_apart_do(find_apart, &reading, READING_MS, NULL) == MW_APART_DONE)
		*found = *reading.found;
	munmap(shared, sizeof(*found));
	return found->name != NULL;
}

/* ---- mallow's note ---- */

/* Rounds a size up to the alignment of notes, 4 or 8. */
static uint64_t padded(uint64_t bytes, uint64_t align) {
	return (bytes + align - 1) & ~(align - 1);
}

static bool is_in_notes(int fd, const Elf64_Phdr *segment) {
	_Alignas(Elf64_Nhdr) uint8_t notes[NOTES_MAX_BYTES];
	uint64_t bytes = segment->p_filesz < sizeof(notes) ? segment->p_filesz : sizeof(notes);
	uint64_t align = segment->p_align == 8 ? 8 : 4;
	if (!read_at(fd, notes, bytes, segment->p_offset))
		return false;
	for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
		Elf64_Nhdr header;
		memcpy(&header, notes + at, sizeof(header));
		uint64_t name = at + sizeof(header);
		uint64_t content = padded(name + header.n_namesz, align);
		if (content + header.n_descsz > bytes)
			return false;
		if (header.n_type == MW_TOOL_NOTE_TYPE &&
		    header.n_namesz == sizeof(MW_TOOL_NOTE_OWNER) &&
		    header.n_descsz == sizeof(mw_tool_note_t) &&
		    memcmp(notes + name, MW_TOOL_NOTE_OWNER, header.n_namesz) == 0)
			return true;
		at = padded(content + header.n_descsz, align);
	}
	return false;
}

bool mw_file_has_mallow(const char *path, ino_t *inode) {
	Elf64_Ehdr header;
	Elf64_Phdr segments[SEGMENTS_MAX];
	struct stat file;
	bool found = false;
	int fd = mw_open_regular_file(path);
	if (inode != NULL && fd >= 0 && fstat(fd, &file) == 0)
		*inode = file.st_ino;
	if (fd >= 0 && read_at(fd, &header, sizeof(header), 0) &&
	    memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
	    header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof(segments[0]) &&
	    header.e_phnum <= SEGMENTS_MAX &&
	    read_at(fd, segments, header.e_phnum * sizeof(segments[0]), header.e_phoff))
		for (unsigned i = 0; i < header.e_phnum && !found; i++)
			found = segments[i].p_type == PT_NOTE && is_in_notes(fd, &segments[i]);
	if (fd >= 0)
		close(fd);
	return found;
}
