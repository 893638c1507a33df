/* SPDX-License-Identifier: MIT
 * replaced_slots.c -- replaces slots of global offset tables while other threads use them, and
 * puts them back where they are still the blob's. */
#include <elf.h>
#include <link.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "attach/blob.h"
#include "attach/thread_records.h"
#include "base/libc_text.h"
#include "os/memory/map.h"
#include "os/platform/system_call.h"
#include "os/unwind/stack.h"

#define WORK (&mw_attach_work)

static const char *const symbols[MW_ATTACH_FUNCTION_COUNT] = {
#define SYMBOL(name, symbol) [MW_ATTACH_##name] = symbol,
	MW_ATTACH_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static bool protect(uintptr_t address, int protection) {
	uintptr_t page = address & ~(uintptr_t)(mw_os_page_bytes() - 1);
	return mw_system_call(SYS_mprotect, page, mw_os_page_bytes(), protection) == 0;
}

/* Returns whether the word can be written. The kernel writes its value back (a futex operation that
 * wakes nobody), and says EFAULT where a store would be a fault. */
static bool is_writable(uintptr_t word) {
	uint32_t unused = 0;
	return mw_enter_kernel(SYS_futex, (long)&unused, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0,
			       (long)word, FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0)) >= 0;
}

static bool holds(const mw_attach_slot_t *slot, uint64_t value) {
	return slot->address % sizeof value == 0 && mw_os_is_readable(slot->address) &&
	       atomic_load_explicit((_Atomic uint64_t *)slot->address, memory_order_relaxed) ==
		       value;
}

/* Returns whether the slot had the value `from`, and has the value `to` now. `is_open`: its page
 * can be written. */
static bool exchange(const mw_attach_slot_t *slot, uint64_t from, uint64_t to, bool is_open) {
	if (!is_open && !protect(slot->address, PROT_READ | PROT_WRITE))
		return false;
	/* Release: a thread that calls the new function sees what it needs. */
	bool done = atomic_compare_exchange_strong_explicit((_Atomic uint64_t *)slot->address,
							    &from, to, memory_order_release,
							    memory_order_relaxed);
	if (!is_open)
		protect(slot->address, PROT_READ);
	return done;
}

/* A page that the dynamic linker closes once the module is relocated, and that is open yet, is
 * being written by another thread, which closes it at any moment. A page that should be open and
 * is not was closed by the program. */
static void replace(mw_attach_slot_t *slot) {
	bool is_open = slot->protection & PROT_WRITE;
	bool done = slot->function < MW_ATTACH_FUNCTION_COUNT &&
		    WORK->original[slot->function] != 0 && holds(slot, slot->original) &&
		    is_writable(slot->address) == is_open &&
		    exchange(slot, slot->original, WORK->replacement[slot->function], is_open);
	slot->replaced = done;
	if (done)
		atomic_fetch_add_explicit(&WORK->slots_replaced, 1, memory_order_relaxed);
	else
		WORK->slots_refused++;
}

/* Its module may have been unloaded: nothing is changed where another value is found. */
static void restore(mw_attach_slot_t *slot) {
	const uint64_t replacement = WORK->replacement[slot->function];
	if (slot->replaced && holds(slot, replacement))
		exchange(slot, replacement, slot->original, is_writable(slot->address));
	slot->replaced = false;
}

bool mw_attach_lock_slots(void) {
	return !atomic_exchange_explicit(&mw_attach_wiped.slots_are_locked, true,
					 memory_order_acquire);
}

void mw_attach_unlock_slots(void) {
	atomic_store_explicit(&mw_attach_wiped.slots_are_locked, false, memory_order_release);
}

void mw_attach_replace_slots(void) {
	atomic_store_explicit(&WORK->slots_replaced, 0, memory_order_relaxed);
	atomic_store_explicit(&WORK->modules_later, 0, memory_order_relaxed);
	WORK->slots_refused = 0;
	for (uint64_t i = 0; i < WORK->slot_count; i++)
		replace(&mw_attach_slots[i]);
}

void mw_attach_restore_slots(void) {
	for (uint64_t i = 0; i < WORK->slot_count; i++)
		restore(&mw_attach_slots[i]);
}

/* ---- modules that come later ---- */

/* The parts of a module's dynamic section that its relocations need; 0: it has none. */
typedef struct dynamic {
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * tables[2];
	size_t bytes[2];
} dynamic_t;

