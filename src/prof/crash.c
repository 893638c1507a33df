/* SPDX-License-Identifier: MIT
 * crash.c -- handlers of fatal signals, and text of stacks. */
#include "prof/crash.h"

#include <signal.h>
#include <stdatomic.h>

#include "base/check.h"
#include "os/signal.h"
#include "prof/depot.h"
#include "prof/dump_view.h"
#include "prof/image.h"
#include "prof/journal.h"
#include "prof/parts.h"
#include "prof/place.h"
#include "prof/records.h"

/* As much as fits on a screen. */
#define STACKS_MAX 5u
#define FRAMES_MAX 8u
/* A function and a file, both cut when they are longer. */
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
		mw_place_name_in(mw_dump_module(module - 1)->path, address, place, sizeof place);
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
	const mw_state_stack_t *entry = mw_image_entry(MW_SECTION_STACKS, number);
	print_frames(&(mw_dump_stack_t){.depth = entry->depth, .node = entry->node});
}

void mw_crash_show_sample(mw_record_id_t record) {
	mw_sample_t sample;
	if (!mw_image_exists() || !mw_image_hold())
		return;
	/* The number lies beside the program's blocks, which it may have written over. */
	uint64_t records = mw_image_used_bytes(MW_SECTION_RECORDS) / sizeof(mw_state_record_t);
	if (record < records && mw_records_look(record, &sample)) {
		mw_print_line("mallow: a block of %zu bytes was allocated by thread %u:",
			      (size_t)sample.requested_bytes, sample.thread_id);
		mw_crash_print_stack(sample.stack);
	}
	mw_image_release();
}

typedef struct top {
	uint32_t number;
	int64_t bytes;
} top_t;

/* The largest first. */
static unsigned find_top(top_t *top) {
	unsigned count = 0;
	uint64_t stacks = mw_dump_stack_count();
	for (uint64_t i = 0; i < stacks; i++) {
		mw_parts_t parts = mw_parts_all((uint32_t)i);
		int64_t bytes = 0;
		for (unsigned k = 0; k < parts.count; k++) {
			const mw_state_stack_t *stack =
				mw_image_entry(MW_SECTION_STACKS, parts.stacks[k]);
			bytes += atomic_load_explicit(&stack->live_bytes, memory_order_relaxed);
		}
		if (bytes <= 0 || (count == STACKS_MAX && bytes <= top[count - 1].bytes))
			continue;
		unsigned k = count < STACKS_MAX ? count++ : count - 1;
		for (; k > 0 && top[k - 1].bytes < bytes; k--)
			top[k] = top[k - 1];
		top[k] = (top_t){(uint32_t)i, bytes};
	}
	return count;
}

static void report(int signal_number) {
	if (!mw_image_exists() || !mw_image_hold())
		return;
	mw_journal_event(MW_EVENT_CRASH, (uint64_t)signal_number, 0);
	int64_t live = atomic_load_explicit(&mw_image_live()->live_bytes, memory_order_relaxed);
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
	mw_image_release();
}

static void on_fatal(int signal_number, bool from_outside) {
	if (!atomic_exchange_explicit(&reported, true, memory_order_relaxed))
		report(signal_number);
	/* What was being done is done again, and ends the process as it would have. */
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
