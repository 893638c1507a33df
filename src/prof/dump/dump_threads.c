/* SPDX-License-Identifier: MIT
 * dump_threads.c -- one pass over the records links them by stack; each stack's list is then summed
 * up by thread. */
#include "prof/dump/dump_threads.h"

#include <stdatomic.h>
#include <stddef.h>

#include "os/memory/map.h"
#include "prof/dump/dump_view.h"
#include "prof/sample/sampler.h"
#include "prof/store/store.h"

/* Largest number of entries of the thread table. */
#define ENTRIES (MW_THREAD_TABLE_SLOTS / 2)

struct mw_dump_threads {
	size_t bytes; /* bytes of this mapping */
	mw_thread_table_t table;
	mw_dump_share_t total[ENTRIES], sum[ENTRIES];
	uint32_t touched[ENTRIES]; /* entries with a share in the stack that is being visited */
	uint64_t stacks, records;
	uint32_t *next; /* for each record the next record of its stack; 0: none */
	uint32_t heads[];
};

typedef struct live_sample {
	uint32_t stack, thread_id;
	mw_dump_share_t share;
} live_sample_t;

/* Copies a record. Returns false if the record is free, older than a reset, or being written. */
static bool read_record(uint64_t number, live_sample_t *sample) {
	const mw_state_record_t *record = mw_store_private(MW_SECTION_RECORDS, number);
	/* Acquire, and the fence below: as in every reader of records (prof/table/records.c). */
	uint32_t before = atomic_load_explicit(&record->sequence, memory_order_acquire);
	uint32_t generation = record->generation;
	uint64_t weight_q16 = record->weight_q16, address = record->address;
	*sample = (live_sample_t){.stack = record->stack, .thread_id = record->thread_id};
	sample->share.objects_q16 = (int64_t)weight_q16;
	sample->share.bytes = mw_sampler_weigh(weight_q16, record->usable_bytes);
	atomic_thread_fence(memory_order_acquire);
	return (before & 1) == 0 && address != 0 && sample->stack != MW_RECORD_FREE &&
	       before == atomic_load_explicit(&record->sequence, memory_order_relaxed) &&
	       generation ==
		       atomic_load_explicit(&mw_store_live()->generation, memory_order_relaxed);
}

static void chain(mw_dump_threads_t *threads) {
	for (uint64_t i = 1; i < threads->records; i++) {
		live_sample_t sample;
		if (!read_record(i, &sample) || sample.stack >= threads->stacks)
			continue;
		threads->next[i] = threads->heads[sample.stack];
		threads->heads[sample.stack] = (uint32_t)i;
		uint32_t entry = mw_thread_table_entry(&threads->table, sample.thread_id);
		if (entry == MW_THREAD_UNKNOWN)
			continue;
		threads->total[entry].objects_q16 += sample.share.objects_q16;
		threads->total[entry].bytes += sample.share.bytes;
	}
}

mw_dump_threads_t *mw_dump_threads_gather(void) {
	uint64_t stacks = mw_dump_stack_count();
	uint64_t records =
		atomic_load_explicit(&mw_store_live()->records_used, memory_order_acquire);
	size_t bytes = sizeof(mw_dump_threads_t) + (stacks + records) * sizeof(uint32_t);
	bytes = (bytes + MW_OS_PAGE_BYTES - 1) & ~(size_t)(MW_OS_PAGE_BYTES - 1);
	mw_dump_threads_t *threads = mw_os_map(bytes);
	if (!threads)
		return NULL;
	threads->bytes = bytes;
	threads->stacks = stacks;
	threads->records = records;
	threads->next = threads->heads + stacks;
	mw_thread_table_fill(&threads->table);
	chain(threads);
	return threads;
}

void mw_dump_threads_drop(mw_dump_threads_t *threads) {
	mw_os_unmap(threads, threads->bytes);
}

const mw_thread_table_t *mw_dump_threads_table(const mw_dump_threads_t *threads) {
	return &threads->table;
}

static void insert_sorted(uint32_t *list, uint32_t length, uint32_t entry) {
	for (; length > 0 && list[length - 1] > entry; length--)
		list[length] = list[length - 1];
	list[length] = entry;
}

/* Sums up the stack's records by thread. Returns the number of entries with a share, in rising
 * order. */
static uint32_t sum_up(mw_dump_threads_t *threads, uint64_t stack) {
	uint32_t count = 0;
	for (uint32_t i = threads->heads[stack]; i != 0; i = threads->next[i]) {
		live_sample_t sample;
		/* Since it was linked, the record may have been freed and used for another
		 * stack. */
		if (!read_record(i, &sample) || sample.stack != stack)
			continue;
		uint32_t entry = mw_thread_table_entry(&threads->table, sample.thread_id);
		if (entry == MW_THREAD_UNKNOWN)
			continue;
		mw_dump_share_t *sum = &threads->sum[entry];
		if (sum->objects_q16 == 0)
			insert_sorted(threads->touched, count++, entry);
		sum->objects_q16 += sample.share.objects_q16;
		sum->bytes += sample.share.bytes;
	}
	return count;
}

void mw_dump_threads_visit(mw_dump_threads_t *threads, uint64_t stack,
			   void (*visit)(void *context, uint32_t entry, mw_dump_share_t share),
			   void *context) {
	if (stack == UINT64_MAX) {
		/* Threads without live blocks are left out: most of them have ended. */
		for (uint32_t entry = 0; entry < threads->table.count; entry++)
			if (threads->total[entry].objects_q16 != 0)
				visit(context, entry, threads->total[entry]);
		return;
	}
	if (stack >= threads->stacks)
		return;
	uint32_t count = sum_up(threads, stack);
	for (uint32_t i = 0; i < count; i++) {
		mw_dump_share_t *sum = &threads->sum[threads->touched[i]];
		visit(context, threads->touched[i], *sum);
		*sum = (mw_dump_share_t){0};
	}
}
