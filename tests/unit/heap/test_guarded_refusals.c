/* SPDX-License-Identifier: MIT
 * test_guarded_refusals.c -- guarded blocks while calls to the kernel are refused: each Nth, and
 * all from the Nth on.  The process and a forked child then go on using and freeing all blocks. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/layout/harden_block.h"
#include "heap/misuse/guarded.h"
#include "heap/sample/hooks.h"
#include "heap/thread/thread.h"
#include "os/lock/lock.h"
#include "os/platform/kernel_calls.h"
#include "quiet_hooks.h"
#include "test.h"

enum { KEPT = 40, LOOSE = 80 };

static long calls, first, step, refused;

/* The calls first, first + step, ...; step 0: each from `first` on. */
static bool refuse_some(mw_os_call_t call) {
	if (call != MW_OS_MAP && call != MW_OS_PURGE && call != MW_OS_PROTECT)
		return false;
	long past = ++calls - first;
	bool is_refused = past >= 0 && (step == 0 || past % step == 0);
	refused += is_refused;
	return is_refused;
}

static uint64_t draw_all(mw_hook_thread_t *thread, size_t size_bytes) {
	(void)thread, (void)size_bytes;
	return 1;
}

static mw_record_id_t record_one(mw_hook_thread_t *thread, const mw_sample_request_t *request) {
	(void)thread;
	CHECK(request->block != NULL);
	return 7;
}

static size_t size_of(unsigned i) {
	return 24 + i * 37 % 3000;
}

/* NULL: refused. */
static char *make(unsigned i) {
	char *block = mw_heap_alloc(mw_harden_room(size_of(i)));
	if (block)
		memset(block, (int)i, size_of(i));
	return block;
}

static void drop(char *block, unsigned i) {
	if (!block)
		return;
	CHECK_EQ((unsigned char)block[0], (unsigned char)i);
	CHECK_EQ((unsigned char)block[size_of(i) - 1], (unsigned char)i);
	mw_fast_free(block);
}

static void use_heap(void) {
	char *blocks[LOOSE];
	for (unsigned i = 0; i < LOOSE; i++)
		blocks[i] = make(i);
	for (unsigned i = 0; i < LOOSE; i++)
		drop(blocks[i], i);
}

/* Blocks that were made before the fork are freed by the child. */
static void use_in_child(char *const *kept) {
	mw_heap_fork_prepare();
	mw_lock_fork_begin();
	pid_t child = fork();
	mw_lock_fork_end();
	if (child == 0) {
		mw_heap_fork_child();
		use_heap();
		for (unsigned i = 0; i < KEPT; i++)
			drop(kept[i], i);
		mw_os_fault_hook = NULL;
		use_heap();
		CHECK_EQ(mw_guarded_stats().live, 0);
		_exit(0);
	}
	mw_heap_fork_parent();
	int status;
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

static void use_under_refusals(void) {
	char *kept[KEPT];
	calls = 0;
	mw_os_fault_hook = refuse_some;
	for (unsigned i = 0; i < KEPT; i++)
		kept[i] = make(i);
	use_heap();
	use_in_child(kept);
	for (unsigned i = 0; i < KEPT; i++)
		drop(kept[i], i);
	mw_os_fault_hook = NULL;
	use_heap();
	CHECK_EQ(mw_guarded_stats().live, 0);
}

static void test_guarded_blocks_under_refusals(void) {
	static const mw_heap_hooks_t hooks = {
		.thread_start = quiet_thread,
		.draw_objects = draw_all,
		.draw_bytes = quiet_draw_bytes,
		.sampled = record_one,
		.sample_freed = quiet_sample_freed,
		.poll = quiet_thread,
		.grew = quiet_grew,
	};
	CHECK(mw_guarded_start(&(mw_guarded_config_t){
		.every = 1, .take_stack = quiet_stack, .name_place = quiet_name}));
	mw_heap_set_hooks(&hooks);
	for (step = 0; step <= 3; step++)
		for (first = 1; first <= 48; first += first < 12 ? 1 : 9)
			use_under_refusals();
	CHECK(mw_guarded_stats().taken > 1000);
	CHECK(refused > 1000);
}

int main(void) {
	RUN(test_guarded_blocks_under_refusals);
	return 0;
}
