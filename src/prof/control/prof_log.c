/* SPDX-License-Identifier: MIT
 * prof_log.c -- collects the log's entries and writes them as JSON. */
#include "prof/control/prof_log.h"

#include <limits.h>
#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "base/fmt.h"
#include "os/file/file.h"
#include "os/file/proc.h"
#include "os/memory/map.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof/dump/dump.h"
#include "prof/dump/dump_view.h"
#include "prof/dump/writer.h"
#include "prof/sample/thread_table.h"
#include "prof/store/store.h"

typedef struct entry {
	uint32_t alloc_thread, free_thread, alloc_stack, free_stack;
	uint64_t alloc_ns, free_ns, usable_bytes;
} entry_t;

_Atomic int mw_prof_log_state;

static struct {
	entry_t *entries;
	_Atomic uint64_t used; /* number of entries; may exceed the capacity */
	uint64_t started_ns;
	bool realtime;
} log_;
static MW_SPARSE char log_path[PATH_MAX];

#define ENTRIES_BYTES (MW_LOG_ENTRIES * sizeof(entry_t))

void mw_prof_log_set_realtime(bool realtime) {
	log_.realtime = realtime;
}

uint64_t mw_prof_log_time(uint64_t monotonic_ns) {
	if (!log_.realtime)
		return monotonic_ns;
	return monotonic_ns + (mw_os_realtime_ns() - mw_os_monotonic_ns());
}

mw_result_t mw_prof_log_start(const char *path) {
	int state = MW_LOG_OFF;
	if (!atomic_compare_exchange_strong_explicit(&mw_prof_log_state, &state, MW_LOG_STARTING,
						     memory_order_acquire, memory_order_relaxed))
		return MW_ERR_BAD_VALUE;
	if (!log_.entries)
		log_.entries = mw_os_map(ENTRIES_BYTES);
	if (!log_.entries) {
		atomic_store_explicit(&mw_prof_log_state, MW_LOG_OFF, memory_order_release);
		return MW_ERR_NO_MEMORY;
	}
	atomic_store_explicit(&log_.used, 0, memory_order_relaxed);
	log_.started_ns = mw_os_monotonic_ns();
	mw_fmt(log_path, sizeof log_path, "%s", path);
	atomic_store_explicit(&mw_prof_log_state, MW_LOG_ON, memory_order_release);
	return MW_OK;
}

void mw_prof_log_add(const mw_sample_t *sample, const mw_release_t *release, uint32_t free_stack) {
	/* Tested again with the lock held: a thread that stops the log quiesces the tables
	 * first. */
	if (!mw_prof_log_is_on())
		return;
	uint64_t index = atomic_fetch_add_explicit(&log_.used, 1, memory_order_relaxed);
	if (index >= MW_LOG_ENTRIES)
		return;
	log_.entries[index] = (entry_t){
		.alloc_thread = sample->thread_id,
		.free_thread = release->thread_id,
		.alloc_stack = sample->stack,
		.free_stack = free_stack,
		.alloc_ns = sample->time_ns,
		.free_ns = release->time_ns,
		.usable_bytes = sample->usable_bytes,
	};
}

/* ---- writing ---- */

/* Memory that the writer maps while it runs. */
typedef struct writer {
	size_t bytes;
	mw_writer_t out;
	mw_thread_table_t threads;
	uint64_t count, stack_count;
	uint32_t places[]; /* for each stack its number among those written, from 1 on */
} writer_t;

/* JSON names a thread by its index in "threads". An unknown thread counts as the first one. */
static uint32_t thread_place(const writer_t *w, uint32_t thread_id) {
	uint32_t entry = mw_thread_table_entry(&w->threads, thread_id);
	return entry == MW_THREAD_UNKNOWN ? 0 : entry;
}

static void write_threads(writer_t *w) {
	mw_writer_print(&w->out, ",\"threads\":[");
	for (uint32_t i = 0; i < w->threads.count; i++) {
		char name[16];
		mw_thread_table_name(&w->threads, i, name);
		mw_writer_print(&w->out, "%s{\"thr_uid\":%lu,\"thr_name\":\"%s\"}", i ? "," : "",
				(unsigned long)mw_thread_table_number(&w->threads, i), name);
	}
	mw_writer_print(&w->out, "]");
}

static void write_stack_once(writer_t *w, uint32_t stack, uint32_t *written) {
	if (stack >= w->stack_count || w->places[stack] != 0)
		return;
	mw_writer_print(&w->out, "%s", *written ? "," : "");
	mw_dump_write_trace(&w->out, stack);
	w->places[stack] = ++*written;
}

