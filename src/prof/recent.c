/* SPDX-License-Identifier: MIT
 * recent.c -- a ring of entries, each found by the record of its block until the ring comes round
 * to it. */
#include "prof/recent.h"

#include <stddef.h>

#include "base/bits.h"
#include "os/map.h"
#include "prof/control.h"
#include "prof/dump_view.h"
#include "prof/image.h"
#include "prof/log.h"
#include "prof/thread_table.h"

typedef struct entry {
	_Atomic uint64_t number; /* from 1 on, set last; 0: being written */
	uint64_t requested_bytes, usable_bytes, alloc_ns;
	uint32_t alloc_thread, alloc_stack;
	uint32_t free_thread, free_stack;
	_Atomic uint64_t free_ns; /* 0: live; set last */
} entry_t;

_Atomic int64_t mw_recent_max;

static struct {
	entry_t *entries;
	uint64_t capacity;
	_Atomic uint64_t written;  /* entries so far */
	_Atomic uint64_t *numbers; /* of each record, its entry's; 0: none */
	uint64_t record_count;
	mw_lock_t lock; /* entered, not waited for, by who writes or resizes it */
} recent;

static size_t mapped_bytes(uint64_t capacity) {
	return mw_round_up(capacity * sizeof(entry_t), MW_OS_PAGE_BYTES);
}

void mw_recent_add(mw_record_id_t record, const mw_sample_t *sample) {
	if (!recent.entries || record == 0 || record >= recent.record_count)
		return;
	uint64_t number = atomic_fetch_add_explicit(&recent.written, 1, memory_order_relaxed) + 1;
	entry_t *entry = &recent.entries[number % recent.capacity];
	atomic_store_explicit(&entry->number, 0, memory_order_relaxed);
	/* Pairs with the end of read_entry(). */
	atomic_thread_fence(memory_order_release);
	entry->requested_bytes = sample->requested_bytes;
	entry->usable_bytes = sample->usable_bytes;
	entry->alloc_ns = sample->time_ns;
	entry->alloc_thread = sample->thread_id;
	entry->alloc_stack = sample->stack;
	atomic_store_explicit(&entry->free_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->number, number, memory_order_release);
	atomic_store_explicit(&recent.numbers[record], number, memory_order_relaxed);
}

void mw_recent_freed(mw_record_id_t record, const mw_release_t *release, uint32_t free_stack) {
	if (!recent.entries || record >= recent.record_count)
		return;
	uint64_t number =
		atomic_exchange_explicit(&recent.numbers[record], 0, memory_order_relaxed);
	entry_t *entry = &recent.entries[number % recent.capacity];
	if (number == 0 || atomic_load_explicit(&entry->number, memory_order_acquire) != number)
		return;
	entry->free_thread = release->thread_id;
	entry->free_stack = free_stack;
	atomic_store_explicit(&entry->free_ns, release->time_ns, memory_order_release);
}

/* ---- size ---- */

static void copy_entry(entry_t *to, const entry_t *from, uint64_t number) {
	to->requested_bytes = from->requested_bytes;
	to->usable_bytes = from->usable_bytes;
	to->alloc_ns = from->alloc_ns;
	to->alloc_thread = from->alloc_thread;
	to->alloc_stack = from->alloc_stack;
	to->free_thread = from->free_thread;
	to->free_stack = from->free_stack;
	atomic_store_explicit(&to->free_ns, from->free_ns, memory_order_relaxed);
	atomic_store_explicit(&to->number, number, memory_order_relaxed);
}

/* With the gate closed. */
static void replace(entry_t *entries, uint64_t capacity) {
	uint64_t written = recent.written;
	uint64_t least = recent.capacity < capacity ? recent.capacity : capacity;
	uint64_t first = written > least ? written - least + 1 : 1;
	for (uint64_t number = first; recent.entries && entries && number <= written; number++) {
		const entry_t *from = &recent.entries[number % recent.capacity];
		if (from->number == number)
			copy_entry(&entries[number % capacity], from, number);
	}
	if (recent.entries)
		mw_os_unmap(recent.entries, mapped_bytes(recent.capacity));
	recent.entries = entries;
	recent.capacity = capacity;
}

static bool have_numbers(void) {
	if (recent.numbers)
		return true;
	uint64_t count = mw_image_header()->sections[MW_SECTION_RECORDS].capacity;
	recent.numbers = mw_os_map(mw_round_up(count * sizeof(uint64_t), MW_OS_PAGE_BYTES));
	if (recent.numbers)
		recent.record_count = count;
	return recent.numbers != NULL;
}

static mw_result_t set_max(int64_t max) {
	uint64_t capacity = (uint64_t)(max < 0 || max > MW_RECENT_MAX ? MW_RECENT_MAX : max);
	entry_t *entries = NULL;
	if (capacity > 0 && (!mw_control_need_tables() || !have_numbers() ||
			     !(entries = mw_os_map(mapped_bytes(capacity)))))
		return MW_ERR_NO_MEMORY;
	bool turn = mw_gate_close(&mw_control_gate);
	replace(entries, capacity);
	atomic_store_explicit(&mw_recent_max, max, memory_order_relaxed);
	mw_gate_open(&mw_control_gate, turn);
	return MW_OK;
}

