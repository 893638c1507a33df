/* SPDX-License-Identifier: MIT
 * attach_target.c -- asks /proc and the process's memory, cheap questions first. */
#include "live/inject/attach_target.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "live/enter/thread_entry.h"
#include "live/enter/thread_registers.h"
#include "live/inject/injected.h"
#include "live/loaded/exported_functions.h"

/* Returns kernel.yama.ptrace_scope; 0: the kernel has no such limit. */
static int ptrace_scope(void) {
	int scope = 0;
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	if (file != NULL && fscanf(file, "%d", &scope) != 1)
		scope = 0;
	if (file != NULL)
		fclose(file);
	return scope;
}

/* Why the memory of the process cannot be opened. */
static int say_closed(const mw_process_t *process, int why, mw_error_t *error) {
	int pid = process->pid, scope = ptrace_scope();
	if (why == ENOENT || why == ESRCH)
		return mw_error_set(error, "pid %d: the process has ended", pid);
	if (process->euid != geteuid())
		return mw_error_set(error, "pid %d: it belongs to another user; root may attach",
				    pid);
	if (mw_process_is_closed(pid))
		return mw_error_set(error,
				    "pid %d: it may not be traced (it is set-uid, has "
				    "capabilities, or called prctl(PR_SET_DUMPABLE)); root may "
				    "attach",
				    pid);
	if (scope == 3)
		return mw_error_set(error,
				    "pid %d: kernel.yama.ptrace_scope is 3: nobody may trace until "
				    "the system is restarted; start the program with 'mallow run'",
				    pid);
	if (scope > 0)
		return mw_error_set(error,
				    "pid %d: kernel.yama.ptrace_scope is %d: run mallow as root, "
				    "or start the program with 'mallow run'",
				    pid, scope);
	return mw_error_set(error, "pid %d: its memory cannot be opened: %s; root may attach", pid,
			    strerror(why));
}

static int say_traced(int pid, long tracer, mw_error_t *error) {
	mw_process_t who = {.name = "a debugger"};
	mw_process_read((int)tracer, &who);
	return mw_error_set(error, "pid %d: process %ld (%s) traces it; end that first", pid,
			    tracer, who.name);
}

int mw_attach_open(const mw_process_t *process, mw_attach_target_t *out, mw_error_t *error) {
	int pid = process->pid, thread = mw_process_thread(pid);
	*out = (mw_attach_target_t){.space = {.memory = -1}};
	if (process->zombie)
		return mw_error_set(error, "pid %d: the process has ended", pid);
	if (process->is_kernel)
		return mw_error_set(error, "pid %d: it is a thread of the kernel", pid);
	if (mw_address_space_open(thread, &out->space) != 0)
		return say_closed(process, errno, error);
	long tracer = mw_status_number(thread, "TracerPid");
	return tracer > 0 ? say_traced(pid, tracer, error) : 0;
}

void mw_attach_close(mw_attach_target_t *target) {
	mw_slots_free(&target->slots);
	mw_modules_free(&target->modules);
	mw_address_space_close(&target->space);
}

/* Returns the class of the first ELF file that is mapped, the program; 0: unknown. */
static int program_class(const mw_address_space_t *space) {
	uint8_t ident[EI_NIDENT] = {0};
	for (size_t i = 0; i < space->count; i++)
		if (space->maps[i].inode != 0 && space->maps[i].offset == 0 &&
		    mw_address_space_read(space, space->maps[i].start, ident, sizeof(ident)) &&
		    memcmp(ident, ELFMAG, SELFMAG) == 0)
			return ident[EI_CLASS];
	return 0;
}

/* Returns whether a note of the program says that Go's compiler made it. */
static bool is_go(const mw_address_space_t *space, const mw_program_start_t *start) {
	Elf64_Phdr segment;
	Elf64_Nhdr note;
	char owner[4];
	uint64_t bias = 0;
	for (uint64_t i = 0; i < start->header_count && i < MW_MODULE_HEADERS_MAX; i++) {
		uint64_t at = start->headers + i * sizeof(segment);
		if (!mw_address_space_read(space, at, &segment, sizeof(segment)))
			return false;
		if (segment.p_type == PT_PHDR)
			bias = start->headers - segment.p_vaddr;
		if (segment.p_type == PT_NOTE &&
		    mw_address_space_read(space, bias + segment.p_vaddr, &note, sizeof(note)) &&
		    note.n_namesz == sizeof(owner) &&
		    mw_address_space_read(space, bias + segment.p_vaddr + sizeof(note), owner,
					  sizeof(owner)) &&
		    memcmp(owner, "Go\0", sizeof(owner)) == 0)
			return true;
	}
	return false;
}

static int say_static(int pid, bool is_of_go, mw_error_t *error) {
	if (is_of_go)
		return mw_error_set(error,
				    "pid %d: it is a Go program, which has no malloc; use its own "
				    "profiler (net/http/pprof)",
				    pid);
	return mw_error_set(error,
			    "pid %d: it is a static program, whose calls of malloc cannot be "
			    "redirected; 'mallow attach --outside %d' samples them in the kernel",
			    pid, pid);
}

/* A module of a sanitizer keeps memory of its own for each block. */
static bool has_sanitizer(const mw_attach_target_t *target) {
	static const char *const names[] = {"__asan_init", "__tsan_init", "__msan_init",
					    "__hwasan_init"};
	const mw_module_t *module;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (mw_modules_function(&target->space, &target->modules, names[i], &module) != 0)
			return true;
	return false;
}

