/* SPDX-License-Identifier: MIT
 * leak.c -- stops the threads, copies the process, searches in the copy. */
#include "leak/leak.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "heap/thread/thread.h"
#include "leak/block_index.h"
#include "leak/flood.h"
#include "leak/free_blocks.h"
#include "leak/roots.h"
#include "os/lock/lock.h"
#include "os/memory/map.h"
#include "os/process/child.h"
#include "os/time/clock.h"

/* Memory that the process shares with its copy: the copy writes the result there. */
typedef struct answer {
	_Atomic bool is_complete;
	mw_leak_result_t result;
} answer_t;

static atomic_flag is_checking = ATOMIC_FLAG_INIT;
static mw_leak_result_t *sums; /* in the copy */

static void count_leak(const mw_leak_block_t *block) {
	mw_leak_count_t *leaked =
		mw_leak_bit(MW_LEAK_DIRECT, block->bit) ? &sums->direct : &sums->indirect;
	leaked->blocks++;
	leaked->bytes += block->bytes;
}

static void search(const mw_leak_roots_t *roots, answer_t *answer) {
	uint64_t start_ns = mw_os_monotonic_ns();
	sums = &answer->result;
	if (!mw_leak_index_build() || !mw_leak_flood_start())
		return;
	mw_leak_free_blocks_of_thread((uintptr_t)__builtin_thread_pointer());
	for (uint32_t i = 0; i < roots->others.count; i++)
		if (roots->others.threads[i].answered)
			mw_leak_free_blocks_of_thread(roots->others.threads[i].thread_pointer);
	mw_leak_free_blocks();
	mw_leak_roots_read_t read = mw_leak_roots_flood(roots);
	mw_leak_find_direct();
	mw_leak_index_visit(false, count_leak);
	mw_leak_index_sum(&sums->live.blocks, &sums->live.bytes);
	sums->root_bytes = read.bytes;
	sums->unread_bytes = read.unread_bytes;
	sums->block_bytes = mw_leak_flood_bytes();
	sums->scan_ns = mw_os_monotonic_ns() - start_ns;
	/* Pairs with the acquire of the process. */
	atomic_store_explicit(&answer->is_complete, true, memory_order_release);
}

/* Returns the copy's process id; negative: mw_result_t. */
static int32_t copy_process(const mw_os_stopped_t *self, answer_t *answer) {
	mw_leak_roots_t roots = {.self = *self};
	mw_heap_fork_prepare();
	mw_lock_fork_begin();
	uint64_t start_ns = mw_os_monotonic_ns();
	int32_t child = mw_os_stop_begin(&roots.others);
	if (child == MW_OK) {
		child = mw_os_child_start();
		if (child == 0) {
			mw_lock_fork_end();
			mw_heap_fork_child();
			search(&roots, answer);
			mw_os_child_end();
		}
		mw_os_stop_end();
		answer->result.pause_ns = mw_os_monotonic_ns() - start_ns;
		answer->result.threads = roots.others.count + 1;
		answer->result.running_threads = roots.others.running;
		child = child < 0 ? MW_ERR_NO_MEMORY : child;
	}
	mw_lock_fork_end();
	mw_heap_fork_parent();
	return child;
}

MW_COLD mw_result_t mw_leak_check(const mw_os_stopped_t *self, mw_leak_result_t *result) {
	if (atomic_flag_test_and_set(&is_checking))
		return MW_ERR_IO;
	answer_t *answer = mw_os_map_shared(sizeof *answer);
	int32_t child = answer ? copy_process(self, answer) : MW_ERR_NO_MEMORY;
	mw_result_t done = child > 0 ? MW_ERR_NO_MEMORY : (mw_result_t)child;
	if (child > 0 && mw_os_child_wait(child) &&
	    atomic_load_explicit(&answer->is_complete, memory_order_acquire)) {
		*result = answer->result;
		done = MW_OK;
	}
	if (answer)
		mw_os_unmap(answer, MW_OS_PAGE_BYTES);
	atomic_flag_clear(&is_checking);
	return done;
}
