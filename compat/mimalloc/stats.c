/* SPDX-License-Identifier: MIT
 * stats.c -- mimalloc's statistics, of the process and of one heap. */
#include <stdatomic.h>
#include <string.h>

#include "base/fmt.h"
#include "compat/mimalloc/mi_heap.h"
#include "heap/layout/page.h"
#include "state/stats.h"

/* ---- figures ---- */

static mi_stat_count_t count(uint64_t total, uint64_t current) {
	return (mi_stat_count_t){.total = (int64_t)(total > current ? total : current),
				 .peak = (int64_t)current,
				 .current = (int64_t)current};
}

/* Number of blocks of each class that were ever put into a thread's list, and number of blocks in
 * use. */
static void fill_bins(mi_stats_t *stats, const mw_compat_heap_stats_t *counts) {
	const uint32_t *class_bytes = mw_mi_calls()->class_bytes;
	uint64_t bytes = 0, blocks = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		stats->malloc_bins[c].total = (int64_t)counts->given[c];
		bytes += counts->given[c] * class_bytes[c];
		blocks += counts->given[c];
	}
	stats->malloc_normal.total = (int64_t)bytes;
	stats->malloc_normal_count.total = (int64_t)blocks;
}

static void fill_process(mi_stats_t *stats) {
	uint64_t seen[MW_STAT_COUNT];
	mw_heap_totals_t totals;
	mw_compat_heap_stats_t counts;
	const mw_compat_calls_t *calls = mw_mi_calls();
	calls->stats(seen);
	calls->totals(&totals);
	calls->heap_stats(&counts);
	fill_bins(stats, &counts);
	stats->malloc_normal = count((uint64_t)stats->malloc_normal.total, totals.live_bytes);
	stats->malloc_huge = count(counts.large_bytes, seen[MW_STAT_huge_bytes]);
	stats->malloc_huge_count.total = (int64_t)counts.large;
	stats->malloc_guarded_count.total = (int64_t)seen[MW_STAT_guarded_taken];
	stats->pages = count(seen[MW_STAT_page_takes], counts.slices_in_use);
	stats->pages_abandoned = count(0, seen[MW_STAT_abandoned_pages]);
	stats->reserved = count(0, seen[MW_STAT_mapped_bytes] + seen[MW_STAT_metadata_bytes]);
	stats->committed =
		count(0, seen[MW_STAT_in_use_bytes] + seen[MW_STAT_dirty_bytes] +
				 seen[MW_STAT_huge_cached_bytes] + seen[MW_STAT_metadata_bytes]);
	stats->purged.total = (int64_t)seen[MW_STAT_purged_bytes];
	stats->purge_calls.total = (int64_t)counts.purge_calls;
	stats->arena_purges.total = (int64_t)counts.purges;
	stats->threads = count(seen[MW_STAT_heaps], seen[MW_STAT_live_threads]);
	stats->segments = count(0, seen[MW_STAT_chunks]);
	stats->arena_count.total = (int64_t)calls->arenas.count() - 1;
}

static void fill_heap(mi_stats_t *stats, unsigned number) {
	mw_compat_arena_stats_t arena;
	mw_mi_arenas()->stats(number, &arena);
	const uint32_t *class_bytes = mw_mi_calls()->class_bytes;
	uint64_t made = 0, live = 0, blocks = 0;
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		uint64_t taken = arena.taken[c], given = arena.given[c];
		stats->malloc_bins[c] = count(taken, taken - given);
		made += taken * class_bytes[c];
		live += (taken - given) * class_bytes[c];
		blocks += taken;
	}
	stats->malloc_normal = count(made, live);
	stats->malloc_normal_count.total = (int64_t)blocks;
	stats->malloc_huge = count(0, arena.large_bytes);
	stats->malloc_huge_count.total = (int64_t)arena.large_made;
	stats->pages = count(arena.pages_made, arena.slices_in_use);
	stats->reserved =
		count(0, arena.chunks * MW_CHUNK_BYTES + arena.huge_bytes + arena.kept_bytes);
	stats->committed = count(0, (arena.slices_in_use + arena.dirty_slices) * MW_SLICE_BYTES +
					    arena.huge_bytes);
	stats->purged.total = (int64_t)(arena.purged_slices * MW_SLICE_BYTES);
	stats->purge_calls.total = (int64_t)arena.purge_calls;
	stats->arena_purges.total = (int64_t)arena.purges;
	stats->segments = count(0, arena.chunks);
}

/* ---- peaks of the process, and the values that mi_stats_reset() subtracts ---- */

static struct {
#define MI_STAT_COUNT(name) _Atomic int64_t name##_peak, name##_base;
#define MI_STAT_COUNTER(name) _Atomic int64_t name##_base;
#define MI_STAT_AVERAGE(name)
	MI_STAT_FIELDS()
#undef MI_STAT_COUNT
#undef MI_STAT_COUNTER
} before;