/* Returns the number of filters of system calls (seccomp(2)) that the thread has; the strict mode
 * counts as more than any. */
static long filters_of(int thread) {
	long mode = mw_status_number(thread, "Seccomp");
	if (mode <= 0)
		return 0;
	/* Linux 5.9 and later; -1 before. */
	return mode == SECCOMP_MODE_FILTER ? 1 + mw_status_number(thread, "Seccomp_filters")
					   : LONG_MAX;
}

/* One thread is asked whether its filters allow what the profiler calls. All threads will call it,
 * and a filter of another one may end the program. */
static bool has_mixed_filters(int pid) {
	char path[64];
	bool is_mixed = false;
	long filters = filters_of(mw_process_thread(pid));
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *entries = opendir(path);
	for (struct dirent *entry;
	     entries != NULL && !is_mixed && (entry = readdir(entries)) != NULL;) {
		int thread = (int)strtol(entry->d_name, NULL, 10);
		is_mixed = thread > 0 && filters_of(thread) != filters && kill(thread, 0) == 0;
	}
	if (entries != NULL)
		closedir(entries);
	return is_mixed;
}

/* The program defines malloc itself, and its own calls go there without a slot. */
static int say_own_malloc(int pid, mw_error_t *error) {
	return mw_error_set(error,
			    "pid %d: its malloc is a part of the program, whose calls of it cannot "
			    "be redirected; link the program with its allocator's shared library, "
			    "or with libmallow.a",
			    pid);
}

/* A program's first modules are loaded within this time, also on a slow machine. */
enum { YOUNG_SECONDS = 10 };

/* Returns whether the dynamic linker of the process may be at the first modules yet. */
static bool is_young(const mw_process_t *process) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec <
	       mw_process_start_realtime_ns(process->start_ticks) / 1000000000u + YOUNG_SECONDS;
}

static int find_allocator(const mw_process_t *process, mw_attach_target_t *target,
			  mw_error_t *error) {
	const int pid = process->pid;
	mw_error_t why;
	mw_program_start_t start;
	if (!mw_program_start_read(mw_process_thread(pid), &start))
		return mw_error_set(error, "pid %d: the process has ended", pid);
	int status = mw_modules_read(&target->space, &start, &target->modules, &why);
	target->is_early = target->modules.is_unfinished;
	if (target->modules.is_static)
		return say_static(pid, is_go(&target->space, &start), error);
	if (status == 0)
		status = mw_allocator_find(&target->space, &target->modules, &target->allocator,
					   &why);
	if (status != 0) {
		/* At the program's start the list has the program only, and counts as finished. */
		target->is_early = target->is_early || is_young(process);
		return mw_error_set(error, "pid %d: %s; start it with 'mallow run'", pid, why.text);
	}
	if (has_sanitizer(target))
		return mw_error_set(error,
				    "pid %d: it is built with a sanitizer, whose allocator is its "
				    "own; attach to a build without it",
				    pid);
	if (target->allocator.module == &target->modules.items[0])
		return say_own_malloc(pid, error);
	mw_slots_find(&target->space, &target->modules, &target->allocator, &target->slots);
	target->is_early = target->slots.early > 0 ||
			   (target->slots.count == 0 && target->modules.is_unfinished);
	if (target->slots.count == 0)
		return mw_error_set(error,
				    "pid %d: no module calls malloc through a slot; start it with "
				    "'mallow run'",
				    pid);
	return 0;
}

/* Returns whether the blob records allocations. */
static bool is_on(const mw_attach_target_t *target) {
	uint32_t state = MW_ATTACH_NEW;
	return target->has_blob && !target->blob.is_empty &&
	       mw_address_space_read(&target->space,
				     target->blob.work + offsetof(mw_attach_work_t, state), &state,
				     sizeof(state)) &&
	       state == MW_ATTACH_ON;
}

int mw_attach_check(const mw_process_t *process, mw_attach_target_t *target, mw_error_t *error) {
	int pid = process->pid;
	size_t code_bytes;
	mw_injected_code(&code_bytes);
	if (code_bytes == 0)
		return mw_error_set(error,
				    "pid %d: there is no 'mallow attach' for this processor; start "
				    "the program with 'mallow run'",
				    pid);
	if (process->paused)
		return mw_error_set(error, "pid %d: it is stopped; 'kill -CONT %d' first", pid,
				    pid);
	if (program_class(&target->space) == ELFCLASS32)
		return mw_error_set(
			error, "pid %d: it is a 32-bit program, of which there is no mallow", pid);
	if (mw_registers_are_shadowed(mw_process_thread(pid)))
		return mw_error_set(error,
				    "pid %d: it uses shadow stacks, which no thread can be "
				    "redirected on; start it with 'mallow run'",
				    pid);
	if (has_mixed_filters(pid))
		return mw_error_set(
			error,
			"pid %d: its threads have different filters of system calls "
			"(seccomp); 'mallow attach --outside %d' samples it in the kernel",
			pid, pid);
	target->has_blob = mw_blob_find(&target->space, &target->blob);
	if (is_on(target))
		return mw_error_set(error,
				    "pid %d: it is attached already, or its parent was when it "
				    "forked: 'mallow report %d', or 'mallow detach %d' first",
				    pid, pid, pid);
	/* A blob keeps its state file mapped. */
	if ((!target->has_blob || target->blob.is_empty) && mw_process_has_library(pid))
		return mw_error_set(error,
				    "pid %d: it runs with libmallow already: 'mallow report %d'",
				    pid, pid);
	return find_allocator(process, target, error);
}
