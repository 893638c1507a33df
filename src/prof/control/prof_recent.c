/* SPDX-License-Identifier: MIT
 * prof_recent.c -- a ring of entries. The record of a live block leads to its entry until the ring
 * overwrites the entry. */
#include "prof/control/prof_recent.h"

#include <stddef.h>

#include "base/bits.h"
#include "os/memory/map.h"
#include "prof/control/control.h"
#include "prof/control/prof_log.h"
#include "prof/dump/dump_view.h"
#include "prof/sample/thread_table.h"
#include "prof/store/store.h"

typedef struct entry {
	_Atomic uint64_t number; /* number of the entry, from 1 on; written last; 0: the entry is
				    being written */
	uint64_t requested_bytes, usable_bytes, alloc_ns;
	uint32_t alloc_thread, alloc_stack;
	uint32_t free_thread, free_stack;
	_Atomic uint64_t free_ns; /* time of the free, written last; 0: the block is live */
} entry_t;

_Atomic int64_t mw_prof_recent_max;

/* A ring with up to 1 << i entries, where i is its index. A mapped ring is never unmapped: a thread
 * that lost the tables' lock may still write into it. */
typedef struct ring {
	_Atomic(entry_t *) entries; /* NULL: not mapped yet */
	_Atomic uint64_t capacity;  /* not 0 if `entries` is mapped */
} ring_t;

#define RING_SIZES 21u
_Static_assert(MW_PROF_RECENT_MAX == 1 << (RING_SIZES - 1), "the largest ring");

static struct {
	_Atomic(ring_t *) ring; /* ring in use; NULL: none */
	/* A new ring is taken from the list that does not contain the current one. */
	ring_t rings[2][RING_SIZES];
	unsigned list;
	_Atomic uint64_t written;  /* number of entries so far */
	_Atomic uint64_t *numbers; /* for each record the number of its entry; 0: none */
	uint64_t record_count;
	mw_lock_t lock; /* taken without waiting by a thread that writes or resizes the ring */
} recent;

static size_t mapped_bytes(unsigned size) {
	return mw_round_up(sizeof(entry_t) << size, MW_OS_PAGE_BYTES);
}

static ring_t *ring_now(void) {
	/* Pairs with the release in use_ring(). */
	return atomic_load_explicit(&recent.ring, memory_order_acquire);
}

static entry_t *entry_at(const ring_t *ring, uint64_t number) {
	uint64_t capacity = atomic_load_explicit(&ring->capacity, memory_order_relaxed);
	return &atomic_load_explicit(&ring->entries, memory_order_relaxed)[number % capacity];
}

