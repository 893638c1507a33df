/* SPDX-License-Identifier: MIT
 * debug_heap.c -- blocks from allocation to the end of their wait, and the trace of both. */
#include "compat/gperftools/debug/debug_heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/fmt.h"
#include "base/put.h"
#include "compat/gperftools/debug/debug_memory.h"
#include "compat/gperftools/debug/debug_report.h"
#include "compat/gperftools/debug/debug_settings.h"
#include "compat/gperftools/gperftools.h"

/* 24 addresses of 18 characters, with the fields before them. */
#define TRACE_BYTES 640

/* gperftools' line: malloc, realloc or free, bytes, address, thread, stack, with tabs between. */
static void trace(const char *function, const mw_gpd_block_t *block, const mw_gpd_stack_t *stack) {
	int file = mw_gpd_settings()->trace_file;
	if (file < 0)
		return;
	char line[TRACE_BYTES];
	size_t length = mw_fmt(line, sizeof line, "%s\t%zu\t%p\t%lu", function, block->bytes,
			       (void *)block->start, (unsigned long)pthread_self());
	for (unsigned i = 0; i < stack->depth && length < sizeof line - 24; i++)
		length +=
			mw_fmt(line + length, sizeof line - length, "\t0x%lx", (long)stack->pcs[i]);
	line[length++] = '\n';
	mw_put(file, line, length);
}

/* Writes who calls; the stack is held once the lock is taken. */
static mw_gpd_event_t event_of(const mw_gpd_call_t *call) {
	return (mw_gpd_event_t){.function = call->function, .thread_id = mw_gpd_thread_id()};
}

void *mw_gpd_allocate(const mw_gpd_call_t *call, size_t bytes, size_t align, bool zeroed) {
	mw_gpd_block_t block = {.bytes = bytes, .kind = call->kind, .allocated = event_of(call)};
	mw_gpd_stack_t stack;
	if (align & (align - 1)) {
		errno = EINVAL;
		return NULL;
	}
	int saved_errno = errno;
	if (!mw_gpd_memory_take(&block, align))
		return NULL;
	if (zeroed)
		memset(block.start, 0, bytes);
	mw_gpd_stack_take(&stack, call->caller);
	mw_gpd_lock();
	block.allocated.stack = mw_gpd_stack_hold(&stack);
	bool added = mw_gpd_add(&block);
	mw_gpd_unlock();
	if (!added) {
		mw_gpd_memory_give(&block);
		errno = ENOMEM;
		return NULL;
	}
	trace(strcmp(call->function, "realloc") == 0 ? "realloc" : "malloc", &block, &stack);
	errno = saved_errno;
	return block.start;
}

static void check_live(const mw_gpd_call_t *call, const mw_gpd_block_t *block) {
	if (block->state != MW_GPD_LIVE)
		mw_gpd_report_freed(call, block);
	bool is_taken = block->kind == MW_GPD_MALLOC && call->takes_malloc && call->takes_malloc();
	if (block->kind != call->kind && !is_taken)
		mw_gpd_report_kind(call, block);
	const char *changed = mw_gpd_memory_damage(block);
	if (changed)
		mw_gpd_report_damage(call->function, block, changed);
}

/* Ends the wait of the oldest freed blocks. */
static void leave_queue(void) {
	const mw_gpd_settings_t *settings = mw_gpd_settings();
	size_t limit_bytes = settings->reclaim ? settings->queue_max_bytes : SIZE_MAX;
	for (;;) {
		mw_gpd_lock();
		mw_gpd_block_t *oldest = mw_gpd_queue_take(limit_bytes);
		if (!oldest) {
			mw_gpd_unlock();
			return;
		}
		mw_gpd_block_t block = *oldest;
		mw_gpd_remove(oldest);
		mw_gpd_unlock();
		const char *changed = mw_gpd_memory_written(&block);
		if (changed)
			mw_gpd_report_written(&block, changed);
		mw_gpd_memory_give(&block);
	}
}

