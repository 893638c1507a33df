/* SPDX-License-Identifier: MIT
 * collect.c -- marks the stacks in use, then forgets the others. */
#include "prof/table/collect.h"

#include <stddef.h>

#include "base/bits.h"
#include "os/memory/map.h"
#include "os/platform/arch.h"
#include "os/signal/signal.h"
#include "prof/store/count.h"
#include "prof/store/store.h"
#include "prof/table/depot.h"
#include "prof/table/reuse.h"

/* Stacks in use when the first collection is due. Their tables take about 2 MiB. */
#define FIRST_STACKS UINT64_C(4096)
/* Least time to the next collection, and that after one of full tables that took out less than an
 * eighth of the stacks. A collection takes 1 us a stack and its nodes, during which no sample is
 * taken: 8 ms for 8,000 stacks, 0.15 s for full tables. */
#define INTERVAL_NS UINT64_C(1000000000)
#define LONG_INTERVAL_NS (60 * INTERVAL_NS)
/* Stacks that allocated at least this part of all bytes are kept: a thousand at most. */
#define SHARE_KEPT 1024u
#define LIFE_WORDS (offsetof(mw_state_lifetimes_t, reserved) / sizeof(int64_t))

/* The sections from which a collection takes entries. */
static const mw_state_section_id_t sections[] = {
	MW_SECTION_STACKS, MW_SECTION_NODES,     MW_SECTION_FRAMES,
	MW_SECTION_SIZES,  MW_SECTION_LIFETIMES,
};
enum { SECTIONS = sizeof sections / sizeof *sections };

static struct {
	_Atomic uint64_t due_stacks; /* stacks in use at which a collection is due; 0: the first */
	_Atomic uint64_t not_before_ns;
	uint64_t began_ns;      /* the last collection */
	uint64_t stacks_needed; /* kept for more than new samples */
	/* For each stack the low bits of its number of samples at the last collection. Mapped at
	 * the first collection and kept. */
	uint32_t *samples_before;
	mw_index_kept_t kept[MW_SECTION_COUNT];
	char *memory; /* of `bits`, during a collection */
	size_t memory_bytes;
	mw_os_signal_mask_t signals;
} collect MW_SPARSE;

static mw_state_stack_t *stack_at(uint64_t number) {
	return mw_store_private(MW_SECTION_STACKS, number);
}

static uint64_t used_of(mw_state_section_id_t section) {
	return mw_store_used_bytes(section) / mw_state_stride(section);
}

static uint64_t capacity_of(mw_state_section_id_t section) {
	return mw_store_header()->sections[section].capacity;
}

static uint64_t stacks_in_use(void) {
	return used_of(MW_SECTION_STACKS) - mw_reuse_left(MW_SECTION_STACKS);
}

static uint64_t relaxed(const _Atomic uint64_t *word) {
	return atomic_load_explicit(word, memory_order_relaxed);
}

static bool is_full(void) {
	uint32_t flags = atomic_load_explicit(&mw_store_live()->flags, memory_order_relaxed);
	return (flags & (MW_STATE_STACKS_FULL | MW_STATE_FRAMES_FULL)) != 0;
}

static void set_interval(uint64_t began_ns, uint64_t interval_ns) {
	collect.began_ns = began_ns;
	atomic_store_explicit(&collect.not_before_ns, began_ns + interval_ns, memory_order_relaxed);
}

bool mw_collect_is_due(uint64_t now_ns) {
	uint64_t due = relaxed(&collect.due_stacks);
	return (is_full() || stacks_in_use() >= (due ? due : FIRST_STACKS)) &&
	       now_ns >= relaxed(&collect.not_before_ns);
}

/* ---- marks ---- */

static bool is_kept(mw_state_section_id_t section, uint64_t number) {
	return mw_index_is_kept(&collect.kept[section], number);
}

/* Returns false if the entry is kept already. */
static bool keep(mw_state_section_id_t section, uint64_t number) {
	mw_index_kept_t *kept = &collect.kept[section];
	if (number >= kept->used || mw_index_is_kept(kept, number))
		return false;
	/* The bits are in this module's own memory. */
	((uint64_t *)(uintptr_t)kept->bits)[number / 64] |= UINT64_C(1) << number % 64;
	kept->count++;
	return true;
}

void mw_collect_keep(uint64_t stack) {
	keep(MW_SECTION_STACKS, stack);
}

static bool has_peak(const mw_state_stack_t *stack) {
	uint32_t peak = atomic_load_explicit(&mw_store_live()->peak_number, memory_order_relaxed);
	return peak != 0 &&
	       atomic_load_explicit(&stack->peak_number, memory_order_relaxed) == peak &&
	       (stack->peak_bytes != 0 || stack->peak_objects_q16 != 0);
}

/* Counters of live objects may be off by one sample where a thread lost the tables' lock
 * (table_lock.h). A stack with such a counter is kept. */