static uintptr_t in_module(uintptr_t bias, uintptr_t pointer) {
	/* glibc has added the bias already, musl has not. */
	return pointer < bias ? pointer + bias : pointer;
}

static dynamic_t read_dynamic(const struct dl_phdr_info *info) {
	dynamic_t result = {0};
	const ElfW(Dyn) *entry = NULL;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		uintptr_t at = in_module(info->dlpi_addr, entry->d_un.d_ptr);
		switch (entry->d_tag) {
		case DT_SYMTAB:
			result.symbols = (const ElfW(Sym) *)at;
			break;
		case DT_STRTAB:
			result.names = (const char *)at;
			break;
		case DT_RELA:
			result.tables[0] = (const ElfW(Rela) *)at;
			break;
		case DT_RELASZ:
			result.bytes[0] = entry->d_un.d_val;
			break;
		case DT_JMPREL:
			result.tables[1] = (const ElfW(Rela) *)at;
			break;
		case DT_PLTRELSZ:
			result.bytes[1] = entry->d_un.d_val;
			break;
		default:
			break;
		}
	}
	if (!result.symbols || !result.names)
		result.tables[0] = result.tables[1] = NULL;
	return result;
}

static bool is_slot(const ElfW(Rela) * relocation) {
#if defined(__x86_64__)
	uint32_t type = ELF64_R_TYPE(relocation->r_info);
	return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
#else
	(void)relocation;
	return false;
#endif
}

static unsigned function_of(const char *name) {
	unsigned f = 0;
	while (f < MW_ATTACH_FUNCTION_COUNT &&
	       (WORK->original[f] == 0 || mw_strcmp(symbols[f], name) != 0))
		f++;
	return f;
}

/* Whole pages, which the dynamic linker closes once the module is relocated; empty: there are
 * none. */
typedef struct relro {
	uintptr_t start, limit;
} relro_t;

static relro_t relro_of(const struct dl_phdr_info *info) {
	uintptr_t mask = ~(uintptr_t)(mw_os_page_bytes() - 1);
	relro_t result = {0};
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + header->p_vaddr;
		if (header->p_type == PT_GNU_RELRO)
			result = (relro_t){start & mask, (start + header->p_memsz) & mask};
	}
	return result;
}

/* PROT_* of the address, when the module is relocated. */
static int protection_of(const struct dl_phdr_info *info, uintptr_t address) {
	relro_t relro = relro_of(info);
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		bool is_inside = address - info->dlpi_addr - header->p_vaddr < header->p_memsz;
		/* A relocation in code: another kind of module than this file handles. */
		if (is_inside && header->p_type == PT_LOAD && !(header->p_flags & PF_W))
			return 0;
	}
	bool is_closed = address >= relro.start && address < relro.limit;
	return PROT_READ | (is_closed ? 0 : PROT_WRITE);
}

/* Modules are in the list before they are relocated. One without pages to close cannot be told:
 * its slots are taken by their values. */
static bool is_relocated(const struct dl_phdr_info *info) {
	relro_t relro = relro_of(info);
	return relro.start >= relro.limit || !is_writable(relro.start);
}