static int64_t raise_peak(_Atomic int64_t *peak, int64_t value) {
	int64_t seen = *peak;
	while (seen < value && !atomic_compare_exchange_weak(peak, &seen, value))
		;
	return seen < value ? value : seen;
}

static void apply_before(mi_stats_t *stats) {
#define MI_STAT_COUNT(name)                                                                        \
	stats->name.peak = raise_peak(&before.name##_peak, stats->name.current);                   \
	stats->name.total -= before.name##_base;
#define MI_STAT_COUNTER(name) stats->name.total -= before.name##_base;
	MI_STAT_FIELDS()
#undef MI_STAT_COUNT
#undef MI_STAT_COUNTER
}

void mi_stats_reset(void) {
	mi_stats_t stats = {.version = MI_STAT_VERSION};
	mi_process_init();
	fill_process(&stats);
#define MI_STAT_COUNT(name)                                                                        \
	before.name##_peak = stats.name.current;                                                   \
	before.name##_base = stats.name.total - stats.name.current;
#define MI_STAT_COUNTER(name) before.name##_base = stats.name.total;
	MI_STAT_FIELDS()
#undef MI_STAT_COUNT
#undef MI_STAT_COUNTER
#undef MI_STAT_AVERAGE
}

void mi_stats_merge(void) {
}

/* `heap` NULL or the main heap: the whole process. */
static void fill(mi_stats_t *stats, const mi_heap_t *heap) {
	*stats = (mi_stats_t){.version = MI_STAT_VERSION};
	mi_process_init();
	if (heap && heap != &mw_mi_main_heap) {
		fill_heap(stats, heap->number);
		return;
	}
	fill_process(stats);
	apply_before(stats);
}

void mi_stats_get(size_t stats_size, mi_stats_t *stats) {
	mi_stats_t all;
	if (!stats)
		return;
	fill(&all, NULL);
	memset(stats, 0, stats_size);
	memcpy(stats, &all, stats_size < sizeof all ? stats_size : sizeof all);
}

bool mi_heap_stats_get(mi_heap_t *heap, mi_stats_t *stats) {
	if (stats)
		fill(stats, heap);
	return stats != NULL;
}

bool mi_subproc_stats_get(mi_subproc_id_t subproc_id, mi_stats_t *stats) {
	(void)subproc_id;
	return mi_heap_stats_get(NULL, stats);
}

void mi_heap_stats_merge_to_subproc(mi_heap_t *heap) {
	(void)heap;
}

size_t mi_stats_get_bin_size(size_t bin) {
	return bin < MW_CLASS_COUNT ? mw_mi_calls()->class_bytes[bin] : 0;
}

/* ---- JSON ---- */

static void add_bins(mw_mi_text_t *text, const mi_stats_t *stats) {
	mw_mi_text_add(text, "  \"malloc_bins\": [");
	for (unsigned c = 0; c < MW_CLASS_COUNT; c++) {
		const mi_stat_count_t *bin = &stats->malloc_bins[c];
		mw_mi_text_add(text,
			       "%s\n    { \"total\": %ld, \"peak\": %ld, \"current\": %ld, "
			       "\"block_size\": %u }",
			       c ? "," : "", (long)bin->total, (long)bin->peak, (long)bin->current,
			       mw_mi_calls()->class_bytes[c]);
	}
	mw_mi_text_add(text, "\n  ]\n");
}

static void add_process(mw_mi_text_t *text) {
	size_t wall, user, system, faults, rss, peak_rss, commit, peak_commit;
	mi_process_info(&wall, &user, &system, &rss, &peak_rss, &commit, &peak_commit, &faults);
	mw_mi_text_add(text,
		       "  \"process\": { \"elapsed_msecs\": %zu, \"user_msecs\": %zu, "
		       "\"system_msecs\": %zu, \"page_faults\": %zu, \"rss_current\": %zu, "
		       "\"rss_peak\": %zu, \"commit_current\": %zu, \"commit_peak\": %zu },\n",
		       wall, user, system, faults, rss, peak_rss, commit, peak_commit);
}

char *mi_stats_as_json(mi_stats_t *stats, size_t buf_size, char *buf) {
	if (!stats)
		return NULL;
	mw_mi_text_t text = {.length = 0};
	mw_mi_text_add(&text, "{\n  \"stat_version\": %d,\n  \"mimalloc_version\": %d,\n",
		       stats->version, mi_version());
	add_process(&text);
#define MI_STAT_COUNT(name)                                                                        \
	mw_mi_text_add(&text, "  \"%s\": { \"total\": %ld, \"peak\": %ld, \"current\": %ld },\n",  \
		       #name, (long)stats->name.total, (long)stats->name.peak,                     \
		       (long)stats->name.current);
#define MI_STAT_COUNTER(name)                                                                      \
	mw_mi_text_add(&text, "  \"%s\": %ld,\n", #name, (long)stats->name.total);
#define MI_STAT_AVERAGE(name)                                                                      \
	mw_mi_text_add(&text, "  \"%s\": { \"total\": %ld, \"count\": %ld },\n", #name,            \
		       (long)stats->name.total, (long)stats->name.count);
	MI_STAT_FIELDS()
#undef MI_STAT_COUNT
#undef MI_STAT_COUNTER
#undef MI_STAT_AVERAGE
	add_bins(&text, stats);
	mw_mi_text_add(&text, "}\n");
	if (text.length >= sizeof text.bytes || (buf && text.length >= buf_size))
		return NULL;
	char *result = buf ? buf : mi_malloc(text.length + 1);
	return result ? memcpy(result, text.bytes, text.length + 1) : NULL;
}

char *mi_heap_stats_get_json(mi_heap_t *heap, size_t buf_size, char *buf) {
	mi_stats_t stats;
	fill(&stats, heap);
	return mi_stats_as_json(&stats, buf_size, buf);
}

char *mi_stats_get_json(size_t buf_size, char *buf) {
	return mi_heap_stats_get_json(NULL, buf_size, buf);
}

char *mi_subproc_stats_get_json(mi_subproc_id_t subproc_id, size_t buf_size, char *buf) {
	(void)subproc_id;
	return mi_heap_stats_get_json(NULL, buf_size, buf);
}

/* ---- text ---- */

/* Bytes in KiB, MiB or GiB with a tenth. */
static void add_bytes(mw_mi_text_t *text, int64_t bytes) {
	uint64_t tenths = (uint64_t)(bytes < 0 ? 0 : bytes) * 10 >> 10;
	unsigned unit = 0;
	for (; tenths >= 10240 && unit < 3; unit++)
		tenths >>= 10;
	char number[32];
	mw_fmt(number, sizeof number, "%lu.%lu %ciB", (unsigned long)tenths / 10,
	       (unsigned long)tenths % 10, "KMGT"[unit]);
	mw_mi_text_add(text, "%13s", number);
}

static void add_row(mw_mi_text_t *text, const char *name, const mi_stat_count_t *row) {
	mw_mi_text_add(text, "%10s:", name);
	add_bytes(text, row->peak);
	add_bytes(text, row->total);
	add_bytes(text, row->current);
	mw_mi_text_add(text, "\n");
}

static void add_number_row(mw_mi_text_t *text, const char *name, const mi_stat_count_t *row) {
	mw_mi_text_add(text, "%10s:%13ld%13ld%13ld\n", name, (long)row->peak, (long)row->total,
		       (long)row->current);
}

static void print(const mi_heap_t *heap, mi_output_fun *out, void *arg) {
	mi_stats_t stats;
	mw_mi_text_t text = {.length = 0};
	fill(&stats, heap);
	mw_mi_text_add(&text, "heap stats:%13s%13s%13s\n", "peak", "total", "current");
	add_row(&text, "normal", &stats.malloc_normal);
	add_row(&text, "huge", &stats.malloc_huge);
	add_row(&text, "reserved", &stats.reserved);
	add_row(&text, "committed", &stats.committed);
	mw_mi_text_add(&text, "%10s:%13s", "purged", "");
	add_bytes(&text, stats.purged.total);
	mw_mi_text_add(&text, "\n");
	add_number_row(&text, "pages", &stats.pages);
	add_number_row(&text, "abandoned", &stats.pages_abandoned);
	add_number_row(&text, "segments", &stats.segments);
	add_number_row(&text, "threads", &stats.threads);
	mw_mi_text_add(&text, "%10s:%26ld\n", "arenas", (long)stats.arena_count.total);
	mw_mi_text_add(&text, "%10s:%26ld\n", "purges", (long)stats.purge_calls.total);
	mw_mi_text_process(&text);
	mw_mi_text_print(&text, out, arg);
}

void mi_stats_print_out(mi_output_fun *out, void *arg) {
	print(NULL, out, arg);
}

void mi_stats_print(void *out) {
	(void)out;
	print(NULL, NULL, NULL);
}

void mi_thread_stats_print_out(mi_output_fun *out, void *arg) {
	print(NULL, out, arg);
}

void mi_heap_stats_print_out(mi_heap_t *heap, mi_output_fun *out, void *arg) {
	print(heap, out, arg);
}

void mi_subproc_stats_print_out(mi_subproc_id_t subproc_id, mi_output_fun *out, void *arg) {
	(void)subproc_id;
	print(NULL, out, arg);
}

typedef struct output {
	mi_output_fun *function;
	void *argument;
} output_t;

static bool print_heap(mi_heap_t *heap, void *context) {
	const output_t *output = context;
	print(heap, output->function, output->argument);
	return true;
}

void mi_subproc_heap_stats_print_out(mi_subproc_id_t subproc_id, mi_output_fun *out, void *arg) {
	output_t output = {out, arg};
	mi_subproc_visit_heaps(subproc_id, print_heap, &output);
}
