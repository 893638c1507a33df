/* SPDX-License-Identifier: MIT
 * elf_object.c -- finds the right file and looks addresses up in it with libdwfl. */
#include "symbol/elf/elf_object.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/memory.h"
#include "model/table.h"
#include "symbol/elf/dwarf_units.h"
#include "symbol/elf/functions.h"
#include "symbol/elf/mapped_pages.h"
#include "symbol/elf/symbols.h"
#include "symbol/files/debug_file.h"
#include "symbol/files/debuginfod.h"
#include "symbol/files/mapped_file.h"

typedef struct range_name {
	uint64_t start;
	char *name;
} range_name_t;

struct mw_object {
	Dwfl_Callbacks callbacks;
	/* Directories with debug files.  NULL: libdwfl's usual places: beside the file, in .debug/,
	 * and below /usr/lib/debug, also by build-id. */
	char *debug_path;
	char *sysroot; /* NULL = none */
	char build_id[MW_BUILD_ID_BYTES];
	char identity[MW_IDENTITY_BYTES];
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf *debug; /* set when it was looked for; NULL = there is none */
	Dwarf_Addr debug_bias;
	bool debug_sought;
	mw_functions_t functions;
	/* Addresses that will be looked up in the debug information, rising; NULL = any address. */
	uint64_t *expected;
	mw_units_t units;
	bool units_listed;
	mw_symbols_t symbols;
	mw_pages_t pages;
	char *file_name; /* base name of the path that the profile recorded */
	/* Names of functions without symbols, by the start of their range. range_names[0] is
	 * unused. */
	range_name_t *range_names;
	size_t range_count, range_capacity;
	mw_table_t range_table;
};

static void write_hex(const unsigned char *bytes, ssize_t length, char *hex, size_t size) {
	hex[0] = '\0';
	for (ssize_t i = 0; i < length && (size_t)(2 * i + 3) <= size; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

/* Fills in the build-id of an open file in hexadecimal; "" = it has none. */
static void read_build_id(int fd, char *hex, size_t size) {
	hex[0] = '\0';
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf == NULL)
		return;
	const void *id = NULL;
	ssize_t length = elf_kind(elf) == ELF_K_ELF ? dwelf_elf_gnu_build_id(elf, &id) : 0;
	write_hex(id, length, hex, size);
	elf_end(elf);
}

/* Opens a file that may be the right one.  Returns -1 with an error if it does not exist or is
 * another build. */
static int open_candidate(const char *path, const char *build_id, mw_error_t *error) {
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat file;
	if (fd < 0)
		return mw_error_set(error, "%s: cannot open: %s; its functions have no names", path,
				    strerror(errno));
	if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) {
		close(fd);
		return mw_error_set(error, "%s: is not a regular file; its symbols are not used",
				    path);
	}
	char have[MW_BUILD_ID_BYTES];
	read_build_id(fd, have, sizeof(have));
	if (build_id[0] != '\0' && strcmp(have, build_id) != 0) {
		close(fd);
		return mw_error_set(
			error,
			"%s: is another build than the one profiled (build-id %.16s, not %.16s); "
			"its symbols are not used",
			path, have[0] != '\0' ? have : "none", build_id);
	}
	return fd;
}

/* State of the search for a file. */
typedef struct search {
	const char *recorded; /* path that the profile recorded */
	const char *build_id;
	const mw_mapping_t *mapping;
	const mw_symbolize_options_t *options;
	char path[4096 + 64]; /* path of the current candidate */
	bool is_from_server;
} search_t;

/* Tries the directories that the user named: by build-id, by the file's name, and by its whole path
 * below each directory. */
static int try_directories(search_t *s, const char *directories) {
	const char *slash = strrchr(s->recorded, '/');
	const char *name = slash != NULL ? slash + 1 : s->recorded;
	while (directories != NULL && *directories != '\0') {
		int length = (int)strcspn(directories, ":");
		const char *const ways[][2] = {{s->build_id, name}, {"", name}, {"", s->recorded}};
		for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
			snprintf(s->path, sizeof(s->path), "%.*s/%s/%s", length, directories,
				 ways[i][0], ways[i][1]);
			int fd = open_candidate(s->path, s->build_id, NULL);
			if (fd >= 0)
				return fd;
		}
		directories += length + (directories[length] == ':');
	}
	return -1;
}

/* Opens the file at the place where the program had it, which may have been replaced since.  A
 * sysroot holds copies, which are newer. */