/* Marks the row as one that its block's thread frees, and copies what the row was before. */
static mw_gpd_block_t *claim(const mw_gpd_call_t *call, const void *start, mw_gpd_block_t *before,
			     const mw_gpd_stack_t *stack) {
	mw_gpd_lock();
	mw_gpd_block_t *row = mw_gpd_find(start);
	if (row) {
		*before = *row;
		if (row->state == MW_GPD_LIVE) {
			row->state = MW_GPD_CLOSING;
			row->freed = event_of(call);
			row->freed.stack = mw_gpd_stack_hold(stack);
		}
	}
	mw_gpd_unlock();
	return row;
}

void mw_gpd_release(const mw_gpd_call_t *call, void *start, size_t claimed_bytes) {
	if (!start)
		return;
	int saved_errno = errno;
	mw_gpd_block_t block;
	mw_gpd_stack_t stack;
	mw_gpd_stack_take(&stack, call->caller);
	mw_gpd_block_t *row = claim(call, start, &block, &stack);
	if (!row) { /* a block of another interface, or none: libmallow_secure knows */
		mw_gp_calls()->blocks.free(start);
		errno = saved_errno;
		return;
	}
	check_live(call, &block);
	if (claimed_bytes != MW_GPD_NO_SIZE && claimed_bytes != block.bytes)
		mw_gpd_report_size(call, &block, claimed_bytes);
	trace("free", &block, &stack);
	mw_gpd_memory_close(row);
	mw_gpd_lock();
	row->state = MW_GPD_FREED;
	mw_gpd_queue_add(row);
	mw_gpd_unlock();
	leave_queue();
	errno = saved_errno;
}

/* Copies the block's row.  false: there is none. */
static bool look_up(const void *start, mw_gpd_block_t *block) {
	mw_gpd_lock();
	const mw_gpd_block_t *row = mw_gpd_find(start);
	if (row)
		*block = *row;
	mw_gpd_unlock();
	return row != NULL;
}

void *mw_gpd_resize(const mw_gpd_call_t *call, void *start, size_t bytes) {
	if (!start)
		return mw_gpd_allocate(call, bytes, 0, false);
	mw_gpd_block_t block;
	if (!look_up(start, &block))
		return mw_gp_calls()->blocks.resize(start, bytes ? bytes : 1);
	check_live(call, &block);
	if (bytes == 0) {
		mw_gpd_release(call, start, MW_GPD_NO_SIZE);
		return NULL;
	}
	void *moved = mw_gpd_allocate(call, bytes, 0, false);
	if (!moved)
		return NULL;
	memcpy(moved, start, bytes < block.bytes ? bytes : block.bytes);
	mw_gpd_release(call, start, MW_GPD_NO_SIZE);
	return moved;
}

size_t mw_gpd_usable_bytes(const mw_gpd_call_t *call, const void *start) {
	mw_gpd_block_t block;
	if (!start)
		return 0;
	if (!look_up(start, &block))
		return mw_gp_calls()->blocks.usable_bytes(start);
	if (block.state != MW_GPD_LIVE)
		mw_gpd_report_freed(call, &block);
	return block.bytes;
}

void mw_gpd_verify_block(const mw_gpd_call_t *call, const void *start) {
	mw_gpd_block_t block;
	if (look_up(start, &block))
		check_live(call, &block);
}

typedef struct found {
	mw_gpd_block_t block;
	const char *changed;
} found_t;

static bool is_sound(const mw_gpd_block_t *block, void *context) {
	found_t *found = context;
	found->changed = block->state == MW_GPD_LIVE    ? mw_gpd_memory_damage(block)
			 : block->state == MW_GPD_FREED ? mw_gpd_memory_written(block)
							: NULL;
	if (found->changed)
		found->block = *block;
	return !found->changed;
}

void mw_gpd_verify_all(void) {
	found_t found = {.changed = NULL};
	mw_gpd_lock();
	mw_gpd_visit(is_sound, &found);
	mw_gpd_unlock();
	if (!found.changed)
		return;
	if (found.block.state == MW_GPD_LIVE)
		mw_gpd_report_damage("heap check", &found.block, found.changed);
	mw_gpd_report_written(&found.block, found.changed);
}
