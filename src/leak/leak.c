/* SPDX-License-Identifier: MIT
 * leak.c -- stops the threads, copies the process, searches in the copy. */
#include "leak/leak.h"

#include <stdatomic.h>

#include "base/compiler.h"
#include "heap/large/huge.h"
#include "heap/misuse/guarded.h"
#include "heap/sample/sampled.h"
#include "heap/thread/thread.h"
#include "leak/block_index.h"
#include "leak/flood.h"
#include "leak/free_blocks.h"
#include "leak/roots.h"
#include "leak/uncopied.h"
#include "os/file/proc.h"
#include "os/lock/lock.h"
#include "os/memory/map.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof/store/store.h"
#include "prof/table/records.h"

/* Memory that the process shares with its copy: the copy writes the result there. */
typedef struct answer {
	_Atomic bool is_complete;
	mw_leak_result_t result;
} answer_t;
_Static_assert(sizeof(answer_t) <= MW_OS_PAGE_BYTES, "one page");

typedef struct question {
	const mw_leak_scope_t *scope;
	void (*then)(void *context);
	void *context;
	answer_t *answer;
} question_t;

/* Id of the process that a copy searches for; 0: there is no copy. In the child of a fork it may be
 * the parent's id, which means none. */
static _Atomic uint32_t copied_process;
static mw_leak_roots_t roots;
static mw_leak_sums_t *sums; /* in the copy: by size class */

/* ---- in the copy ---- */

static mw_leak_sums_t *sums_of(size_t bytes) {
	return &sums[bytes <= MW_SMALL_MAX_BYTES ? mw_class_of(bytes) : MW_CLASS_COUNT];
}

static void count_live(size_t block_bytes, uint64_t blocks) {
	mw_leak_count_t *live = &sums_of(block_bytes)->live;
	live->blocks += blocks;
	live->bytes += blocks * block_bytes;
}

static void count_leak(const mw_leak_block_t *block) {
	mw_leak_sums_t *its = sums_of(block->bytes);
	mw_leak_count_t *leaked =
		mw_leak_bit(MW_LEAK_DIRECT, block->bit) ? &its->direct : &its->indirect;
	leaked->blocks++;
	leaked->bytes += block->bytes;
}

/* ---- recorded blocks ---- */

/* Returns how many entries the section of the private tables has. */
static uint64_t count_of(mw_state_section_id_t section, uint64_t entry_bytes) {
	return mw_control_has_tables() ? mw_store_used_bytes(section) / entry_bytes : 0;
}

/* Returns whether the record is of a live sample. */
static bool is_live(const mw_state_record_t *record) {
	return record->sequence % 2 == 0 &&
	       record->stack < count_of(MW_SECTION_STACKS, sizeof(mw_state_stack_t)) &&
	       record->address != 0 && record->generation == mw_store_live()->generation;
}

/* Follows the pointers in the blocks that the program exempted, and marks these as reached. */
static void flood_exempt(void) {
	uint64_t records = count_of(MW_SECTION_RECORDS, sizeof(mw_state_record_t));
	for (uint32_t i = 1; i < records; i++) {
		const mw_state_record_t *record = mw_store_private(MW_SECTION_RECORDS, i);
		uintptr_t address = (uintptr_t)record->address;
		if (mw_record_is_exempt(record) && is_live(record))
			mw_leak_flood(&address, 1);
	}
}

static void flood_between(const mw_page_t *page) {
	for (uint32_t i = 0; mw_leak_is_between(page) && i < page->capacity; i++) {
		uintptr_t address = (uintptr_t)page->start + (size_t)i * page->block_bytes;
		mw_leak_flood(&address, 1);
	}
}

MW_COLD void mw_leak_visit_recorded(bool reached,
				    void (*visit)(uint32_t number, const mw_state_record_t *record,
						  const mw_leak_block_t *block)) {
	uint64_t records = count_of(MW_SECTION_RECORDS, sizeof(mw_state_record_t));
	for (uint32_t i = 1; i < records; i++) {
		const mw_state_record_t *record = mw_store_private(MW_SECTION_RECORDS, i);
		mw_leak_block_t block;
		if (is_live(record) && mw_leak_index_find((uintptr_t)record->address, &block) &&
		    mw_leak_bit(MW_LEAK_LIVE, block.bit) &&
		    mw_leak_bit(MW_LEAK_REACHED, block.bit) == reached)
			visit(i, record, &block);
	}
}

