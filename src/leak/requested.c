/* SPDX-License-Identifier: MIT
 * requested.c -- begins requested checks, and writes their results in the copy of the process. */
#include "leak/requested.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "heap/layout/size_class.h"
#include "leak/block_index.h"
#include "leak/flood.h"
#include "leak/leak.h"
#include "os/file/proc.h"
#include "os/lock/lock.h"
#include "os/memory/map.h"
#include "os/process/child.h"
#include "os/process/registers.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof/store/published.h"
#include "prof/store/store.h"
#include "prof/unwind/unwind.h"
#include "state/layout.h"

/* How soon the background thread tries again to begin a check while another goes on. */
#define BEGIN_AGAIN_NS UINT64_C(50000000)

_Static_assert(MW_CLASS_COUNT < MW_LEAK_CLASS_CAPACITY, "one more for larger blocks");

static struct {
	_Atomic uint32_t ordered; /* number of the last check that a tool requested */
	_Atomic uint32_t options;
	_Atomic uint32_t begun;    /* number of the last check that was begun */
	_Atomic bool is_signalled; /* a signal asks for a check */
	/* Id of the process of which a thread begins a check. In the child of a fork it may be the
	 * parent's, which means none. */
	_Atomic uint32_t busy_process;
} requested;

/* ---- in the copy ---- */

typedef struct job {
	char *published; /* the state file's mapping */
	mw_state_leak_check_t *check;
	uint64_t began_ns, limit_ns;
	uint64_t *seen_stacks; /* one bit for each stack; NULL: no memory */
	bool is_told;          /* its end, on stderr */
	uint32_t options;      /* as control.want_leak_options */
	mw_leak_result_t result;
} job_t;

static job_t *job;

static void fail(mw_state_leak_check_t *check, mw_leak_error_t error) {
	atomic_store_explicit(&check->error, error, memory_order_relaxed);
	/* Pairs with the readers' acquire. */
	atomic_store_explicit(&check->state, MW_LEAK_CHECK_FAILED, memory_order_release);
}

static void on_step(uint64_t block_bytes) {
	atomic_store_explicit(&job->check->read_block_bytes, block_bytes, memory_order_relaxed);
	if (mw_os_monotonic_ns() > job->limit_ns)
		fail(job->check, MW_LEAK_ENDED);
	else if (!mw_os_child_outlived())
		return;
	mw_os_child_end();
}

static void count_stack(uint32_t stack) {
	uint64_t *word = job->seen_stacks ? &job->seen_stacks[stack / 64] : NULL;
	if (!word || *word >> stack % 64 & 1)
		return;
	*word |= (uint64_t)1 << stack % 64;
	job->check->leak_stacks++;
}

/* Adds an entry if the file has room. */
static void add_entry(const mw_state_leak_t *entry) {
	mw_state_leak_check_t *check = job->check;
	uint64_t start = check->leaks_used * sizeof *entry;
	if (!mw_store_has_room(MW_SECTION_LEAKS, check->leaks_used))
		return;
	mw_published_reach(MW_SECTION_LEAKS, start + sizeof *entry);
	char *place = mw_published_range(MW_SECTION_LEAKS, start, sizeof *entry);
	if (!place)
		return;
	memcpy(place, entry, sizeof *entry);
	check->leaks_used++;
}

static void add_leak(uint32_t number, const mw_state_record_t *record,
		     const mw_leak_block_t *block) {
	bool is_direct = mw_leak_bit(MW_LEAK_DIRECT, block->bit);
	mw_state_leak_t leak = {
		.record = number,
		.sequence = record->sequence,
		.kind = is_direct ? MW_LEAK_KIND_DIRECT : MW_LEAK_KIND_INDIRECT,
	};
	job->check->leaks_found++;
	count_stack(record->stack);
	if (is_direct)
		mw_leak_count_below(block, &leak.below_blocks, &leak.below_bytes);
	if (job->options & MW_LEAK_PEEK) {
		size_t bytes = block->bytes < sizeof leak.peek ? block->bytes : sizeof leak.peek;
		leak.peek_bytes =
			(uint16_t)mw_os_copy_memory(leak.peek, (uintptr_t)record->address, bytes);
	}
	add_entry(&leak);
}

