/* SPDX-License-Identifier: MIT
 * copied_stack.c -- has libdwfl unwind by the files' unwind tables. */
#include "live/outside/copied_stack.h"

#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/memory.h"

/* No stack is that large: an address so far above is no address of the stack. */
#define STACK_BYTES_MAX ((uint64_t)8 << 20)

/* Numbers of registers (live/bpf/programs.h). */
enum { STACK_POINTER = MW_PROBE_STACK_POINTER, PC = MW_PROBE_REGISTERS - 1 };

struct mw_copied_stacks {
	Dwfl *dwfl;
	mw_outside_modules_t *modules;
	size_t reported; /* modules that libdwfl knows */
	int pid;
	bool is_attached;
	/* The walk at hand. */
	const mw_copied_thread_t *thread;
	uint64_t caller; /* return address of the function, if is_at_entry */
	uint64_t *frames;
	size_t count;
	bool is_cut;
};

/* The unwind tables are in the files themselves: nothing is searched. */
static int find_no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			     const char *file, const char *link, GElf_Word crc, char **found) {
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
	*found = NULL;
	return -1;
}

static int find_no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		       char **file, Elf **elf) {
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)elf;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_no_elf,
	.find_debuginfo = find_no_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static pid_t next_thread(Dwfl *dwfl, void *argument, void **thread) {
	(void)dwfl;
	if (*thread != NULL)
		return 0;
	*thread = argument;
	return ((mw_copied_stacks_t *)argument)->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t thread, void *argument, void **out) {
	(void)dwfl, (void)thread;
	*out = argument;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *argument) {
	mw_copied_stacks_t *stacks = argument;
	const mw_copied_thread_t *thread = stacks->thread;
	(void)dwfl;
	if (address < thread->start)
		return false;
	uint64_t offset = address - thread->start;
	if (offset > thread->copied || thread->copied - offset < sizeof(uint64_t)) {
		stacks->is_cut |= offset < STACK_BYTES_MAX;
		return false;
	}
	memcpy(result, thread->memory + offset, sizeof(uint64_t));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *argument) {
	const mw_copied_stacks_t *stacks = argument;
	Dwarf_Word words[MW_PROBE_REGISTERS];
	for (int i = 0; i < MW_PROBE_REGISTERS; i++)
		words[i] = stacks->thread->registers[i];
	if (stacks->thread->is_at_entry) {
		words[STACK_POINTER] += sizeof(uint64_t);
		words[PC] = stacks->caller;
	}
	return dwfl_thread_state_registers(thread, 0, MW_PROBE_REGISTERS, words);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static int take_frame(Dwfl_Frame *frame, void *argument) {
	mw_copied_stacks_t *stacks = argument;
	Dwarf_Addr pc;
	bool is_exact;
	if (!dwfl_frame_pc(frame, &pc, &is_exact) || pc == 0 ||
	    stacks->count == MW_OUTSIDE_FRAMES_MAX)
		return DWARF_CB_ABORT;
	/* A walk that begins in the caller: its first address is a return address, too. */
	bool is_caller = stacks->thread->is_at_entry && stacks->count == 1;
	stacks->frames[stacks->count++] = is_exact && !is_caller ? pc : pc - 1;
	return DWARF_CB_OK;
}

static void keep_build_id(mw_outside_module_t *module, Dwfl_Module *known) {
	const unsigned char *bytes;
	GElf_Addr address;
	int count = dwfl_module_build_id(known, &bytes, &address);
	for (int i = 0; i < count && (size_t)i * 2 + 2 < sizeof(module->build_id); i++)
		snprintf(module->build_id + 2 * i, 3, "%02x", bytes[i]);
}

void mw_copied_stacks_renew(mw_copied_stacks_t *stacks) {
	mw_outside_modules_t *modules = stacks->modules;
	dwfl_report_begin_add(stacks->dwfl);
	for (; stacks->reported < modules->count; stacks->reported++) {
		mw_outside_module_t *module = &modules->all[stacks->reported];
		int fd = dup(module->fd); /* libdwfl closes it, if it takes it */
		Dwfl_Module *known = dwfl_report_elf(stacks->dwfl, module->path, module->path, fd,
						     module->base, false);
		if (known == NULL)
			close(fd);
		else
			keep_build_id(module, known);
	}
	dwfl_report_end(stacks->dwfl, NULL, NULL);
	if (!stacks->is_attached)
		stacks->is_attached = dwfl_attach_state(stacks->dwfl, NULL, stacks->pid,
							&thread_callbacks, stacks);
}

mw_copied_stacks_t *mw_copied_stacks_new(mw_outside_modules_t *modules, int pid,
					 mw_error_t *error) {
	mw_copied_stacks_t *stacks = mw_xcalloc(1, sizeof(*stacks));
	stacks->modules = modules;
	stacks->pid = pid;
	stacks->dwfl = dwfl_begin(&callbacks);
	if (stacks->dwfl != NULL)
		mw_copied_stacks_renew(stacks);
	if (stacks->is_attached)
		return stacks;
	mw_error_set(error, "pid %d: cannot read its unwind tables: %s", pid, dwfl_errmsg(-1));
	mw_copied_stacks_free(stacks);
	return NULL;
}

void mw_copied_stacks_free(mw_copied_stacks_t *stacks) {
	if (stacks->dwfl != NULL)
		dwfl_end(stacks->dwfl);
	free(stacks);
}

/* Where a probe is, the stack pointer is as at the call, and musl has no unwind tables. */
static void walk_from_entry(mw_copied_stacks_t *stacks) {
	const uint64_t *registers = stacks->thread->registers;
	Dwarf_Word caller;
	stacks->frames[stacks->count++] = registers[PC];
	if (!read_memory(stacks->dwfl, registers[STACK_POINTER], &caller, stacks))
		return;
	stacks->caller = caller;
	dwfl_getthread_frames(stacks->dwfl, stacks->pid, take_frame, stacks);
	if (stacks->count == 1 && caller != 0)
		stacks->frames[stacks->count++] = caller - 1;
}

size_t mw_copied_stacks_walk(mw_copied_stacks_t *stacks, const mw_copied_thread_t *thread,
			     uint64_t frames[MW_OUTSIDE_FRAMES_MAX], bool *is_cut) {
	stacks->thread = thread;
	stacks->frames = frames;
	stacks->count = 0;
	stacks->is_cut = false;
	if (thread->is_at_entry)
		walk_from_entry(stacks);
	else
		dwfl_getthread_frames(stacks->dwfl, stacks->pid, take_frame, stacks);
	if (stacks->count == 0)
		frames[stacks->count++] = thread->registers[PC];
	if (is_cut != NULL)
		*is_cut = stacks->is_cut;
	return stacks->count;
}