static void add_record(uint32_t number, const mw_state_record_t *record,
		       const mw_leak_block_t *block) {
	(void)record;
	mw_leak_flood_add_record(number, block->bit);
}

/* Nothing is REACHED yet. Returns false if there is no memory. */
static bool note_holders(void) {
	uint64_t records = count_of(MW_SECTION_RECORDS, sizeof(mw_state_record_t));
	if (!mw_leak_flood_note_holders(records + 1))
		return false;
	mw_leak_visit_recorded(false, add_record);
	return true;
}

/* ---- the search ---- */

MW_COLD bool mw_leak_search(mw_leak_result_t *result, const mw_leak_scope_t *scope,
			    void (*step)(uint64_t block_bytes)) {
	uint64_t start_ns = mw_os_monotonic_ns();
	sums = result->classes;
	mw_leak_uncopied_find();
	if (!mw_leak_index_build() ||
	    !mw_leak_flood_start(step, scope->max_offset_bytes, scope->step_bytes))
		return false;
	mw_leak_free_blocks_of_thread((uintptr_t)__builtin_thread_pointer());
	for (uint32_t i = 0; i < roots.others.count; i++)
		if (roots.others.threads[i].answered)
			mw_leak_free_blocks_of_thread(roots.others.threads[i].thread_pointer);
	mw_leak_free_blocks();
	roots.scope = *scope;
	if (scope->notes_holders && !note_holders())
		return false;
	flood_exempt();
	mw_leak_index_visit_pages(flood_between);
	mw_leak_roots_read_t read = mw_leak_roots_flood(&roots);
	mw_leak_roots_read_t uncopied = {0};
	if (!scope->skips_data)
		uncopied = mw_leak_uncopied_flood();
	if (!mw_leak_find_direct())
		return false;
	mw_leak_index_visit(false, count_leak);
	mw_leak_index_count(count_live);
	result->root_bytes = read.bytes + uncopied.bytes;
	result->unread_bytes = read.unread_bytes + uncopied.unread_bytes;
	result->block_bytes = mw_leak_flood_bytes();
	result->scan_ns = mw_os_monotonic_ns() - start_ns;
	return true;
}

/* ---- exempt blocks, in the process ---- */

static mw_record_id_t record_in_chunk(const void *address) {
	mw_page_t *slice = mw_page_of_slice((uintptr_t)address);
	if (mw_page_slice_index(slice) == 0)
		return 0;
	const mw_page_t *page = mw_page_first(slice);
	if (page->kind == MW_PAGE_SAMPLED)
		return mw_sampled_record(page, address);
	return page->kind == MW_PAGE_LARGE ? page->large_record : 0;
}

static mw_record_id_t record_of(const void *address) {
	mw_huge_block_t huge;
	switch (mw_word_kind((uintptr_t)address)) {
	case MW_MAP_CHUNK:
		return record_in_chunk(address);
	case MW_MAP_HUGE:
		return mw_huge_find(address, &huge) ? huge.record : 0;
	case MW_MAP_GUARDED:
		return mw_guarded_record(address);
	default:
		return 0;
	}
}

MW_COLD bool mw_leak_exempt(const void *block, bool on) {
	mw_record_id_t record = record_of(block);
	if (record == 0)
		return false;
	bool locked = mw_tables_lock(&mw_control_table_lock);
	mw_records_exempt(record, on);
	mw_tables_unlock(&mw_control_table_lock, locked);
	return true;
}

MW_COLD bool mw_leak_find_recorded(const void *address, size_t *requested_bytes) {
	mw_record_id_t record = record_of(address);
	mw_sample_t sample;
	if (record == 0)
		return false;
	bool locked = mw_tables_lock(&mw_control_table_lock);
	bool is_there = mw_records_read(record, &sample) && sample.address == (uintptr_t)address;
	mw_tables_unlock(&mw_control_table_lock, locked);
	*requested_bytes = is_there ? sample.requested_bytes : 0;
	return is_there;
}