void mw_prof_recent_add(mw_record_id_t record, const mw_sample_t *sample) {
	ring_t *ring = ring_now();
	if (!ring || record == 0 || record >= recent.record_count)
		return;
	uint64_t number = atomic_fetch_add_explicit(&recent.written, 1, memory_order_relaxed) + 1;
	entry_t *entry = entry_at(ring, number);
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

void mw_prof_recent_freed(mw_record_id_t record, const mw_release_t *release, uint32_t free_stack) {
	ring_t *ring = ring_now();
	if (!ring || record >= recent.record_count)
		return;
	uint64_t number =
		atomic_exchange_explicit(&recent.numbers[record], 0, memory_order_relaxed);
	entry_t *entry = entry_at(ring, number);
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

/* Returns an empty ring with at least this capacity; NULL: no memory. */
static ring_t *find_ring(uint64_t capacity) {
	unsigned size = capacity > 1 ? mw_log2_floor(capacity - 1) + 1 : 0;
	ring_t *ring = &recent.rings[!recent.list][size];
	if (!ring->entries) {
		entry_t *entries = mw_os_map(mapped_bytes(size));
		if (!entries)
			return NULL;
		atomic_store_explicit(&ring->entries, entries, memory_order_relaxed);
	}
	atomic_store_explicit(&ring->capacity, capacity, memory_order_relaxed);
	return ring;
}

/* Copies the newest entries into the ring. Called with the tables quiesced. */
static void use_ring(ring_t *ring) {
	ring_t *old = ring_now();
	uint64_t written = recent.written;
	uint64_t kept =
		old && ring ? old->capacity < ring->capacity ? old->capacity : ring->capacity : 0;
	for (uint64_t number = written > kept ? written - kept + 1 : 1; kept && number <= written;
	     number++) {
		const entry_t *from = entry_at(old, number);
		if (from->number == number)
			copy_entry(entry_at(ring, number), from, number);
	}
	/* Pairs with the acquire in ring_now(). */
	atomic_store_explicit(&recent.ring, ring, memory_order_release);
	if (old)
		mw_os_purge(old->entries,
			    mapped_bytes((unsigned)(old - recent.rings[recent.list])));
	recent.list = !recent.list;
}

static bool have_numbers(void) {
	if (recent.numbers)
		return true;
	uint64_t count = mw_store_header()->sections[MW_SECTION_RECORDS].capacity;
	recent.numbers = mw_os_map(mw_round_up(count * sizeof(uint64_t), MW_OS_PAGE_BYTES));
	if (recent.numbers)
		recent.record_count = count;
	return recent.numbers != NULL;
}

static mw_result_t set_max(int64_t max) {
	uint64_t capacity =
		(uint64_t)(max < 0 || max > MW_PROF_RECENT_MAX ? MW_PROF_RECENT_MAX : max);
	ring_t *ring = NULL;
	if (capacity > 0 &&
	    (!mw_control_need_tables() || !have_numbers() || !(ring = find_ring(capacity))))
		return MW_ERR_NO_MEMORY;
	bool locked = mw_tables_quiesce(&mw_control_table_lock);
	use_ring(ring);
	atomic_store_explicit(&mw_prof_recent_max, max, memory_order_relaxed);
	mw_tables_resume(&mw_control_table_lock, locked);
	return MW_OK;
}

mw_lock_t *mw_prof_recent_lock(void) {
	return &recent.lock;
}

void mw_prof_recent_forked(void) {
	mw_lock_leave(&recent.lock);
}

mw_result_t mw_prof_recent_set_max(int64_t max) {
	if (!mw_lock_enter(&recent.lock))
		return MW_ERR_FORBIDDEN;
	mw_result_t result = set_max(max);
	mw_lock_leave(&recent.lock);
	return result;
}

/* ---- JSON ---- */

static void write_thread(mw_writer_t *out, const mw_thread_table_t *threads, const char *what,
			 uint32_t thread_id) {
	uint32_t entry = mw_thread_table_entry(threads, thread_id);
	char name[16] = "";
	if (entry != MW_THREAD_UNKNOWN)
		mw_thread_table_name(threads, entry, name);
	mw_writer_print(out, ",\"%s_thread_uid\":%lu", what,
			entry == MW_THREAD_UNKNOWN
				? (unsigned long)thread_id
				: (unsigned long)mw_thread_table_number(threads, entry));
	if (name[0])
		mw_writer_print(out, ",\"%s_thread_name\":\"%s\"", what, name);
}

static void write_half(mw_writer_t *out, const mw_thread_table_t *threads, const char *what,
		       uint32_t thread_id, uint64_t time_ns, uint32_t stack) {
	write_thread(out, threads, what, thread_id);
	mw_writer_print(out, ",\"%s_time\":%lu,\"%s_trace\":", what,
			(unsigned long)mw_prof_log_time(time_ns), what);
	mw_dump_write_trace(out, stack);
}

/* Copies an entry. Returns false if another entry has replaced it. */
static bool read_entry(uint64_t number, entry_t *copy) {
	entry_t *entry = entry_at(ring_now(), number);
	if (atomic_load_explicit(&entry->number, memory_order_acquire) != number)
		return false;
	copy->free_ns = atomic_load_explicit(&entry->free_ns, memory_order_acquire);
	uint64_t free_ns = copy->free_ns;
	copy_entry(copy, entry, number);
	atomic_store_explicit(&copy->free_ns, free_ns, memory_order_relaxed);
	/* A read-modify-write, which keeps the reads above before it. Pairs with the fence in
	 * mw_prof_recent_add(). gcc's ThreadSanitizer does not accept a fence here. */
	return atomic_fetch_add_explicit(&entry->number, 0, memory_order_acq_rel) == number;
}

static bool write_entry(mw_writer_t *out, const mw_thread_table_t *threads, uint64_t number,
			bool first) {
	entry_t entry;
	if (!read_entry(number, &entry))
		return false;
	uint64_t free_ns = entry.free_ns;
	mw_writer_print(out, "%s{\"size\":%lu,\"usize\":%lu,\"released\":%s", first ? "" : ",",
			(unsigned long)entry.requested_bytes, (unsigned long)entry.usable_bytes,
			free_ns ? "true" : "false");
	write_half(out, threads, "alloc", entry.alloc_thread, entry.alloc_ns, entry.alloc_stack);
	if (free_ns)
		write_half(out, threads, "dalloc", entry.free_thread, free_ns, entry.free_stack);
	mw_writer_print(out, "}");
	return true;
}

static void write_all(mw_writer_t *out, mw_thread_table_t *threads) {
	mw_thread_table_fill(threads);
	uint64_t written = atomic_load_explicit(&recent.written, memory_order_acquire);
	const ring_t *ring = ring_now();
	uint64_t capacity = ring ? ring->capacity : 0;
	uint64_t number = written > capacity ? written - capacity + 1 : 1;
	bool first = true;
	mw_writer_print(out, "{\"sample_interval\":%lu,\"recent_alloc_max\":%ld,\"recent_alloc\":[",
			(unsigned long)mw_control_mean(),
			(long)atomic_load_explicit(&mw_prof_recent_max, memory_order_relaxed));
	for (; ring && number <= written; number++)
		first &= !write_entry(out, threads, number, first);
	mw_writer_print(out, "]}");
}

mw_result_t mw_prof_recent_write(mw_writer_write_t write, void *context) {
	struct work {
		mw_writer_t out;
		mw_thread_table_t threads;
	} * work;
	size_t bytes = mw_round_up(sizeof *work, MW_OS_PAGE_BYTES);
	if (!mw_control_need_tables() || !mw_lock_enter(&recent.lock))
		return MW_ERR_FORBIDDEN;
	mw_result_t result = MW_ERR_NO_MEMORY;
	work = mw_os_map(bytes);
	if (work) {
		work->out.write = write;
		work->out.context = context;
		mw_writer_start(&work->out);
		write_all(&work->out, &work->threads);
		result = mw_writer_finish(&work->out);
		mw_os_unmap(work, bytes);
	}
	mw_lock_leave(&recent.lock);
	return result;
}