static bool is_in_use(const mw_state_stack_t *stack) {
	int64_t most = mw_store_live()->alloc_bytes / SHARE_KEPT;
	return stack->live_samples != 0 || stack->live_objects_q16 != 0 || stack->live_bytes != 0 ||
	       stack->alloc_bytes > most || has_peak(stack) ||
	       /* Intervals of mappings have stacks (prof/mappings); there are few. */
	       (stack->flags & MW_STACK_MAPPING);
}

static void mark_stacks_in_use(void) {
	for (uint64_t i = 1; i < collect.kept[MW_SECTION_STACKS].used; i++) {
		const mw_state_stack_t *stack = stack_at(i);
		uint32_t samples = (uint32_t)relaxed(&stack->alloc_samples);
		/* A stack of 0 samples is that of a CPU sample, or of a thread that just found
		 * it. */
		bool has_new = collect.samples_before[i] != samples;
		collect.samples_before[i] = samples;
		bool in_use = stack->hash != 0 && is_in_use(stack);
		collect.stacks_needed += in_use;
		if (in_use || (stack->hash != 0 && has_new))
			keep(MW_SECTION_STACKS, i);
	}
}

/* Marks what the kept stacks consist of. */
static void mark_parts(void) {
	for (uint64_t i = 1; i < collect.kept[MW_SECTION_STACKS].used; i++) {
		if (!is_kept(MW_SECTION_STACKS, i))
			continue;
		const mw_state_stack_t *stack = stack_at(i);
		for (uint32_t node = stack->node; node != 0 && keep(MW_SECTION_NODES, node);)
			keep(MW_SECTION_FRAMES, mw_depot_next_frame(&node));
		keep(MW_SECTION_LIFETIMES, stack->lifetimes);
		for (uint32_t size = stack->sizes;
		     size != MW_SIZES_UNKNOWN && size != 0 && keep(MW_SECTION_SIZES, size);)
			size = ((const mw_state_size_t *)mw_store_private(MW_SECTION_SIZES, size))
				       ->next;
	}
}

/* ---- forgetting ---- */

static const mw_state_lifetimes_t *lifetimes_at(uint32_t number) {
	return mw_store_private(MW_SECTION_LIFETIMES, number);
}

/* Adds the lifetimes of a stack's objects to those of stack 0. */
static void add_lifetimes(uint32_t number) {
	if (number == 0)
		return;
	uint32_t all = stack_at(0)->lifetimes;
	uint64_t taken = all ? all : mw_store_take(MW_SECTION_LIFETIMES, 1);
	if (taken == MW_STORE_NO_ENTRY)
		return;
	if (!all)
		mw_both_set32(mw_store_both(MW_SECTION_STACKS, 0), MW_STACK(lifetimes),
			      (uint32_t)taken);
	const int64_t *words = (const int64_t *)(const void *)lifetimes_at(number);
	for (size_t i = 0; i < LIFE_WORDS; i++)
		if (words[i] != 0)
			mw_both_add(mw_store_both(MW_SECTION_LIFETIMES, taken), i * sizeof(int64_t),
				    words[i]);
}

/* Adds the counters of a stack to those of stack 0. */
static void add_to_unknown(const mw_state_stack_t *stack) {
	mw_both_t unknown = mw_store_both(MW_SECTION_STACKS, 0);
	mw_both_add(unknown, MW_STACK(alloc_objects_q16), stack->alloc_objects_q16);
	mw_both_add(unknown, MW_STACK(alloc_bytes), stack->alloc_bytes);
	mw_both_add(unknown, MW_STACK(alloc_requested_bytes), stack->alloc_requested_bytes);
	mw_both_add(unknown, MW_STACK(alloc_zero_objects_q16), stack->alloc_zero_objects_q16);
	mw_both_add(unknown, MW_STACK(alloc_samples), (int64_t)stack->alloc_samples);
	add_lifetimes(stack->lifetimes);
}

static void clear_entry(mw_state_section_id_t section, uint64_t number) {
	mw_both_t both = mw_store_both(section, number);
	for (size_t offset = 0; offset < mw_state_stride(section); offset += sizeof(uint64_t))
		mw_both_set64(both, offset, 0);
}

static bool is_clear(mw_state_section_id_t section, uint64_t number) {
	const uint64_t *word = mw_store_private(section, number);
	for (size_t i = 0; i < mw_state_stride(section) / sizeof *word; i++)
		if (word[i] != 0)
			return false;
	return true;
}

/* Clears the entries that are not kept, and makes them free. Returns how many held something. */
static uint64_t sweep(mw_state_section_id_t section) {
	const mw_index_kept_t *kept = &collect.kept[section];
	uint64_t cleared = 0;
	for (uint64_t i = 1; i < kept->used; i++) {
		if (is_kept(section, i) || is_clear(section, i))
			continue;
		if (section == MW_SECTION_STACKS) {
			add_to_unknown(stack_at(i));
			collect.samples_before[i] = 0;
		}
		clear_entry(section, i);
		cleared++;
	}
	mw_reuse_set(section, kept->bits, kept->used);
	return cleared;
}