/* ---- the copy, in the process ---- */

static int32_t copy_process(mw_os_child_kind_t kind, void (*work)(void *context), void *context,
			    mw_leak_result_t *result) {
	mw_control_cpu_put_off(MW_ANSWER_STOPS);
	mw_heap_fork_prepare();
	mw_lock_fork_begin();
	int32_t child = mw_os_stop_begin(&roots.others);
	if (child == MW_OK) {
		child = mw_os_child_start(kind);
		if (child == 0) {
			mw_lock_fork_end();
			mw_heap_fork_child();
			work(context);
			mw_os_child_end();
		}
		mw_os_stop_end();
		result->pause_ns = mw_os_monotonic_ns() - roots.others.began_ns;
		result->threads = roots.others.count + 1;
		result->running_threads = roots.others.running;
		child = child < 0 ? MW_ERR_NO_MEMORY : child;
	}
	mw_lock_fork_end();
	mw_heap_fork_parent();
	return child;
}

MW_COLD int32_t mw_leak_copy_begin(const mw_os_stopped_t *self, mw_os_child_kind_t kind,
				   void (*work)(void *context), void *context,
				   mw_leak_result_t *result) {
	uint32_t self_id = mw_os_process_id();
	uint32_t before = atomic_load_explicit(&copied_process, memory_order_relaxed);
	if (before == self_id || mw_os_child_is_left() ||
	    !atomic_compare_exchange_strong_explicit(&copied_process, &before, self_id,
						     memory_order_acquire, memory_order_relaxed))
		return MW_ERR_IO;
	roots.self = *self;
	roots.self.thread_id = mw_os_thread_id();
	int32_t child = copy_process(kind, work, context, result);
	if (child < 0)
		mw_leak_copy_end();
	return child;
}

MW_COLD void mw_leak_copy_end(void) {
	roots = (mw_leak_roots_t){0};
	/* Pairs with the acquire in mw_leak_copy_begin(). */
	atomic_store_explicit(&copied_process, 0, memory_order_release);
}

static void ignore_step(uint64_t block_bytes) {
	(void)block_bytes;
}

static void answer_check(void *context) {
	const question_t *question = context;
	answer_t *answer = question->answer;
	if (!mw_leak_search(&answer->result, question->scope, ignore_step))
		return;
	if (question->then)
		question->then(question->context);
	/* Pairs with the acquire of the process. */
	atomic_store_explicit(&answer->is_complete, true, memory_order_release);
}

MW_COLD mw_result_t mw_leak_check(const mw_os_stopped_t *self, const mw_leak_scope_t *scope,
				  void (*then)(void *context), void *context,
				  mw_leak_result_t *result) {
	answer_t *answer = mw_os_map_shared(sizeof *answer);
	if (!answer)
		return MW_ERR_NO_MEMORY;
	question_t question = {scope, then, context, answer};
	int32_t child =
		mw_leak_copy_begin(self, MW_OS_CHILD_AWAITED, answer_check, &question, result);
	mw_result_t done = child > 0 ? MW_ERR_NO_MEMORY : (mw_result_t)child;
	if (child > 0) {
		const mw_leak_result_t begun = *result;
		if (mw_os_child_wait(child) &&
		    atomic_load_explicit(&answer->is_complete, memory_order_acquire)) {
			*result = answer->result;
			result->pause_ns = begun.pause_ns;
			result->threads = begun.threads;
			result->running_threads = begun.running_threads;
			done = MW_OK;
		}
		mw_leak_copy_end();
	}
	mw_os_unmap(answer, MW_OS_PAGE_BYTES);
	return done;
}

MW_COLD mw_leak_sums_t mw_leak_total(const mw_leak_result_t *result) {
	mw_leak_sums_t all = {0};
	for (unsigned i = 0; i <= MW_CLASS_COUNT; i++) {
		const mw_leak_sums_t *its = &result->classes[i];
		all.live.blocks += its->live.blocks;
		all.live.bytes += its->live.bytes;
		all.direct.blocks += its->direct.blocks;
		all.direct.bytes += its->direct.bytes;
		all.indirect.blocks += its->indirect.blocks;
		all.indirect.bytes += its->indirect.bytes;
	}
	return all;
}
