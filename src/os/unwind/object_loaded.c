/* SPDX-License-Identifier: MIT
 * object_loaded.c -- finds objects loaded after program start by _dl_find_object, and computes
 * their stamps. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "base/bits.h"
#include "os/memory/map.h"
#include "os/platform/libc_calls.h"
#include "os/unwind/object.h"

/* Linkers write about a dozen program headers. An object with more is treated as damaged. */
#define HEADERS_MAX 64u

static uint64_t round_up_4(uint64_t x) {
	return (x + 3) & ~(uint64_t)3;
}

const char *mw_os_object_build_id(const char *notes, uint64_t bytes, uint32_t *id_bytes) {
	while (bytes >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) note;
		memcpy(&note, notes, sizeof note);
		uint64_t name_bytes = round_up_4(note.n_namesz);
		uint64_t used = sizeof note + name_bytes + round_up_4(note.n_descsz);
		if (used > bytes)
			return NULL;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    mw_same_bytes(notes + sizeof note, "GNU", 4) && note.n_descsz > 0) {
			*id_bytes = note.n_descsz;
			return notes + sizeof note + name_bytes;
		}
		notes += used;
		bytes -= used;
	}
	return NULL;
}

/* Bytes of the build-id that enter the stamp. Linkers write 20 bytes (SHA-1); of more the first
 * ones count. */
#define STAMPED_BYTES 16u

static uint64_t mix(uint64_t hash, uint64_t value) {
	unsigned __int128 product = (unsigned __int128)(hash ^ value) * 0x9e3779b97f4a7c15u;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t stamp_of(const struct dl_find_object *found, uintptr_t build_id) {
	uint64_t words[STAMPED_BYTES / sizeof(uint64_t)];
	memcpy(words, (const void *)build_id, sizeof words);
	uint64_t hash = mix(words[0], (uintptr_t)found->dlfo_map_start);
	hash = mix(hash ^ words[1], (uintptr_t)found->dlfo_map_end);
	hash = mix(hash, (uintptr_t)found->dlfo_eh_frame);
	return hash ? hash : 1;
}

/* Reads only the object's first page, which every object at this address has. Notes lie behind the
 * headers. */
static void stamp(const struct dl_find_object *found, const ElfW(Phdr) * headers, unsigned count,
		  mw_os_object_t *object) {
	uintptr_t start = (uintptr_t)found->dlfo_map_start, bias = found->dlfo_link_map->l_addr;
	object->stamp = object->build_id = 0;
	for (unsigned i = 0; i < count && !object->build_id; i++) {
		uintptr_t at = bias + headers[i].p_vaddr - start;
		if (headers[i].p_type != PT_NOTE || at >= MW_OS_PAGE_BYTES ||
		    headers[i].p_memsz > MW_OS_PAGE_BYTES - at)
			continue;
		uint32_t id_bytes;
		const char *id = mw_os_object_build_id((const char *)(start + at),
						       headers[i].p_memsz, &id_bytes);
		if (id && id_bytes >= STAMPED_BYTES)
			object->build_id = (uintptr_t)id;
	}
	if (object->build_id)
		object->stamp = stamp_of(found, object->build_id);
}

bool mw_os_object_is_there(const mw_os_object_t *object, uintptr_t address) {
	struct dl_find_object found;
	return object->stamp != 0 && mw_libc_calls._dl_find_object((void *)address, &found) == 0 &&
	       /* The build-id then lies on the first page, which exists for every object at the
		* address. */
	       object->build_id - (uintptr_t)found.dlfo_map_start <
		       MW_OS_PAGE_BYTES - STAMPED_BYTES &&
	       stamp_of(&found, object->build_id) == object->stamp;
}

bool mw_os_object_has_loader(void) {
	return mw_libc_calls._dl_find_object != NULL;
}

bool mw_os_object_find_loaded(uintptr_t address, mw_os_object_t *object) {
	struct dl_find_object found;
	if (!mw_os_object_has_loader() ||
	    mw_libc_calls._dl_find_object((void *)address, &found) != 0)
		return false;
	/* The program headers give the exact segments: the mapping may have gaps. A loader maps the
	 * ELF header, at the beginning of the file, with the first segment. */
	uintptr_t start = (uintptr_t)found.dlfo_map_start;
	size_t mapped_bytes = (uintptr_t)found.dlfo_map_end - start;
	ElfW(Ehdr) elf;
	if (mapped_bytes < MW_OS_PAGE_BYTES)
		return false;
	memcpy(&elf, found.dlfo_map_start, sizeof(elf));
	if (!mw_same_bytes(elf.e_ident, ELFMAG, SELFMAG) || elf.e_phnum == 0 ||
	    elf.e_phnum > HEADERS_MAX || elf.e_phentsize != sizeof(ElfW(Phdr)) ||
	    elf.e_phoff % sizeof(uintptr_t) != 0 ||
	    elf.e_phoff > MW_OS_PAGE_BYTES - elf.e_phnum * sizeof(ElfW(Phdr)))
		return false;
	const ElfW(Phdr) *headers = (const ElfW(Phdr) *)(start + elf.e_phoff);
	uintptr_t bias = found.dlfo_link_map->l_addr;
	if (!mw_os_object_describe(headers, elf.e_phnum, bias, address, object))
		return false;
	bool inside = object->data_lo >= start && object->data_hi <= start + mapped_bytes;
	if (!inside || object->eh_frame_hdr != (uintptr_t)found.dlfo_eh_frame)
		object->eh_frame_hdr = object->data_lo = object->data_hi = 0;
	stamp(&found, headers, elf.e_phnum, object);
	return true;
}