static void write_stacks(writer_t *w) {
	uint32_t written = 0;
	mw_writer_print(&w->out, ",\"stack_traces\":[");
	for (uint64_t i = 0; i < w->count; i++) {
		write_stack_once(w, log_.entries[i].alloc_stack, &written);
		write_stack_once(w, log_.entries[i].free_stack, &written);
	}
	mw_writer_print(&w->out, "]");
}

static uint32_t stack_place(const writer_t *w, uint32_t stack) {
	return stack < w->stack_count ? w->places[stack] - 1 : 0;
}

static void write_allocations(writer_t *w) {
	mw_writer_print(&w->out, ",\"allocations\":[");
	for (uint64_t i = 0; i < w->count; i++) {
		const entry_t *e = &log_.entries[i];
		mw_writer_print(&w->out,
				"%s{\"alloc_thread\":%u,\"free_thread\":%u,\"alloc_trace\":%u,"
				"\"free_trace\":%u,\"alloc_timestamp\":%lu,\"free_timestamp\":%lu,"
				"\"usize\":%lu}",
				i ? "," : "", thread_place(w, e->alloc_thread),
				thread_place(w, e->free_thread), stack_place(w, e->alloc_stack),
				stack_place(w, e->free_stack),
				(unsigned long)mw_prof_log_time(e->alloc_ns),
				(unsigned long)mw_prof_log_time(e->free_ns),
				(unsigned long)e->usable_bytes);
	}
	mw_writer_print(&w->out, "]");
}

static void write_all(writer_t *w) {
	uint64_t mean_bytes = mw_control_mean();
	mw_writer_start(&w->out);
	mw_writer_print(&w->out,
			"{\"info\":{\"duration\":%lu,\"version\":\"%s\",\"lg_sample_rate\":%u,"
			"\"prof_time_resolution\":\"%s\",\"pid\":%u}",
			(unsigned long)(mw_os_monotonic_ns() - log_.started_ns),
			"mallow " MALLOW_VERSION, mean_bytes ? mw_log2_floor(mean_bytes) : 0,
			log_.realtime ? "high" : "default", mw_os_process_id());
	write_threads(w);
	write_stacks(w);
	write_allocations(w);
	mw_writer_print(&w->out, "}");
}

static mw_result_t write_file(writer_t *w) {
	int file = mw_os_open(MW_OS_NO_DIRECTORY, log_path, MW_OS_REPLACE);
	if (file < 0)
		return (mw_result_t)file;
	w->out.file = file;
	write_all(w);
	mw_result_t result = mw_writer_finish(&w->out);
	mw_os_file_info_t info;
	bool is_plain = mw_os_file_info(file, &info) == MW_OK && info.is_regular;
	mw_os_close(file);
	/* Without its end it cannot be read. */
	if (result != MW_OK && is_plain)
		mw_os_remove(MW_OS_NO_DIRECTORY, log_path);
	return result;
}

static mw_result_t write_log(void) {
	uint64_t stacks = mw_dump_stack_count();
	uint64_t used = atomic_load_explicit(&log_.used, memory_order_relaxed);
	size_t bytes = mw_round_up(sizeof(writer_t) + stacks * sizeof(uint32_t), MW_OS_PAGE_BYTES);
	writer_t *w = mw_os_map(bytes);
	mw_result_t result = MW_ERR_NO_MEMORY;
	if (w) {
		w->bytes = bytes;
		w->count = used < MW_LOG_ENTRIES ? used : MW_LOG_ENTRIES;
		w->stack_count = stacks;
		mw_thread_table_fill(&w->threads);
		result = write_file(w);
		mw_os_unmap(w, bytes);
	}
	return result;
}

mw_result_t mw_prof_log_stop(void) {
	int state = MW_LOG_ON;
	if (!atomic_compare_exchange_strong_explicit(&mw_prof_log_state, &state, MW_LOG_STOPPING,
						     memory_order_acquire, memory_order_relaxed))
		return MW_ERR_BAD_VALUE;
	/* A thread that was adding an entry has finished afterwards. */
	mw_tables_resume(&mw_control_table_lock, mw_tables_quiesce(&mw_control_table_lock));
	mw_result_t result = mw_control_need_tables() ? write_log() : MW_ERR_NO_MEMORY;
	if (result != MW_OK)
		mw_warn("prof_log %.400s: %s; there is no log", log_path, mw_dump_failure(result));
	/* Not unmapped: a thread that lost the tables' lock may still write an entry. */
	mw_os_purge(log_.entries, ENTRIES_BYTES);
	atomic_store_explicit(&mw_prof_log_state, MW_LOG_OFF, memory_order_release);
	return result;
}

void mw_prof_log_forked(void) {
	if (log_.entries)
		mw_os_unmap(log_.entries, ENTRIES_BYTES);
	log_.entries = NULL;
	atomic_store_explicit(&mw_prof_log_state, MW_LOG_OFF, memory_order_relaxed);
}