static bool is_in_module(const struct dl_phdr_info *info, uint64_t address) {
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
			    info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

static uint64_t value_at(uintptr_t slot) {
	return *(volatile uint64_t *)slot;
}

/* A function that visit_slots() calls with each slot of a module. */
typedef void visitor_t(const struct dl_phdr_info *info, uintptr_t address, unsigned function,
		       bool *is_mixed);

/* Sets *is_mixed if the slot is bound to another allocator's function. */
static void find_other(const struct dl_phdr_info *info, uintptr_t address, unsigned function,
		       bool *is_mixed) {
	uint64_t value = value_at(address);
	if (function != MW_ATTACH_dlopen && function != MW_ATTACH_prctl && value != 0 &&
	    value != WORK->original[function] && value != WORK->replacement[function] &&
	    !is_in_module(info, value))
		*is_mixed = true;
}

/* Takes a slot that leads to the allocator's function. An unbound one leads to the module's own
 * stub, and will be bound to this function unless others of the module are not (RTLD_DEEPBIND). */
static void add_slot(const struct dl_phdr_info *info, uintptr_t address, unsigned function,
		     bool *is_mixed) {
	int protection = protection_of(info, address);
	if (WORK->slot_count == MW_ATTACH_SLOTS_MAX || protection == 0)
		return;
	uint64_t value = value_at(address);
	if (value != WORK->original[function] && (*is_mixed || !is_in_module(info, value)))
		return;
	mw_attach_slot_t *slot = &mw_attach_slots[WORK->slot_count];
	*slot = (mw_attach_slot_t){.address = address,
				   .original = value,
				   .function = function,
				   .protection = (uint16_t)protection};
	replace(slot);
	WORK->slot_count++;
}

static void visit_slots(const struct dl_phdr_info *info, visitor_t *visitor, bool *is_mixed) {
	dynamic_t dynamic = read_dynamic(info);
	for (unsigned t = 0; t < 2; t++) {
		const ElfW(Rela) *relocation = dynamic.tables[t];
		size_t count = relocation ? dynamic.bytes[t] / sizeof *relocation : 0;
		for (; count > 0; count--, relocation++) {
			const ElfW(Sym) *symbol = &dynamic.symbols[ELF64_R_SYM(relocation->r_info)];
			if (!is_slot(relocation) || relocation->r_addend != 0 ||
			    symbol->st_shndx != SHN_UNDEF)
				continue;
			unsigned function = function_of(dynamic.names + symbol->st_name);
			uintptr_t address = info->dlpi_addr + relocation->r_offset;
			if (function < MW_ATTACH_FUNCTION_COUNT && address % sizeof(uint64_t) == 0)
				visitor(info, address, function, is_mixed);
		}
	}
}

static void add_slots(const struct dl_phdr_info *info) {
	bool is_mixed = false;
	visit_slots(info, find_other, &is_mixed);
	visit_slots(info, add_slot, &is_mixed);
}

static bool is_known(const struct dl_phdr_info *info) {
	for (uint64_t i = 0; i < WORK->module_count; i++)
		if (mw_attach_modules[i].headers == (uintptr_t)info->dlpi_phdr &&
		    mw_attach_modules[i].bias == info->dlpi_addr)
			return true;
	return false;
}

/* Takes out slots that do not hold the blob's function any more: their modules were unloaded. */
static void drop_slots(void) {
	uint64_t kept = 0;
	for (uint64_t i = 0; i < WORK->slot_count; i++) {
		const mw_attach_slot_t *slot = &mw_attach_slots[i];
		if (slot->replaced && holds(slot, WORK->replacement[slot->function]))
			mw_attach_slots[kept++] = *slot;
		else if (slot->replaced)
			atomic_fetch_sub_explicit(&WORK->slots_replaced, 1, memory_order_relaxed);
	}
	WORK->slot_count = kept;
}

/* One walk through the list of modules. */
typedef struct walk {
	bool is_incomplete;
	bool is_after_unload; /* modules at known addresses may be others */
} walk_t;

/* Called first in a walk. The lock of dl_iterate_phdr() keeps modules from being unloaded. */
static void see_unloads(const struct dl_phdr_info *info, size_t bytes, walk_t *walk) {
	static unsigned long long unloads;
	const size_t end = offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs;
	if (bytes < end || info->dlpi_subs == unloads)
		return;
	unloads = info->dlpi_subs;
	walk->is_after_unload = true;
	drop_slots();
}

static int see_module(struct dl_phdr_info *info, size_t bytes, void *argument) {
	walk_t *walk = argument;
	see_unloads(info, bytes, walk);
	bool is_there = is_known(info);
	if (is_there ? !walk->is_after_unload : WORK->module_count == MW_ATTACH_MODULES_MAX)
		return 0;
	if (!is_relocated(info)) {
		walk->is_incomplete = true;
		return 0;
	}
	if (is_there) {
		add_slots(info);
		return 0;
	}
	mw_attach_modules[WORK->module_count++] = (mw_attach_module_t){
		.bias = info->dlpi_addr,
		.headers = (uintptr_t)info->dlpi_phdr,
		.header_count = info->dlpi_phnum,
		.name = (uintptr_t)info->dlpi_name,
	};
	atomic_fetch_add_explicit(&WORK->modules_later, 1, memory_order_relaxed);
	add_slots(info);
	return 0;
}

bool mw_attach_look_for_modules(void) {
	walk_t walk = {0};
	int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *) =
		(void *)WORK->dl_iterate_phdr;
	if (!iterate)
		return true;
	if (!mw_attach_lock_slots())
		return false;
	if (mw_attach_state() == MW_ATTACH_ON)
		iterate(see_module, &walk);
	mw_attach_show_counts();
	mw_attach_unlock_slots();
	return !walk.is_incomplete;
}