mw_lock_t *mw_recent_lock(void) {
	return &recent.lock;
}

void mw_recent_forked(void) {
	mw_lock_leave(&recent.lock);
}

mw_result_t mw_recent_set_max(int64_t max) {
	if (!mw_lock_enter(&recent.lock))
		return MW_ERR_FORBIDDEN;
	mw_result_t result = set_max(max);
	mw_lock_leave(&recent.lock);
	return result;
}

/* ---- JSON ---- */

static void write_thread(mw_out_t *out, const mw_thread_table_t *threads, const char *what,
			 uint32_t thread_id) {
	uint32_t entry = mw_thread_table_entry(threads, thread_id);
	char name[16] = "";
	if (entry != MW_THREAD_UNKNOWN)
		mw_thread_table_name(threads, entry, name);
	mw_out_print(out, ",\"%s_thread_uid\":%lu", what,
		     entry == MW_THREAD_UNKNOWN
			     ? (unsigned long)thread_id
			     : (unsigned long)mw_thread_table_number(threads, entry));
	if (name[0])
		mw_out_print(out, ",\"%s_thread_name\":\"%s\"", what, name);
}

static void write_half(mw_out_t *out, const mw_thread_table_t *threads, const char *what,
		       uint32_t thread_id, uint64_t time_ns, uint32_t stack) {
	write_thread(out, threads, what, thread_id);
	mw_out_print(out, ",\"%s_time\":%lu,\"%s_trace\":", what,
		     (unsigned long)mw_log_time(time_ns), what);
	mw_dump_write_trace(out, stack);
}

/* False: it is another's by now. */
static bool read_entry(uint64_t number, entry_t *copy) {
	entry_t *entry = &recent.entries[number % recent.capacity];
	if (atomic_load_explicit(&entry->number, memory_order_acquire) != number)
		return false;
	copy->free_ns = atomic_load_explicit(&entry->free_ns, memory_order_acquire);
	uint64_t free_ns = copy->free_ns;
	copy_entry(copy, entry, number);
	atomic_store_explicit(&copy->free_ns, free_ns, memory_order_relaxed);
	/* Not a load: what was read above stays before a store.  Pairs with the fence in
	 * mw_recent_add(); one here gcc's ThreadSanitizer refuses. */
	return atomic_fetch_add_explicit(&entry->number, 0, memory_order_acq_rel) == number;
}

static bool write_entry(mw_out_t *out, const mw_thread_table_t *threads, uint64_t number,
			bool first) {
	entry_t entry;
	if (!read_entry(number, &entry))
		return false;
	uint64_t free_ns = entry.free_ns;
	mw_out_print(out, "%s{\"size\":%lu,\"usize\":%lu,\"released\":%s", first ? "" : ",",
		     (unsigned long)entry.requested_bytes, (unsigned long)entry.usable_bytes,
		     free_ns ? "true" : "false");
	write_half(out, threads, "alloc", entry.alloc_thread, entry.alloc_ns, entry.alloc_stack);
	if (free_ns)
		write_half(out, threads, "dalloc", entry.free_thread, free_ns, entry.free_stack);
	mw_out_print(out, "}");
	return true;
}

static void write_all(mw_out_t *out, mw_thread_table_t *threads) {
	mw_thread_table_fill(threads);
	uint64_t written = atomic_load_explicit(&recent.written, memory_order_acquire);
	uint64_t number = written > recent.capacity ? written - recent.capacity + 1 : 1;
	bool first = true;
	mw_out_print(out, "{\"sample_interval\":%lu,\"recent_alloc_max\":%ld,\"recent_alloc\":[",
		     (unsigned long)mw_control_mean(),
		     (long)atomic_load_explicit(&mw_recent_max, memory_order_relaxed));
	for (; recent.entries && number <= written; number++)
		first &= !write_entry(out, threads, number, first);
	mw_out_print(out, "]}");
}

mw_result_t mw_recent_write(mw_out_write_t write, void *context) {
	struct work {
		mw_out_t out;
		mw_thread_table_t threads;
	} * work;
	size_t bytes = mw_round_up(sizeof *work, MW_OS_PAGE_BYTES);
	if (!mw_control_need_tables() || !mw_lock_enter(&recent.lock))
		return MW_ERR_FORBIDDEN;
	mw_result_t result = MW_ERR_NO_MEMORY;
	bool held = mw_image_hold();
	work = held ? mw_os_map(bytes) : NULL;
	if (work) {
		work->out.write = write;
		work->out.context = context;
		mw_out_start(&work->out);
		write_all(&work->out, &work->threads);
		result = mw_out_finish(&work->out);
		mw_os_unmap(work, bytes);
	}
	if (held)
		mw_image_release();
	mw_lock_leave(&recent.lock);
	return result;
}
