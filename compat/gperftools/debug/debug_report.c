/* SPDX-License-Identifier: MIT
 * debug_report.c -- messages of libtcmalloc_debug. */
#include "compat/gperftools/debug/debug_report.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "base/check.h"
#include "base/fmt.h"
#include "compat/gperftools/debug/debug_settings.h"
#include "os/platform/loaded_symbol.h"
#include "os/platform/system_call.h"

#define NAME_BYTES 512
#define PLACE_BYTES 96

uint32_t mw_gpd_thread_id(void) {
	return (uint32_t)mw_system_call(SYS_gettid);
}

/* "function+0x12 (/path/of/object+0x3456)", as addr2line takes the object and the number. */
static void name_pc(uint64_t pc, char *name) {
	Dl_info info;
	const char *address = (const char *)(uintptr_t)(pc - 1); /* inside the call */
	if (!mw_os_find_object_of(address, &info)) {
		mw_fmt(name, NAME_BYTES, "0x%lx", (long)pc);
		return;
	}
	const ElfW(Ehdr) *header = info.dli_fbase;
	size_t offset = (size_t)address;
	if (header->e_type != ET_EXEC) /* addresses of the file are those in memory */
		offset -= (size_t)info.dli_fbase;
	if (mw_gpd_settings()->names && info.dli_sname)
		mw_fmt(name, NAME_BYTES, "%s+0x%zx (%s+0x%zx)", info.dli_sname,
		       (size_t)(address - (const char *)info.dli_saddr), info.dli_fname, offset);
	else
		mw_fmt(name, NAME_BYTES, "%s+0x%zx", info.dli_fname, offset);
}

static void print_stack(const mw_gpd_stack_t *stack) {
	char name[NAME_BYTES];
	if (!stack)
		mw_print_line("  no stack is known");
	for (unsigned i = 0; stack && i < stack->depth; i++) {
		name_pc(stack->pcs[i], name);
		mw_print_line("  #%u %s", i, name);
	}
}

static void print_event(const mw_gpd_block_t *block, const char *deed,
			const mw_gpd_event_t *event) {
	mw_warn("the block of %zu bytes at %p was %s by %s in thread %u:", block->bytes,
		(void *)block->start, deed, event->function, event->thread_id);
	print_stack(event->stack);
}

static void print_history(const mw_gpd_block_t *block) {
	print_event(block, "allocated", &block->allocated);
	if (block->state != MW_GPD_LIVE)
		print_event(block, "freed", &block->freed);
}

static void print_call(const mw_gpd_call_t *call, const mw_gpd_block_t *block) {
	mw_gpd_stack_t stack;
	mw_gpd_stack_take(&stack, call->caller);
	mw_warn("%s(%p) was called in thread %u:", call->function, (void *)block->start,
		mw_gpd_thread_id());
	print_stack(&stack);
}

/* "3 bytes after the block of 10 bytes" */
static void describe_place(const mw_gpd_block_t *block, const char *address, char *place) {
	const char *end = block->start + block->bytes;
	bool is_before = address < block->start, is_after = address >= end;
	size_t distance = (size_t)(is_before  ? block->start - address
				   : is_after ? address - end
					      : address - block->start);
	const char *side = is_before ? "before" : is_after ? "after the end of" : "into";
	if (is_after && distance == 0)
		mw_fmt(place, PLACE_BYTES, "right behind a block of %zu bytes", block->bytes);
	else
		mw_fmt(place, PLACE_BYTES, "%zu byte%s %s a block of %zu bytes", distance,
		       distance == 1 ? "" : "s", side, block->bytes);
}

void mw_gpd_report_kind(const mw_gpd_call_t *call, const mw_gpd_block_t *block) {
	print_history(block);
	print_call(call, block);
	mw_fatal("%s(%p): wrong function: the block was allocated by %s", call->function,
		 (void *)block->start, block->allocated.function);
}

void mw_gpd_report_freed(const mw_gpd_call_t *call, const mw_gpd_block_t *block) {
	print_history(block);
	print_call(call, block);
	mw_fatal("%s(%p): double free of a block of %zu bytes", call->function,
		 (void *)block->start, block->bytes);
}

void mw_gpd_report_size(const mw_gpd_call_t *call, const mw_gpd_block_t *block,
			size_t claimed_bytes) {
	print_history(block);
	print_call(call, block);
	mw_fatal("%s(%p): wrong size %zu: %zu bytes were requested", call->function,
		 (void *)block->start, claimed_bytes, block->bytes);
}

void mw_gpd_report_damage(const char *function, const mw_gpd_block_t *block, const char *changed) {
	char place[PLACE_BYTES];
	describe_place(block, changed, place);
	print_history(block);
	mw_fatal("%s(%p): written %s, at %p", function, (void *)block->start, place,
		 (const void *)changed);
}

void mw_gpd_report_written(const mw_gpd_block_t *block, const char *changed) {
	char place[PLACE_BYTES];
	describe_place(block, changed, place);
	print_history(block);
	mw_fatal("%p: written after the block was freed: %s", (const void *)changed, place);
}

void mw_gpd_report_access(const mw_gpd_block_t *block, const char *address, void *pc) {
	char place[PLACE_BYTES];
	mw_gpd_stack_t stack;
	describe_place(block, address, place);
	print_history(block);
	mw_gpd_stack_take(&stack, pc);
	mw_warn("thread %u accesses it:", mw_gpd_thread_id());
	print_stack(&stack);
	mw_warn("page fence: access at %p, %s%s", (const void *)address, place,
		block->state == MW_GPD_LIVE ? "" : " that was freed");
}
