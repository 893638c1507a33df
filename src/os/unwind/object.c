/* SPDX-License-Identifier: MIT
 * object.c -- a sorted table of the objects of program start. */
#include "os/unwind/object.h"
#include "base/bits.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/compiler.h"
#include "os/memory/map.h"
#include "os/platform/libc_calls.h"
#include "os/unwind/object_table.h"

/* Sorted by text_lo. mw_os_object_start() writes it before threads exist; read-only afterwards. */
static struct permanent {
	unsigned count;
	bool is_static; /* true: the loader had no list of objects yet and must not be asked */
	mw_os_program_t program;
} permanent;
static mw_os_object_t permanent_objects[MW_OS_PERMANENT_MAX];

bool mw_os_object_describe(const ElfW(Phdr) * headers, unsigned count, uintptr_t bias,
			   uintptr_t address, mw_os_object_t *object) {
	bool has_text = false;
	*object = (mw_os_object_t){0};
	for (unsigned i = 0; i < count; i++) {
		uintptr_t lo = bias + headers[i].p_vaddr;
		if (headers[i].p_type == PT_GNU_EH_FRAME)
			object->eh_frame_hdr = lo;
		if (headers[i].p_type != PT_LOAD || !(headers[i].p_flags & PF_X) || has_text)
			continue;
		if (address != 0 && address - lo >= headers[i].p_memsz)
			continue;
		object->text_lo = lo;
		object->text_hi = lo + headers[i].p_memsz;
		has_text = true;
	}
	for (unsigned i = 0; i < count && object->eh_frame_hdr; i++) {
		uintptr_t lo = bias + headers[i].p_vaddr;
		/* Only bytes that the file provides: unwind tables never lie in .bss. */
		if (headers[i].p_type == PT_LOAD && (headers[i].p_flags & PF_R) &&
		    object->eh_frame_hdr - lo < headers[i].p_filesz) {
			object->data_lo = lo;
			object->data_hi = lo + headers[i].p_filesz;
		}
	}
	if (object->data_lo == object->data_hi)
		object->eh_frame_hdr = 0;
	return has_text;
}

static void insert_sorted(const mw_os_object_t *object) {
	unsigned i = permanent.count;
	if (i == MW_OS_PERMANENT_MAX)
		return;
	for (; i > 0 && permanent_objects[i - 1].text_lo > object->text_lo; i--)
		permanent_objects[i] = permanent_objects[i - 1];
	permanent_objects[i] = *object;
	permanent_objects[i].is_permanent = true;
	permanent.count++;
}

static void add_object(const ElfW(Phdr) * headers, unsigned count, uintptr_t bias) {
	for (unsigned i = 0; i < count; i++) {
		mw_os_object_t object;
		if (headers[i].p_type == PT_LOAD && (headers[i].p_flags & PF_X) &&
		    mw_os_object_describe(headers, count, bias, bias + headers[i].p_vaddr, &object))
			insert_sorted(&object);
	}
}

static void note_program(const ElfW(Phdr) * headers, unsigned count, uintptr_t bias) {
	uintptr_t lo = UINTPTR_MAX, hi = 0;
	for (unsigned i = 0; i < count; i++) {
		const ElfW(Phdr) *segment = &headers[i];
		if (segment->p_type != PT_LOAD)
			continue;
		lo = segment->p_vaddr < lo ? segment->p_vaddr : lo;
		hi = segment->p_vaddr + segment->p_memsz > hi ? segment->p_vaddr + segment->p_memsz
							      : hi;
	}
	if (lo >= hi)
		return;
	permanent.program = (mw_os_program_t){
		.headers = headers,
		.header_count = count,
		.bias = bias,
		/* The kernel maps whole pages. */
		.start = (bias + lo) & ~(uintptr_t)(MW_OS_PAGE_BYTES - 1),
		.limit = bias + hi,
	};
}

static int add_listed(struct dl_phdr_info *info, size_t info_bytes, void *argument) {
	(void)info_bytes;
	bool *is_first = argument;
	/* The loader's list begins with the program. */
	if (*is_first)
		note_program(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr);
	*is_first = false;
	add_object(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr);
	return 0;
}

/* Adds the program as the kernel mapped it. */
static void add_program(void) {
	uintptr_t headers_at = getauxval(AT_PHDR), elf_at = headers_at - sizeof(ElfW(Ehdr));
	ElfW(Ehdr) elf;
	/* Linkers put the program headers directly behind the ELF header. */
	if (headers_at == 0 || headers_at % MW_OS_PAGE_BYTES != sizeof(elf))
		return;
	memcpy(&elf, (const void *)elf_at, sizeof(elf));
	if (!mw_same_bytes(elf.e_ident, ELFMAG, SELFMAG))
		return;
	const ElfW(Phdr) *headers = (const ElfW(Phdr) *)headers_at;
	unsigned count = (unsigned)getauxval(AT_PHNUM);
	uintptr_t bias = getauxval(AT_ENTRY) - elf.e_entry;
	note_program(headers, count, bias);
	add_object(headers, count, bias);
}

void mw_os_object_start(void) {
	bool is_first = true;
	permanent = (struct permanent){0};
	mw_libc_calls_find();
	dl_iterate_phdr(add_listed, &is_first);
	/* libc of a static program allocates before its list of objects exists. _dl_find_object
	 * must not be called then: glibc would fill its tables in a wrong order and crash. */
	permanent.is_static = permanent.count == 0;
	if (permanent.is_static)
		add_program();
	else
		mw_os_object_table_start();
}

static const mw_os_object_t *find_permanent(uintptr_t address) {
	unsigned lo = 0, hi = permanent.count;
	while (lo < hi) {
		unsigned middle = lo + (hi - lo) / 2;
		if (permanent_objects[middle].text_lo <= address)
			lo = middle + 1;
		else
			hi = middle;
	}
	/* lo: number of segments that start at or below the address. */
	if (lo == 0 || address >= permanent_objects[lo - 1].text_hi)
		return NULL;
	return &permanent_objects[lo - 1];
}

void mw_os_object_widen(uintptr_t bias, uintptr_t *start, uintptr_t *limit) {
	const mw_os_program_t *program = &permanent.program;
	if (bias != program->bias || *start < program->start || *start >= program->limit)
		return;
	*start = program->start;
	*limit = program->limit;
}

const mw_os_program_t *mw_os_object_program(void) {
	return &permanent.program;
}

MW_COLD void mw_os_object_set_program_tables(uintptr_t lo, uintptr_t hi) {
	for (unsigned i = 0; i < permanent.count; i++) {
		mw_os_object_t *object = &permanent_objects[i];
		if (object->text_lo < permanent.program.start ||
		    object->text_lo >= permanent.program.limit)
			continue;
		object->data_lo = lo;
		object->data_hi = hi;
	}
}

bool mw_os_object_can_ask_loader(void) {
	return !permanent.is_static && mw_os_object_has_loader();
}

uint32_t mw_os_object_permanent(uintptr_t address, uintptr_t *lo, uintptr_t *hi) {
	const mw_os_object_t *known = find_permanent(address);
	if (!known)
		return MW_OS_NOT_PERMANENT;
	*lo = known->text_lo;
	*hi = known->text_hi;
	return (uint32_t)(known - permanent_objects);
}

bool mw_os_object_find(uintptr_t address, mw_os_object_t *object) {
	const mw_os_object_t *known = find_permanent(address);
	if (known) {
		*object = *known;
		return true;
	}
	return !permanent.is_static && mw_os_object_find_loaded(address, object);
}