static void add_held(uint32_t number, const mw_state_record_t *record,
		     const mw_leak_block_t *block) {
	(void)block;
	uint64_t seconds = job->options >> MW_LEAK_SECONDS_SHIFT;
	if (seconds != 0 && record->time_ns + seconds * 1000000000 < job->began_ns)
		return;
	mw_state_leak_t held = {
		.record = number,
		.sequence = record->sequence,
		.kind = MW_LEAK_KIND_HELD,
		.holder = mw_leak_holder(number),
	};
	const mw_state_record_t *holder = mw_store_private(MW_SECTION_RECORDS, held.holder.record);
	held.holder.sequence = holder->sequence;
	job->check->held_found++;
	add_entry(&held);
}

static void add_leaks(void) {
	uint64_t stacks = mw_store_used_bytes(MW_SECTION_STACKS) / sizeof(mw_state_stack_t);
	job->seen_stacks = mw_os_map(mw_round_up(stacks / 8 + 8, MW_OS_PAGE_BYTES));
	mw_leak_map_clear(MW_LEAK_OWNED);
	mw_leak_visit_recorded(false, add_leak);
	if (job->options & MW_LEAK_HOLDERS)
		mw_leak_visit_recorded(true, add_held);
}

static void write_sums(mw_state_leak_check_t *check, const mw_leak_result_t *result) {
	mw_leak_sums_t all = mw_leak_total(result);
	check->live_blocks = all.live.blocks;
	check->live_bytes = all.live.bytes;
	check->direct_blocks = all.direct.blocks;
	check->direct_bytes = all.direct.bytes;
	check->indirect_blocks = all.indirect.blocks;
	check->indirect_bytes = all.indirect.bytes;
	check->root_bytes = result->root_bytes;
	check->unread_bytes = result->unread_bytes;
	check->scan_ns = result->scan_ns;
	check->class_count = MW_CLASS_COUNT + 1;
	for (unsigned i = 0; i <= MW_CLASS_COUNT; i++) {
		const mw_leak_sums_t *its = &result->classes[i];
		check->classes[i] = (mw_state_leak_class_t){
			.block_bytes = i < MW_CLASS_COUNT ? mw_class_bytes[i] : 0,
			.live_blocks = its->live.blocks,
			.live_bytes = its->live.bytes,
			.direct_blocks = its->direct.blocks,
			.direct_bytes = its->direct.bytes,
			.indirect_blocks = its->indirect.blocks,
			.indirect_bytes = its->indirect.bytes,
		};
	}
	atomic_store_explicit(&check->read_block_bytes, result->block_bytes, memory_order_relaxed);
}

static void tell(const mw_state_leak_check_t *check) {
	unsigned process = mw_os_child_process();
	mw_print_line("mallow: leak check of process %u: %lu blocks with %lu bytes leaked; 'mallow "
		      "leaks --last %u' shows the stacks",
		      process, (unsigned long)(check->direct_blocks + check->indirect_blocks),
		      (unsigned long)(check->direct_bytes + check->indirect_bytes), process);
}

static void search(void *context) {
	job = context;
	/* The kernel wiped the mapping's address in the copy. */
	mw_published_reopen(job->published);
	const mw_leak_scope_t scope = {
		.reads_shared = job->options & MW_LEAK_SHARED,
		.notes_holders = job->options & MW_LEAK_HOLDERS,
	};
	if (!mw_leak_search(&job->result, &scope, on_step)) {
		fail(job->check, MW_LEAK_NO_MEMORY);
		return;
	}
	write_sums(job->check, &job->result);
	add_leaks();
	/* Pairs with the readers' acquire. */
	atomic_store_explicit(&job->check->state, MW_LEAK_CHECK_DONE, memory_order_release);
	if (job->is_told)
		tell(job->check);
}

