/* SPDX-License-Identifier: MIT
 * made_object.h -- a loaded object that a test makes, with symbols that lead anywhere. */
#ifndef MW_TEST_MADE_OBJECT_H
#define MW_TEST_MADE_OBJECT_H

#include <elf.h>
#include <link.h>
#include <stdio.h>

typedef struct made_object {
	ElfW(Sym) symbols[16];
	char strings[512];
	uint32_t hash[2];
	ElfW(Rela) relocation;
	ElfW(Dyn) dynamic[6];
	unsigned count, used;
	struct link_map link_map;
} made_object_t;

static inline void made_object_begin(made_object_t *o) {
	*o = (made_object_t){.count = 1, .used = 1};
}

static inline void made_object_add(made_object_t *o, const char *name, const void *address,
				   size_t bytes) {
	o->symbols[o->count++] = (ElfW(Sym)){.st_name = o->used,
					     .st_info = STT_OBJECT,
					     .st_shndx = 1,
					     .st_value = (uintptr_t)address,
					     .st_size = bytes};
	o->used += (unsigned)sprintf(o->strings + o->used, "%s", name) + 1;
}

/* Adds a thread-local variable of the block with the number *module. */
static inline void made_object_add_thread_local(made_object_t *o, const char *name,
						const size_t *module, size_t offset) {
	unsigned index = o->count;
	made_object_add(o, name, (const void *)offset, sizeof(void *));
	o->symbols[index].st_info = STT_TLS;
	o->relocation = (ElfW(Rela)){.r_offset = (uintptr_t)module,
				     .r_info = ELF64_R_INFO(index, R_X86_64_DTPMOD64)};
	o->dynamic[3] = (ElfW(Dyn)){.d_tag = DT_RELA, .d_un.d_ptr = (uintptr_t)&o->relocation};
	o->dynamic[4] = (ElfW(Dyn)){.d_tag = DT_RELASZ, .d_un.d_val = sizeof o->relocation};
}

/* Called when all symbols are there. */
static inline void made_object_finish(made_object_t *o) {
	o->hash[1] = o->count;
	o->dynamic[0] = (ElfW(Dyn)){.d_tag = DT_SYMTAB, .d_un.d_ptr = (uintptr_t)o->symbols};
	o->dynamic[1] = (ElfW(Dyn)){.d_tag = DT_STRTAB, .d_un.d_ptr = (uintptr_t)o->strings};
	o->dynamic[2] = (ElfW(Dyn)){.d_tag = DT_HASH, .d_un.d_ptr = (uintptr_t)o->hash};
	o->link_map.l_ld = o->dynamic;
}

#endif
