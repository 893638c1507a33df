/* SPDX-License-Identifier: MIT
 * attach_host.h -- does to the calling process what `mallow attach` does to another one: loads the
 * blob, lists modules and slots, enters. */
#ifndef MALLOW_TESTS_ATTACH_HOST_H
#define MALLOW_TESTS_ATTACH_HOST_H

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/attach.h"
#include "test.h"

static struct {
	char *base;
	size_t bytes;
	uintptr_t entry;
	mw_attach_work_t *work;
	mw_attach_module_t *modules;
	mw_attach_slot_t *slots;
} host;

static const char *const host_symbols[] = {
#define HOST_SYMBOL(name, symbol) symbol,
	MW_ATTACH_FUNCTIONS(HOST_SYMBOL)
#undef HOST_SYMBOL
};

static char *host_read_blob(void) {
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
	CHECK(length > 0);
	path[length] = '\0';
	strcpy(strrchr(path, '/'), "/../lib/mallow/attach.bin");
	int file = open(path, O_RDONLY);
	struct stat status;
	CHECK(file >= 0 && fstat(file, &status) == 0);
	char *elf = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	CHECK(elf != MAP_FAILED);
	close(file);
	return elf;
}

static void host_relocate(const Elf64_Phdr *dynamic) {
	const Elf64_Dyn *entry = (const Elf64_Dyn *)(host.base + dynamic->p_vaddr);
	const Elf64_Rela *relocation = NULL;
	size_t bytes = 0;
	for (; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_RELA)
			relocation = (const Elf64_Rela *)(host.base + entry->d_un.d_ptr);
		if (entry->d_tag == DT_RELASZ)
			bytes = entry->d_un.d_val;
	}
	for (size_t i = 0; i < bytes / sizeof *relocation; i++) {
		uint64_t value = (uintptr_t)host.base + (uint64_t)relocation[i].r_addend;
		uint32_t type = ELF64_R_TYPE(relocation[i].r_info);
		CHECK(type == R_X86_64_RELATIVE || type == R_X86_64_DTPMOD64);
		if (type == R_X86_64_RELATIVE)
			memcpy(host.base + relocation[i].r_offset, &value, sizeof value);
	}
}

static void host_read_note(const Elf64_Phdr *notes) {
	const char *at = host.base + notes->p_vaddr, *end = at + notes->p_memsz;
	while (at < end) {
		Elf64_Nhdr note;
		memcpy(&note, at, sizeof note);
		const char *name = at + sizeof note, *content = name + ((note.n_namesz + 3) & ~3u);
		if (note.n_type == MW_ATTACH_NOTE_TYPE && strcmp(name, MW_ATTACH_NOTE_OWNER) == 0) {
			const mw_attach_note_t *found = (const mw_attach_note_t *)content;
			CHECK_EQ(found->version, MW_ATTACH_VERSION);
			host.entry =
				(uintptr_t)((intptr_t)&found->entry_offset + found->entry_offset);
			host.work = (mw_attach_work_t *)((intptr_t)&found->work_offset +
							 found->work_offset);
		}
		at = content + ((note.n_descsz + 3) & ~3u);
	}
}

static void host_load(void) {
	const char *elf = host_read_blob();
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(elf + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			host.bytes = (segments[i].p_vaddr + segments[i].p_memsz + 4095) & ~4095ull;
	host.base =
		mmap(NULL, host.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(host.base != MAP_FAILED);
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			memcpy(host.base + segments[i].p_vaddr, elf + segments[i].p_offset,
			       segments[i].p_filesz);
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type == PT_DYNAMIC)
			host_relocate(&segments[i]);
		if (segments[i].p_type == PT_NOTE)
			host_read_note(&segments[i]);
	}
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X)
			CHECK(mprotect(host.base + segments[i].p_vaddr,
				       (segments[i].p_memsz + 4095) & ~4095ull,
				       PROT_READ | PROT_EXEC) == 0);
	CHECK(host.work && host.work->version == MW_ATTACH_VERSION &&
	      host.work->work_bytes == sizeof *host.work);
	host.work->blob_address = (uintptr_t)host.base;
	host.work->blob_bytes = host.bytes;
	host.modules = (mw_attach_module_t *)host.work->modules;
	host.slots = (mw_attach_slot_t *)host.work->slots;
}

static void host_add_slot(const struct dl_phdr_info *info, uintptr_t address, unsigned function) {
	bool is_relro = false;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		is_relro |= info->dlpi_phdr[i].p_type == PT_GNU_RELRO &&
			    address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
				    info->dlpi_phdr[i].p_memsz;
	CHECK(host.work->slot_count < MW_ATTACH_SLOTS_MAX);
	host.slots[host.work->slot_count++] = (mw_attach_slot_t){
		.address = address,
		.original = *(const uint64_t *)address,
		.function = function,
		.protection = PROT_READ | (is_relro ? 0 : PROT_WRITE),
	};
}

static void host_add_slots(const struct dl_phdr_info *info, const Elf64_Rela *relocation,
			   size_t count, const Elf64_Sym *symbols, const char *names) {
	for (size_t i = 0; i < count; i++) {
		uint32_t type = ELF64_R_TYPE(relocation[i].r_info);
		const char *name = names + symbols[ELF64_R_SYM(relocation[i].r_info)].st_name;
		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;
		for (unsigned f = 0; f < MW_ATTACH_FUNCTION_COUNT; f++)
			if (host.work->original[f] && strcmp(name, host_symbols[f]) == 0)
				host_add_slot(info, info->dlpi_addr + relocation[i].r_offset, f);
	}
}