/* ---- in the process ---- */

/* Returns the entry in the file; NULL: there is no file, or no room in it. */
static mw_state_leak_check_t *check_in_file(void) {
	mw_published_reach(MW_SECTION_LEAK_CHECK, sizeof(mw_state_leak_check_t));
	return (mw_state_leak_check_t *)(void *)mw_published_range(MW_SECTION_LEAK_CHECK, 0,
								   sizeof(mw_state_leak_check_t));
}

static mw_leak_error_t error_of(int32_t result) {
	switch (result) {
	case MW_ERR_NO_MEMORY:
		return MW_LEAK_NO_MEMORY;
	case MW_ERR_IO:
		return MW_LEAK_BUSY;
	default:
		return MW_LEAK_NO_STOP;
	}
}

static void clear(mw_state_leak_check_t *check, uint32_t number) {
	memset((char *)check + offsetof(mw_state_leak_check_t, error), 0,
	       offsetof(mw_state_leak_check_t, classes) - offsetof(mw_state_leak_check_t, error));
	check->held_found = 0;
	atomic_store_explicit(&check->state, MW_LEAK_CHECK_RUNNING, memory_order_relaxed);
	/* Pairs with the readers' acquire. */
	atomic_store_explicit(&check->number, number, memory_order_release);
}

/* Returns the copy's process id, or a negative mw_result_t. */
static int32_t begin(const mw_os_stopped_t *self, mw_state_leak_check_t *check, uint32_t number,
		     mw_os_child_kind_t kind, bool is_told) {
	clear(check, number);
	uint64_t now_ns = mw_os_monotonic_ns();
	job_t new_job = {
		.published = mw_published_base(),
		.check = check,
		.began_ns = now_ns,
		.limit_ns = now_ns + MW_LEAK_LIMIT_NS,
		.is_told = is_told,
		.options = atomic_load_explicit(&requested.options, memory_order_relaxed),
	};
	atomic_store_explicit(&check->realtime_ns, mw_os_realtime_ns(), memory_order_relaxed);
	int32_t copy = mw_leak_copy_begin(self, kind, search, &new_job, &new_job.result);
	if (copy < 0) {
		fail(check, error_of(copy));
		return copy;
	}
	atomic_store_explicit(&check->pause_ns, new_job.result.pause_ns, memory_order_relaxed);
	atomic_store_explicit(&check->threads, new_job.result.threads, memory_order_relaxed);
	atomic_store_explicit(&check->running_threads, new_job.result.running_threads,
			      memory_order_relaxed);
	/* A reader that sees the id sees the pause. Pairs with its acquire. */
	atomic_store_explicit(&check->copy_pid, (uint32_t)copy, memory_order_release);
	return copy;
}

/* Begins the check that was ordered, which goes on by itself. */
static void begin_ordered(const mw_os_stopped_t *self) {
	uint32_t number = atomic_load_explicit(&requested.ordered, memory_order_seq_cst);
	atomic_store_explicit(&requested.begun, number, memory_order_relaxed);
	bool is_signalled =
		atomic_exchange_explicit(&requested.is_signalled, false, memory_order_relaxed);
	mw_state_leak_check_t *check = check_in_file();
	int32_t copy = check ? begin(self, check, number, MW_OS_CHILD_BACKGROUND, is_signalled) : 0;
	if (copy <= 0)
		return;
	if (!mw_os_child_leave(copy))
		fail(check, MW_LEAK_NO_MEMORY);
	mw_leak_copy_end();
}

void mw_control_leaks_order(uint32_t number, uint32_t options) {
	atomic_store_explicit(&requested.options, options, memory_order_relaxed);
	atomic_store_explicit(&requested.ordered, number, memory_order_seq_cst);
	atomic_store_explicit(&mw_control_view.has_leak_check, true, memory_order_seq_cst);
}

