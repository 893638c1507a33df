/* SPDX-License-Identifier: MIT
 * guarded_report.c -- reports about guarded blocks: a line on what happened, then the stacks of the
 * threads that accessed, freed and allocated the block. */
#include "base/check.h"
#include "base/fmt.h"
#include "heap/misuse/guarded.h"
#include "heap/misuse/guarded_slot.h"
#include "os/file/proc.h"

/* "12 bytes after a block of 24 bytes" */
#define PLACE_BYTES 96

void mw_guarded_take_stack(const mw_guarded_config_t *config, mw_guarded_stack_t *stack,
			   bool in_handler) {
	stack->thread_id = mw_os_thread_id();
	stack->depth = config->take_stack(stack->pcs, MW_GUARDED_DEPTH, in_handler);
}

static void print_stack(const mw_guarded_config_t *config, const char *what,
			const mw_guarded_stack_t *stack) {
	char name[512];
	mw_warn("  %s by thread %u:", what, stack->thread_id);
	for (unsigned i = 0; i < stack->depth && i < MW_GUARDED_DEPTH; i++) {
		config->name_place(stack->pcs[i], name, sizeof name);
		mw_warn("    #%u %s", i, name);
	}
}

static void print_history(const mw_guarded_config_t *config, const mw_guarded_slot_t *slot) {
	if (atomic_load_explicit(&slot->state, memory_order_relaxed) == MW_GUARDED_FREED)
		print_stack(config, "freed", &slot->freed);
	print_stack(config, "allocated", &slot->allocated);
}

static void print_own(const mw_guarded_config_t *config, const char *what, bool in_handler) {
	mw_guarded_stack_t stack;
	mw_guarded_take_stack(config, &stack, in_handler);
	print_stack(config, what, &stack);
}

static void describe_place(const mw_guarded_slot_t *slot, uintptr_t address, char *buffer) {
	uintptr_t start = (uintptr_t)slot->block, end = start + slot->bytes;
	bool is_before = address < start, is_after = address >= end;
	size_t distance = is_before ? start - address : is_after ? address - end : address - start;
	mw_fmt(buffer, PLACE_BYTES, "%zu byte%s %s a block of %zu byte%s", distance,
	       distance == 1 ? "" : "s",
	       is_before  ? "before"
	       : is_after ? "after"
			  : "into",
	       slot->bytes, slot->bytes == 1 ? "" : "s");
}

void mw_guarded_report_access(const mw_guarded_config_t *config, const mw_guarded_slot_t *slot,
			      uintptr_t address, mw_os_access_t access) {
	static const char *const verbs[] = {
		[MW_OS_ACCESS_UNKNOWN] = "access",
		[MW_OS_ACCESS_READ] = "read",
		[MW_OS_ACCESS_WRITE] = "write",
	};
	static const char *const deeds[] = {
		[MW_OS_ACCESS_UNKNOWN] = "accessed",
		[MW_OS_ACCESS_READ] = "read",
		[MW_OS_ACCESS_WRITE] = "written",
	};
	char place[PLACE_BYTES];
	describe_place(slot, address, place);
	bool freed = atomic_load_explicit(&slot->state, memory_order_relaxed) == MW_GUARDED_FREED;
	const char *what = freed                              ? "use after free"
			   : address < (uintptr_t)slot->block ? "underflow"
							      : "overflow";
	mw_warn("%s: %s at %p, %s", what, verbs[access], (void *)address, place);
	print_own(config, deeds[access], true);
	print_history(config, slot);
}

void mw_guarded_report_freed(const mw_guarded_config_t *config, const mw_guarded_slot_t *slot,
			     const char *function, bool is_free) {
	mw_warn("%s: %s(%p) of a block of %zu bytes", is_free ? "double free" : "use after free",
		function, (void *)slot->block, slot->bytes);
	print_own(config, is_free ? "freed again" : "used", false);
	print_history(config, slot);
	mw_fatal("stopped, because the block was freed before");
}

void mw_guarded_report_misaligned(const mw_guarded_config_t *config, const mw_guarded_slot_t *slot,
				  const char *function, const void *address) {
	char place[PLACE_BYTES] = "at no block";
	if (slot)
		describe_place(slot, (uintptr_t)address, place);
	mw_warn("invalid pointer: %s(%p), %s", function, address, place);
	print_own(config, "passed", false);
	if (slot)
		print_history(config, slot);
	mw_fatal("stopped, because the address is not the start of a block");
}

void mw_guarded_report_changed(const mw_guarded_config_t *config, const mw_guarded_slot_t *slot,
			       const char *address) {
	char place[PLACE_BYTES];
	describe_place(slot, (uintptr_t)address, place);
	mw_warn("%s: written at %p, %s; found when the block was freed",
		address < slot->block ? "underflow" : "overflow", (const void *)address, place);
	print_history(config, slot);
	mw_fatal("stopped, because other memory may be damaged, too");
}