/* The number is odd while the collection runs: a reader of the file then reads again. */
static void count_collection(void) {
	mw_both_t live = mw_store_live_both();
	uint32_t number =
		atomic_load_explicit(&mw_store_live()->collections, memory_order_relaxed) + 1;
	/* Release before and after: a reader that sees an entry change sees the number, too. */
	atomic_thread_fence(memory_order_release);
	mw_both_set32(live, MW_LIVE(collections), number);
	atomic_thread_fence(memory_order_release);
}

static void change_flags(void) {
	uint32_t flags = atomic_load_explicit(&mw_store_live()->flags, memory_order_relaxed);
	flags &= ~(uint32_t)(MW_STATE_STACKS_FULL | MW_STATE_FRAMES_FULL);
	mw_both_set32(mw_store_live_both(), MW_LIVE(flags), flags | MW_STATE_FORGOT);
}

/* ---- a collection ---- */

static size_t bits_bytes(mw_state_section_id_t section) {
	return mw_round_up(used_of(section), 64) / 8;
}

static bool take_memory(void) {
	for (int i = 0; i < SECTIONS; i++)
		if (!mw_reuse_prepare(sections[i]))
			return false;
	if (!collect.samples_before)
		collect.samples_before =
			mw_os_map(capacity_of(MW_SECTION_STACKS) * sizeof(uint32_t));
	size_t bytes = 0;
	for (int i = 0; i < SECTIONS; i++)
		bytes += bits_bytes(sections[i]);
	collect.memory_bytes = mw_round_up(bytes, MW_OS_PAGE_BYTES);
	collect.memory = collect.samples_before ? mw_os_map(collect.memory_bytes) : NULL;
	return collect.memory != NULL;
}

bool mw_collect_start(uint64_t now_ns) {
	set_interval(now_ns, LONG_INTERVAL_NS);
	if (!take_memory())
		return false;
	/* A handler that calls malloc would find tables that are half changed. */
	mw_os_signal_block_all(&collect.signals);
	char *bits = collect.memory;
	for (int i = 0; i < SECTIONS; i++) {
		collect.kept[sections[i]] = (mw_index_kept_t){
			.bits = (const uint64_t *)(const void *)bits, .used = used_of(sections[i])};
		bits += bits_bytes(sections[i]);
	}
	collect.stacks_needed = 0;
	mark_stacks_in_use();
	return true;
}

void mw_collect_finish(void) {
	bool was_full = is_full();
	mark_parts();
	/* Stack 0's entry is never given away. */
	keep(MW_SECTION_LIFETIMES, stack_at(0)->lifetimes);
	count_collection();
	uint64_t forgotten = sweep(MW_SECTION_STACKS);
	/* sweep() may have made this entry. */
	keep(MW_SECTION_LIFETIMES, stack_at(0)->lifetimes);
	for (int i = 1; i < SECTIONS; i++)
		sweep(sections[i]);
	mw_depot_keep_only(collect.kept[MW_SECTION_STACKS], collect.kept[MW_SECTION_NODES],
			   collect.kept[MW_SECTION_FRAMES]);
	mw_both_add(mw_store_live_both(), MW_LIVE(stacks_forgotten), (int64_t)forgotten);
	if (forgotten > 0)
		change_flags();
	count_collection();
	if (!was_full || forgotten >= stacks_in_use() / 8)
		set_interval(collect.began_ns, INTERVAL_NS);
	/* Not twice the stacks in use: those that are kept for new samples would add up. */
	uint64_t room = collect.stacks_needed < FIRST_STACKS ? FIRST_STACKS : collect.stacks_needed;
	uint64_t due = stacks_in_use() + room, most = capacity_of(MW_SECTION_STACKS) / 16 * 15;
	atomic_store_explicit(&collect.due_stacks, due < most ? due : most, memory_order_relaxed);
	mw_os_signal_restore(&collect.signals);
	mw_os_unmap(collect.memory, collect.memory_bytes);
	collect.memory = NULL;
}

void mw_collect_visit(void (*see)(uintptr_t start, uintptr_t limit)) {
	uintptr_t start = (uintptr_t)collect.samples_before;
	if (start)
		see(start, start + capacity_of(MW_SECTION_STACKS) * sizeof(uint32_t));
	mw_reuse_visit(see);
}

/* Requests for large blocks and CPU samples name stacks. */
static void keep_named_stacks(void) {
	uint64_t events = mw_store_used_bytes(MW_SECTION_EVENTS) / sizeof(mw_state_event_t);
	for (uint64_t i = 0; i < events; i++) {
		const mw_state_event_t *event = mw_store_private(MW_SECTION_EVENTS, i);
		if (event->kind == MW_EVENT_REQUEST)
			mw_collect_keep(event->b);
	}
	uint64_t samples = mw_store_used_bytes(MW_SECTION_CPU) / sizeof(mw_state_cpu_t);
	for (uint64_t i = 1; i < samples; i++) {
		const mw_state_cpu_t *sample = mw_store_private(MW_SECTION_CPU, i);
		mw_collect_keep(sample->stack);
	}
}

MW_COLD void mw_collect(uint64_t now_ns) {
	if (mw_collect_start(now_ns)) {
		keep_named_stacks();
		mw_collect_finish();
	}
}
