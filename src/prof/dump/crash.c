/* SPDX-License-Identifier: MIT
 * crash.c -- handles fatal signals, and prints stacks. */
#include "prof/dump/crash.h"

#include <signal.h>
#include <stdatomic.h>

#include "base/check.h"
#include "os/signal/signal.h"
#include "prof/dump/dump_view.h"
#include "prof/dump/pc_name.h"
#include "prof/store/event_log.h"
#include "prof/store/store.h"
#include "prof/table/depot.h"
#include "prof/table/records.h"

/* Number of stacks in a crash report; they fit on a screen. */
#define STACKS_MAX 5u
#define FRAMES_MAX 8u
/* Capacity for a function and a file. Longer names are cut. */
#define PLACE_BYTES 640u

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof *fatal_signals };

static _Atomic bool reported;

static void print_frame(unsigned number, uint64_t frame) {
	uint64_t module = mw_dump_frame_module(frame);
	uint64_t address = frame & MW_FRAME_ADDRESS_MASK;
	address -= !(frame & MW_FRAME_EXACT) && address > 0;
	if (module) {
		char place[PLACE_BYTES];
		mw_pc_name_in(mw_dump_module(module - 1)->path, address, place, sizeof place);
		mw_print_line("  #%u %s", number, place);
	} else {
		mw_print_line("  #%u [no module]+%#lx", number, (unsigned long)address);
	}
}

static void print_frames(const mw_dump_stack_t *stack) {
	uint32_t node = stack->node;
	for (unsigned i = 0; i < FRAMES_MAX && node != 0; i++)
		print_frame(i, mw_depot_frame(mw_depot_next_frame(&node)));
	if (stack->depth > FRAMES_MAX)
		mw_print_line("  and %u more", stack->depth - FRAMES_MAX);
	if (stack->depth == 0)
		mw_print_line("  [stack unknown]");
}

void mw_crash_print_stack(uint32_t number) {
	const mw_state_stack_t *entry = mw_store_private(MW_SECTION_STACKS, number);
	print_frames(&(mw_dump_stack_t){.depth = entry->depth, .node = entry->node});
}

void mw_crash_show_sample(mw_record_id_t record) {
	mw_sample_t sample;
	if (!mw_store_exists())
		return;
	/* The program may have overwritten the number, which lies beside its blocks. */
	uint64_t records = mw_store_used_bytes(MW_SECTION_RECORDS) / sizeof(mw_state_record_t);
	if (record < records && mw_records_read(record, &sample)) {
		mw_print_line("mallow: a block of %zu bytes was allocated by thread %u:",
			      (size_t)sample.requested_bytes, sample.thread_id);
		mw_crash_print_stack(sample.stack);
	}
}

typedef struct top {
	uint32_t number;
	int64_t bytes;
} top_t;

/* Finds the stacks with the most live bytes, largest first. */
static unsigned find_top(top_t *top) {
	unsigned count = 0;
	uint64_t stacks = mw_dump_stack_count();
	for (uint64_t i = 0; i < stacks; i++) {
		const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, i);
		int64_t bytes = atomic_load_explicit(&stack->live_bytes, memory_order_relaxed);
		if ((stack->flags & MW_STACK_MAPPING) || bytes <= 0 ||
		    (count == STACKS_MAX && bytes <= top[count - 1].bytes))
			continue;
		unsigned k = count < STACKS_MAX ? count++ : count - 1;
		for (; k > 0 && top[k - 1].bytes < bytes; k--)
			top[k] = top[k - 1];
		top[k] = (top_t){(uint32_t)i, bytes};
	}
	return count;
}

static void report(int signal_number) {
	if (!mw_store_exists())
		return;
	mw_event_log_add(MW_EVENT_CRASH, (uint64_t)signal_number, 0);
	int64_t live = atomic_load_explicit(&mw_store_live()->live_bytes, memory_order_relaxed);
	top_t top[STACKS_MAX];
	unsigned count = find_top(top);
	if (count > 0)
		mw_warn("signal %d: %ld bytes are live (estimate); the stacks that hold most of "
			"them:",
			signal_number, (long)live);
	else
		mw_warn("signal %d: no sampled block is live", signal_number);
	for (unsigned i = 0; i < count; i++) {
		mw_print_line("%ld bytes:", (long)top[i].bytes);
		mw_crash_print_stack(top[i].number);
	}
}

static void on_fatal(int signal_number, bool from_outside) {
	if (!atomic_exchange_explicit(&reported, true, memory_order_relaxed))
		report(signal_number);
	/* The instruction runs again, and its signal ends the process as without the handler. */
	mw_os_signal_leave(signal_number);
	if (from_outside)
		mw_os_signal_raise(signal_number);
}

void mw_crash_set_report(bool on) {
	for (size_t i = 0; i < FATAL_SIGNALS; i++)
		if (on)
			mw_os_signal_take(fatal_signals[i], on_fatal);
		else
			mw_os_signal_leave(fatal_signals[i]);
}