static bool is_ordered(void) {
	return atomic_load_explicit(&requested.is_signalled, memory_order_relaxed) ||
	       atomic_load_explicit(&requested.ordered, memory_order_relaxed) !=
		       atomic_load_explicit(&requested.begun, memory_order_relaxed);
}

/* Returns whether no other thread begins a check. */
static bool enter(void) {
	uint32_t self = mw_os_process_id();
	uint32_t before = atomic_load_explicit(&requested.busy_process, memory_order_relaxed);
	return before != self &&
	       atomic_compare_exchange_strong_explicit(&requested.busy_process, &before, self,
						       memory_order_acquire, memory_order_relaxed);
}

uint64_t mw_control_leaks_work(void) {
	mw_os_stopped_t self = {0};
	mw_os_note_registers(&self);
	if (mw_lock_held_ranks != 0 || mw_lock_is_forking() || !enter())
		return UINT64_MAX;
	/* Stored before the orders are read: a later order sets it again. */
	atomic_store_explicit(&mw_control_view.has_leak_check, false, memory_order_seq_cst);
	bool waits = is_ordered() && mw_os_child_is_left();
	if (waits)
		atomic_store_explicit(&mw_control_view.has_leak_check, true, memory_order_relaxed);
	else if (is_ordered())
		begin_ordered(&self);
	/* Pairs with the acquire in enter(). */
	atomic_store_explicit(&requested.busy_process, 0, memory_order_release);
	return waits ? mw_os_monotonic_ns() + BEGIN_AGAIN_NS : UINT64_MAX;
}

/* A check that cannot begin here, in the middle of an allocation, begins at the next tick. */
void mw_control_leaks_on_signal(int signal_number, bool from_outside) {
	(void)signal_number;
	(void)from_outside;
	atomic_store_explicit(&requested.is_signalled, true, memory_order_seq_cst);
	atomic_store_explicit(&mw_control_view.has_leak_check, true, memory_order_seq_cst);
	if (!mw_unwind_is_interrupted())
		mw_control_leaks_work();
}

/* Orders are the parent's. */
void mw_control_leaks_forked(void) {
	atomic_store_explicit(&requested.begun, requested.ordered, memory_order_relaxed);
	atomic_store_explicit(&requested.is_signalled, false, memory_order_relaxed);
	atomic_store_explicit(&mw_control_view.has_leak_check, false, memory_order_relaxed);
}

static mw_leak_sums_t sums_in(const mw_state_leak_check_t *check) {
	return (mw_leak_sums_t){
		.live = {check->live_blocks, check->live_bytes},
		.direct = {check->direct_blocks, check->direct_bytes},
		.indirect = {check->indirect_blocks, check->indirect_bytes},
	};
}

MW_COLD mw_leak_error_t mw_leak_check_and_store(const mw_os_stopped_t *self, mw_leak_sums_t *sums,
						uint64_t *stacks) {
	mw_state_leak_check_t *check = check_in_file();
	*stacks = 0;
	if (!check) {
		mw_leak_result_t result = {0};
		const mw_leak_scope_t scope = {0};
		mw_result_t done = mw_leak_check(self, &scope, NULL, NULL, &result);
		*sums = mw_leak_total(&result);
		return done == MW_OK ? MW_LEAK_FINE : error_of(done);
	}
	uint32_t number = atomic_load_explicit(&requested.ordered, memory_order_relaxed);
	int32_t copy = begin(self, check, number, MW_OS_CHILD_AWAITED, false);
	if (copy < 0)
		return error_of(copy);
	mw_os_child_wait(copy);
	mw_leak_copy_end();
	/* Pairs with the release of the copy. */
	uint32_t state = atomic_load_explicit(&check->state, memory_order_acquire);
	if (state == MW_LEAK_CHECK_RUNNING)
		fail(check, MW_LEAK_ENDED);
	*sums = sums_in(check);
	*stacks = check->leak_stacks;
	return state == MW_LEAK_CHECK_DONE ? MW_LEAK_FINE : (mw_leak_error_t)check->error;
}