static int host_see_module(struct dl_phdr_info *info, size_t bytes, void *unused) {
	(void)bytes;
	(void)unused;
	const Elf64_Dyn *entry = NULL;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const Elf64_Dyn *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	host.modules[host.work->module_count++] = (mw_attach_module_t){
		.bias = info->dlpi_addr,
		.headers = (uintptr_t)info->dlpi_phdr,
		.header_count = info->dlpi_phnum,
		.name = (uintptr_t)info->dlpi_name,
	};
	uintptr_t value[DT_NUM] = {0};
	for (; entry && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag < DT_NUM)
			value[entry->d_tag] = entry->d_un.d_ptr;
	if (!strstr(info->dlpi_name, ".so") && info->dlpi_name[0])
		return 0; /* the vdso */
	host_add_slots(info, (const Elf64_Rela *)value[DT_JMPREL],
		       value[DT_PLTRELSZ] / sizeof(Elf64_Rela), (const Elf64_Sym *)value[DT_SYMTAB],
		       (const char *)value[DT_STRTAB]);
	host_add_slots(info, (const Elf64_Rela *)value[DT_RELA],
		       value[DT_RELASZ] / sizeof(Elf64_Rela), (const Elf64_Sym *)value[DT_SYMTAB],
		       (const char *)value[DT_STRTAB]);
	return 0;
}

static void host_list(void) {
	mw_attach_work_t *work = host.work;
	for (unsigned f = 0; f < MW_ATTACH_FUNCTION_COUNT; f++)
		if (host_symbols[f][0] != '_' && !strstr(host_symbols[f], "allocx"))
			work->original[f] = (uintptr_t)dlsym(RTLD_DEFAULT, host_symbols[f]);
	work->malloc_usable_size = (uintptr_t)dlsym(RTLD_DEFAULT, "malloc_usable_size");
	work->dl_find_object = (uintptr_t)dlsym(RTLD_DEFAULT, "_dl_find_object");
	work->dl_iterate_phdr = (uintptr_t)dlsym(RTLD_DEFAULT, "dl_iterate_phdr");
	work->module_count = work->slot_count = 0;
	dl_iterate_phdr(host_see_module, NULL);
}

/* Enters as a thread does that was stopped between two instructions: all registers and the flags
 * have values of their own, which the blob has to put back. Returns the registers afterwards. */
#define HOST_REGISTERS 15
static void host_enter_with(uint64_t entry, const uint64_t *before, uint64_t *after) {
	__asm__ volatile(
		"pushq %%rbp\n pushq %%rbx\n pushq %[after]\n"
		"movq %%rsp, %%r12\n"
		"subq $512, %%rsp\n"
		"andq $-64, %%rsp\n"
		/* the frame */
		"xorl %%ecx, %%ecx\n"
		"2: movq (%[before],%%rcx,8), %%rax\n"
		"movq %%rax, (%%rsp,%%rcx,8)\n"
		"incl %%ecx\n"
		"cmpl $15, %%ecx\n"
		"jne 2b\n"
		"leaq 1f(%%rip), %%rax\n movq %%rax, 120(%%rsp)\n"
		"movl %%cs, %%eax\n movq %%rax, 128(%%rsp)\n"
		"pushfq\n popq %%rax\n orl $0x1, %%eax\n movq %%rax, 136(%%rsp)\n"
		"movq %%r12, 144(%%rsp)\n"
		"movl %%ss, %%eax\n movq %%rax, 152(%%rsp)\n"
		"jmp *%[entry]\n"
		"1: xchgq %%rax, (%%rsp)\n" /* the address of `after`; the stack gets rax */
		"movq %%rbx, 8(%%rax)\n movq %%rcx, 16(%%rax)\n movq %%rdx, 24(%%rax)\n"
		"movq %%rsi, 32(%%rax)\n movq %%rdi, 40(%%rax)\n movq %%rbp, 48(%%rax)\n"
		"movq %%r8, 56(%%rax)\n movq %%r9, 64(%%rax)\n movq %%r10, 72(%%rax)\n"
		"movq %%r11, 80(%%rax)\n movq %%r12, 88(%%rax)\n movq %%r13, 96(%%rax)\n"
		"movq %%r14, 104(%%rax)\n movq %%r15, 112(%%rax)\n"
		"popq %%rcx\n movq %%rcx, (%%rax)\n"
		"popq %%rbx\n popq %%rbp\n"
		:
		: [entry] "r"(entry), [before] "r"(before), [after] "r"(after)
		: "rax", "rcx", "r12", "rdx", "rsi", "rdi", "r13", "r14", "r15", "memory", "cc");
}

static uint32_t host_request(uint32_t request) {
	uint64_t before[HOST_REGISTERS], after[HOST_REGISTERS] = {0};
	for (unsigned i = 0; i < HOST_REGISTERS; i++)
		before[i] = 0x1122334455667700u + i;
	host.work->request = request;
	atomic_fetch_add_explicit(&host.work->requested, 1, memory_order_release);
	double kept = 0.125 * (double)request;
	host_enter_with(host.entry, before, after);
	CHECK_EQ(atomic_load(&host.work->answered), atomic_load(&host.work->requested));
	for (unsigned i = 0; i < HOST_REGISTERS; i++)
		CHECK_EQ(after[i], before[i]);
	CHECK(kept == 0.125 * (double)request);
	return host.work->reason;
}

static uint32_t host_attach(uint64_t mean_bytes) {
	if (!host.base)
		host_load();
	host_list();
	host.work->mean_bytes = mean_bytes;
	return host_request(MW_ATTACH_START);
}

#endif