static int open_in_place(search_t *s, mw_error_t *error) {
	int fd = open_candidate(s->path, s->build_id, error);
	uint32_t pid = s->mapping->is_unloaded ? 0 : s->options->pid;
	if (fd < 0 || s->build_id[0] != '\0' || s->options->sysroot != NULL ||
	    mw_mapped_file_is(fd, s->mapping->loaded_ns, pid, s->mapping->start))
		return fd;
	close(fd);
	return mw_error_set(error,
			    "%s: was replaced or changed after the program had loaded it, and has "
			    "no build-id; its symbols are not used; --binary-path=DIRECTORY names "
			    "the folder of the former file",
			    s->path);
}

static int try_process(search_t *s) {
	uint32_t pid = s->options->pid;
	if (pid == 0)
		return -1;
	snprintf(s->path, sizeof(s->path), "/proc/%" PRIu32 "/root%s", pid, s->recorded);
	int fd = open_in_place(s, NULL);
	/* Another file may be mapped where one was that was unloaded. */
	if (fd >= 0 || (s->mapping->is_unloaded && s->build_id[0] == '\0'))
		return fd;
	snprintf(s->path, sizeof(s->path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid,
		 s->mapping->start, s->mapping->limit);
	return open_candidate(s->path, s->build_id, NULL);
}

/* Tries the build's debug file, which also has a symbol table. */
static int try_debug_file(search_t *s, const char *root) {
	if (strlen(s->build_id) <= 2 ||
	    strspn(s->build_id, "0123456789abcdef") != strlen(s->build_id))
		return -1;
	snprintf(s->path, sizeof(s->path), "%s/usr/lib/debug/.build-id/%.2s/%s.debug", root,
		 s->build_id, s->build_id + 2);
	return open_candidate(s->path, s->build_id, NULL);
}

/* Tries in this order: the user's directories, the file as the process sees it, the recorded path,
 * the debug file.  The error is that of the recorded path. */
static int open_file(search_t *s, mw_error_t *error) {
	const char *root = s->options->sysroot != NULL ? s->options->sysroot : "";
	int fd = try_directories(s, s->options->binary_path);
	if (fd < 0)
		fd = try_process(s);
	if (fd < 0) {
		snprintf(s->path, sizeof(s->path), "%s%s", root, s->recorded);
		fd = open_in_place(s, error);
	}
	if (fd < 0)
		fd = try_debug_file(s, root);
	return fd;
}

static int open_from_server(search_t *s) {
	snprintf(s->path, sizeof(s->path), "%s", s->recorded);
	s->is_from_server = true;
	return mw_debuginfod_open(s->build_id);
}

#define AT_PATH "path "
#define FROM_SERVER "server "

static void identify(const search_t *s, int fd, char identity[MW_IDENTITY_BYTES]) {
	struct stat file, there;
	char path[sizeof(s->path)];
	snprintf(path, sizeof(path), "%s%s", s->options->sysroot != NULL ? s->options->sysroot : "",
		 s->recorded);
	identity[0] = '\0';
	if (fstat(fd, &file) != 0)
		return;
	/* If /proc/<pid>/root leads to a file at the path, this process sees it there, too,
	 * unless another file is at the path here. */
	bool is_at_path = stat(path, &there) == 0 && there.st_dev == file.st_dev &&
			  there.st_ino == file.st_ino;
	const char *how = s->is_from_server ? FROM_SERVER : is_at_path ? AT_PATH : "elsewhere ";
	snprintf(identity, MW_IDENTITY_BYTES, "%s%016jx %016jx %016jx %016jx.%08lx %016jx.%08lx",
		 how, (uintmax_t)file.st_dev, (uintmax_t)file.st_ino, (uintmax_t)file.st_size,
		 (uintmax_t)file.st_mtim.tv_sec, (unsigned long)file.st_mtim.tv_nsec,
		 (uintmax_t)file.st_ctim.tv_sec, (unsigned long)file.st_ctim.tv_nsec);
}

bool mw_identity_outlives_file(const char *identity) {
	return strncmp(identity, AT_PATH, strlen(AT_PATH)) == 0 ||
	       strncmp(identity, FROM_SERVER, strlen(FROM_SERVER)) == 0;
}

static search_t search_of(const mw_profile_t *p, const mw_mapping_t *mapping,
			  const mw_symbolize_options_t *options) {
	return (search_t){
		.recorded = mw_profile_string(p, mapping->path),
		.build_id = mw_profile_string(p, mapping->build_id),
		.mapping = mapping,
		.options = options,
	};
}

const char *mw_object_identify(const mw_profile_t *p, const mw_mapping_t *mapping,
			       const mw_symbolize_options_t *options,
			       char identity[MW_IDENTITY_BYTES]) {
	search_t search = search_of(p, mapping, options);
	int fd = open_file(&search, NULL);
	identity[0] = '\0';
	if (fd < 0)
		return identity;
	identify(&search, fd, identity);
	close(fd);
	return identity;
}

mw_object_t *mw_object_open(const mw_profile_t *p, const mw_mapping_t *mapping,
			    const mw_symbolize_options_t *options, mw_error_t *error) {
	search_t search = search_of(p, mapping, options);
	int fd = open_file(&search, error);
	if (fd < 0)
		fd = open_from_server(&search);
	if (fd < 0)
		return NULL;
	mw_object_t *object = mw_xcalloc(1, sizeof(*object));
	identify(&search, fd, object->identity);
	const char *slash = strrchr(search.recorded, '/');
	object->file_name = mw_xstrdup(slash != NULL ? slash + 1 : search.recorded);
	/* A sysroot has debug files of its own. */
	if (options->sysroot != NULL) {
		object->sysroot = mw_xstrdup(options->sysroot);
		if (asprintf(&object->debug_path, ":.debug:%s/usr/lib/debug", object->sysroot) < 0)
			object->debug_path = NULL;
	}
	object->callbacks = (Dwfl_Callbacks){
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = mw_debug_file_find,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &object->debug_path,
	};
	object->dwfl = dwfl_begin(&object->callbacks);
	if (object->dwfl != NULL) {
		dwfl_report_begin(object->dwfl);
		/* Base 0, so that libdwfl's addresses are those of the ELF file. */
		object->module = dwfl_report_elf(object->dwfl, "module", search.path, fd, 0, true);
	}
	if (object->module == NULL) {
		mw_error_set(error, "%s: cannot read its symbols: %s", search.path,
			     dwfl_errmsg(-1));
		close(fd); /* libdwfl closes the descriptor only after success */
		mw_object_close(object);
		return NULL;
	}
	void **user_data;
	dwfl_module_info(object->module, &user_data, NULL, NULL, NULL, NULL, NULL, NULL);
	*user_data = object->sysroot;
	dwfl_report_end(object->dwfl, NULL, NULL);
	const unsigned char *id = NULL;
	GElf_Addr where;
	int length = dwfl_module_build_id(object->module, &id, &where);
	write_hex(id, length, object->build_id, sizeof(object->build_id));
	return object;
}

const char *mw_object_build_id(const mw_object_t *object) {
	return object->build_id;
}

const char *mw_object_identity(const mw_object_t *object) {
	return object->identity;
}

void mw_object_close(mw_object_t *object) {
	if (object == NULL)
		return;
	mw_functions_release(&object->functions);
	mw_units_release(&object->units);
	mw_symbols_release(&object->symbols);
	free(object->expected);
	if (object->dwfl != NULL)
		dwfl_end(object->dwfl);
	free(object->debug_path);
	free(object->sysroot);
	for (size_t i = 1; i < object->range_count; i++)
		free(object->range_names[i].name);
	free(object->range_names);
	mw_table_clear(&object->range_table);
	free(object->file_name);
	free(object);
}

bool mw_object_bias(const mw_object_t *object, const mw_mapping_t *mapping, uint64_t *bias) {
	GElf_Addr elf_bias;
	Elf *elf = dwfl_module_getelf(object->module, &elf_bias);
	size_t count;
	if (elf == NULL || elf_getphdrnum(elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		GElf_Phdr segment;
		if (gelf_getphdr(elf, (int)i, &segment) == NULL || segment.p_type != PT_LOAD)
			continue;
		/* The kernel maps whole pages around a segment.  Some writers of profiles record
		 * a whole file as one mapping from offset 0. */
		uint64_t page_mask = ~(uint64_t)4095;
		if (mapping->offset >= (segment.p_offset & page_mask) &&
		    mapping->offset < segment.p_offset + segment.p_filesz &&
		    ((segment.p_flags & PF_X) != 0 || mapping->offset == 0)) {
			*bias = mapping->start - mapping->offset + segment.p_offset -
				segment.p_vaddr;
			return true;
		}
	}
	return false;
}

bool mw_object_has_debug(mw_object_t *object) {
	if (!object->debug_sought) {
		object->debug = dwfl_module_getdwarf(object->module, &object->debug_bias);
		dwfl_module_info(object->module, NULL, NULL, NULL, NULL, NULL,
				 &object->functions.places[0], &object->functions.places[1]);
	}
	object->debug_sought = true;
	return object->debug != NULL;
}

const char *mw_object_missing(const mw_object_t *object) {
	return object->functions.missing;
}

void mw_object_drop_pages(mw_object_t *object) {
	if (object->debug != NULL)
		mw_pages_drop(&object->pages, dwarf_getelf(object->debug));
}

Dwfl_Module *mw_object_module(const mw_object_t *object) {
	return object->module;
}

/* Finds the unit that holds an address by .debug_aranges.  Some compilers (clang, rustc) do not
 * write that section; then by the units' own ranges. */
static Dwarf_Die *find_unit(mw_object_t *object, uint64_t address) {
	Dwarf_Addr bias;
	if (!mw_object_has_debug(object))
		return NULL;
	Dwarf_Die *unit = dwfl_module_addrdie(object->module, address, &bias);
	if (unit != NULL)
		return unit;
	if (!object->units_listed)
		mw_units_list(&object->units, object->module);
	object->units_listed = true;
	return mw_units_find(&object->units, address - object->debug_bias);
}

uint64_t mw_object_unit(mw_object_t *object, uint64_t address) {
	Dwarf_Die *unit = find_unit(object, address);
	return unit != NULL ? dwarf_dieoffset(unit) : 0;
}

void mw_object_read_lines(mw_object_t *object, uint64_t address) {
	Dwarf_Die *unit = find_unit(object, address);
	Dwarf_Lines *lines;
	size_t count;
	/* libdw reads the line table once and keeps it.  A damaged table shows here. */
	if (unit != NULL)
		dwarf_getsrclines(unit, &lines, &count);
	mw_object_drop_pages(object);
}

void mw_object_expect(mw_object_t *object, const uint64_t *addresses, size_t count) {
	free(object->expected);
	object->expected = mw_xcalloc(count, sizeof(uint64_t));
	for (size_t i = 0; i < count && mw_object_has_debug(object); i++)
		object->expected[i] = addresses[i] - object->debug_bias;
	mw_functions_want(&object->functions, object->expected, count);
}

static bool start_equal(const void *context, uint32_t entry, const void *key) {
	return ((const range_name_t *)context)[entry].start == *(const uint64_t *)key;
}

/* Returns the name of the range that begins at `start`. */
static const char *name_range(mw_object_t *object, uint64_t start) {
	uint64_t hash = mw_table_hash(&start, sizeof(start));
	uint32_t found =
		mw_table_find(&object->range_table, hash, start_equal, object->range_names, &start);
	if (found != 0)
		return object->range_names[found].name;
	char name[320];
	snprintf(name, sizeof(name), "%.255s@0x%" PRIx64, object->file_name, start);
	found = object->range_count == 0 ? 1 : (uint32_t)object->range_count;
	object->range_names = mw_grow(object->range_names, &object->range_capacity,
				      (size_t)found + 1, sizeof(range_name_t));
	object->range_names[found] = (range_name_t){start, mw_xstrdup(name)};
	object->range_count = (size_t)found + 1;
	mw_table_add(&object->range_table, hash, found);
	return object->range_names[found].name;
}

/* Fills in the frame of a function without a name. */
static size_t look_up_range(mw_object_t *object, uint64_t address, mw_symbol_frame_t *frame) {
	uint64_t start;
	if (!mw_symbols_find_range(&object->symbols, object->module, address, &start))
		return 0;
	*frame = (mw_symbol_frame_t){.name = name_range(object, start), .is_range = true};
	return 1;
}

size_t mw_object_lookup(mw_object_t *object, uint64_t address,
			mw_symbol_frame_t frames[MW_OBJECT_INLINE_MAX]) {
	Dwarf_Die *unit = find_unit(object, address);
	uint64_t in_debug = address - object->debug_bias;
	if (unit != NULL) {
		size_t count = mw_functions_lookup(&object->functions, unit, in_debug, frames,
						   MW_OBJECT_INLINE_MAX);
		if (count > 0)
			return count;
	}
	const char *symbol = mw_symbols_find(&object->symbols, object->module, address);
	/* A function that begins right after the call was never called from here: its address
	 * was put on the stack as a return address, as for libc's __restore_rt (signals) and
	 * __start_context (makecontext).  The function's own name is used then. */
	if (symbol == NULL)
		symbol = mw_symbols_starting_at(&object->symbols, object->module, address + 1);
	if (symbol == NULL)
		return look_up_range(object, address, &frames[0]);
	frames[0] = (mw_symbol_frame_t){.name = symbol};
	/* Assembly has lines, but no functions. */
	if (unit != NULL)
		mw_source_place(unit, in_debug, &frames[0].file, &frames[0].line);
	return 1;
}
