/* SPDX-License-Identifier: MIT
 * process.c -- mimalloc's functions for the process: options, statistics, memory that the program
 * brings along, functions that it registers, subprocesses. */
#include <errno.h>
#include <mimalloc-stats.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "test.h"

static char heard[20000];

static void hear(const char *text, void *context) {
	CHECK(context == heard);
	strncat(heard, text, sizeof heard - strlen(heard) - 1);
}

/* ---- options ---- */

static void options(void) {
	CHECK(!mi_option_is_enabled(mi_option_show_stats));
	mi_option_set_enabled_default(mi_option_verbose, true);
	CHECK(mi_option_is_enabled(mi_option_verbose));
	mi_option_disable(mi_option_verbose);
	mi_option_set_enabled_default(mi_option_verbose, true);
	CHECK(!mi_option_is_enabled(mi_option_verbose));
	mi_option_set(mi_option_purge_delay, 25);
	CHECK_EQ(mi_option_get(mi_option_purge_delay), 25);
	CHECK_EQ(mi_option_get_clamp(mi_option_purge_delay, 0, 10), 10);
	CHECK_EQ(mi_option_get_clamp(mi_option_purge_delay, 30, 40), 30);
	CHECK_EQ(mi_option_get_size(mi_option_arena_reserve), (size_t)1 << 30);
	mi_option_set((mi_option_t)1000, 5);
	mi_option_set((mi_option_t)-1, 5);
	CHECK_EQ(mi_option_get((mi_option_t)1000), 0);
	heard[0] = '\0';
	mi_options_print_out(hear, heard);
	CHECK(strstr(heard, "option 'purge_delay': 25\n"));
	CHECK(strstr(heard, "option 'arena_reserve': 1048576 KiB\n"));
}

static size_t resident_mib(void) {
	size_t rss = 0;
	mi_process_info(NULL, NULL, NULL, &rss, NULL, NULL, NULL, NULL);
	return rss >> 20;
}

static size_t mib_after_free(long purge_delay) {
	mi_option_set(mi_option_purge_delay, purge_delay);
	static char *blocks[1000];
	for (int i = 0; i < 1000; i++)
		blocks[i] = memset(mi_malloc(60000), 1, 60000);
	for (int i = 0; i < 1000; i++)
		mi_free(blocks[i]);
	return resident_mib();
}

/* The memory of freed blocks stays, or goes at once. */
static void purge_delay(void) {
	size_t kept = mib_after_free(-1);
	size_t given = mib_after_free(0);
	CHECK(given + 30 < kept);
	mi_option_set(mi_option_purge_delay, 1000);
}

/* ---- statistics ---- */

static void statistics(void) {
	mi_stats_t before, during, after;
	mi_stats_get(sizeof before, &before);
	CHECK_EQ(before.version, MI_STAT_VERSION);
	void *huge = mi_malloc(50000000);
	mi_stats_get(sizeof during, &during);
	CHECK(during.malloc_huge.current >= before.malloc_huge.current + 50000000);
	CHECK(during.reserved.current >= during.committed.current);
	CHECK(during.committed.current >= 50000000 && during.threads.current >= 1);
	mi_free(huge);
	mi_stats_get(sizeof after, &after);
	CHECK(after.malloc_huge.current < during.malloc_huge.current);
	CHECK(after.malloc_huge.peak >= during.malloc_huge.current);
	CHECK(after.malloc_normal_count.total >= before.malloc_normal_count.total);
	mi_stats_reset();
	mi_stats_merge();
	mi_stats_get(sizeof after, &after);
	CHECK(after.malloc_huge.peak < 50000000);
	int version = 0;
	mi_stats_get(sizeof version, (mi_stats_t *)(void *)&version);
	CHECK_EQ(version, MI_STAT_VERSION);
	CHECK(mi_stats_get_bin_size(0) == 16 && mi_stats_get_bin_size(1000) == 0);
}

static void statistics_of_heap(void) {
	mi_heap_t *heap = mi_heap_new();
	for (int i = 0; i < 1000; i++)
		memset(mi_heap_malloc(heap, 1000), 1, 1000);
	mi_stats_t stats;
	CHECK(mi_heap_stats_get(heap, &stats));
	CHECK(stats.malloc_normal.current >= 1000 * 1000 && stats.malloc_normal.current < 1300000);
	CHECK(stats.committed.current >= 1000 * 1000);
	CHECK(!mi_heap_stats_get(heap, NULL));
	heard[0] = '\0';
	mi_heap_stats_print_out(heap, hear, heard);
	CHECK(strstr(heard, "heap stats:") && strstr(heard, " normal:"));
	mi_heap_destroy(heap);
}

static void texts(void) {
	heard[0] = '\0';
	mi_stats_print_out(hear, heard);
	CHECK(strstr(heard, "heap stats:") && strstr(heard, "committed:"));
	CHECK(strstr(heard, "  elapsed: ") && strstr(heard, "  process: user: "));
	heard[0] = '\0';
	mi_subproc_heap_stats_print_out(mi_subproc_main(), hear, heard);
	CHECK(strstr(heard, "heap stats:"));
	char *json = mi_stats_get_json(0, NULL);
	CHECK(json && json[0] == '{' && strstr(json, "\"malloc_huge\": { \"total\": "));
	CHECK_STR(json + strlen(json) - 2, "}\n");
	/* For the script, which gives it to a parser. */
	if (getenv("TEST_JSON"))
		fputs(json, stderr);
	char small[100], *large = malloc(100000);
	CHECK(mi_stats_get_json(sizeof small, small) == NULL);
	CHECK(mi_stats_get_json(100000, large) == large && large[0] == '{');
	free(large);
	mi_free(json);
}

static void process_info(void) {
	size_t elapsed, user, system, rss, peak_rss, commit, peak_commit, faults;
	mi_process_info(&elapsed, &user, &system, &rss, &peak_rss, &commit, &peak_commit, &faults);
	CHECK(rss > 0 && peak_rss >= rss / 2 && peak_commit >= commit && commit > 0);
	mi_process_info(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}

/* ---- memory for heaps ---- */

static bool count_blocks(const mi_heap_t *heap, const mi_heap_area_t *area, void *block,
			 size_t bytes, void *context) {
	(void)heap;
	(void)bytes;
	CHECK_EQ(area->heap_tag, 42);
	*(int *)context += block != NULL;
	return true;
}

static void use_region(mi_arena_id_t id, size_t bytes) {
	size_t size = 0;
	char *area = mi_arena_area(id, &size);
	CHECK(area && size <= bytes && size + 4 * 1024 * 1024 > bytes);
	for (int turn = 0; turn < 3; turn++) {
		mi_heap_t *heap = mi_heap_new_ex(42, true, id);
		void *large = mi_heap_malloc(heap, 3000000), *block = NULL;
		CHECK(large && mi_arena_contains(id, large));
		memset(large, 1, 3000000);
		int blocks = 1, seen = 0;
		for (; (block = mi_heap_malloc(heap, 60000)) != NULL; blocks++)
			CHECK(memset(block, 1, 60000) && mi_arena_contains(id, block));
		CHECK(errno == ENOMEM && (size_t)blocks * 60000 > size / 2);
		CHECK(mi_heap_visit_blocks(heap, true, count_blocks, &seen));
		CHECK_EQ(seen, blocks);
		CHECK(!mi_arena_contains(id, mi_malloc_tp(int)));
		mi_heap_destroy(heap);
	}
}

static bool commit(bool do_commit, void *start, size_t size, bool *is_zero, void *context) {
	(void)is_zero;
	*(int *)context += 1;
	return !do_commit || mprotect(start, size, PROT_READ | PROT_WRITE) == 0;
}

static void regions(void) {
	enum { MIB = 1024 * 1024 };
	mi_arena_id_t id = 0;
	CHECK_EQ(mi_reserve_os_memory_ex(15 * MIB, true, false, true, &id), 0);
	use_region(id, 16 * MIB);
	/* Not aligned, and without access. */
	char *memory = mmap(NULL, 33 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mi_manage_os_memory_ex(memory + 4096, 33 * MIB - 4096, false, false, true, -1, true,
				     &id));
	size_t size;
	mi_arena_area(id, &size);
	use_region(id, size);
	int commits = 0;
	memory = mmap(NULL, 32 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mi_manage_memory(memory, 32 * MIB, false, false, true, -1, true, commit, &commits,
			       &id));
	mi_arena_area(id, &size);
	use_region(id, size);
	CHECK(commits > 0);
	CHECK(!mi_manage_os_memory(memory, 1000, true, false, false, -1));
	CHECK(!mi_manage_os_memory(NULL, 32 * MIB, true, false, false, -1));
	CHECK_EQ(mi_reserve_os_memory(SIZE_MAX, true, false), ENOMEM);
	CHECK_EQ(mi_reserve_os_memory(32 * MIB, true, true), 0);
	CHECK_EQ(mi_reserve_huge_os_pages_interleave(0, 0, 0), 0);
	CHECK_EQ(mi_reserve_huge_os_pages_interleave(SIZE_MAX, 0, 0), ENOMEM);
	CHECK(mi_arena_area(0, &size) == NULL && size == 0);
	CHECK(mi_arena_area(-5, NULL) == NULL && mi_arena_area(1000, NULL) == NULL);
	mi_arenas_print();
}

/* ---- functions of the program ---- */

static unsigned long long beats;
static bool forced;

static void free_deferred(bool force, unsigned long long heartbeat, void *context) {
	CHECK(context == &beats && heartbeat == beats + 1);
	beats = heartbeat;
	forced |= force;
	mi_free(mi_malloc(123)); /* calls it not again */
}

static void deferred(void) {
	mi_register_deferred_free(free_deferred, &beats);
	for (int i = 0; i < 100000; i++)
		CHECK(mi_malloc(100) != NULL);
	CHECK(beats > 10 && !forced);
	mi_collect(true);
	CHECK(forced);
	mi_register_deferred_free(NULL, NULL);
	unsigned long long before = beats;
	mi_collect(true);
	CHECK(beats == before);
}

static int error_seen;

static void note_error(int error, void *context) {
	CHECK(context == heard);
	error_seen = error;
}

static void errors(void) {
	volatile size_t too_large = (size_t)PTRDIFF_MAX + 1, large = (size_t)1 << 46;
	mi_register_error(note_error, heard);
	mi_register_output(hear, heard);
	CHECK(mi_malloc(too_large) == NULL);
	CHECK_EQ(error_seen, EOVERFLOW);
	CHECK(mi_malloc(large) == NULL);
	CHECK_EQ(error_seen, ENOMEM);
	heard[0] = '\0';
	mi_option_enable(mi_option_show_errors);
	CHECK(mi_malloc(large) == NULL);
	CHECK_STR(heard, "mallow: no memory for 70368744177664 bytes\n");
	mi_option_set(mi_option_max_errors, 1);
	CHECK(mi_malloc(large) == NULL);
	CHECK_STR(heard, "mallow: no memory for 70368744177664 bytes\n");
	mi_register_error(NULL, NULL);
	mi_register_output(NULL, NULL);
}

static bool count_heap(mi_heap_t *heap, void *context) {
	CHECK(heap != NULL);
	*(int *)context += 1;
	return true;
}

static void subprocesses(void) {
	mi_subproc_id_t subproc = mi_subproc_new(), other = mi_subproc_new();
	CHECK(subproc != other && subproc != mi_subproc_main());
	CHECK(mi_subproc_current() == mi_subproc_main());
	mi_subproc_add_current_thread(subproc);
	CHECK(mi_subproc_current() == subproc);
	mi_heap_t *heap = mi_heap_new();
	int heaps = 0;
	CHECK(mi_subproc_visit_heaps(subproc, count_heap, &heaps));
	CHECK_EQ(heaps, 2);
	mi_heap_destroy(heap);
	mi_subproc_delete(subproc);
}

int main(void) {
	RUN(options);
	RUN(purge_delay);
	RUN(statistics);
	RUN(statistics_of_heap);
	RUN(texts);
	RUN(process_info);
	RUN(regions);
	RUN(deferred);
	RUN(errors);
	RUN(subprocesses);
	return 0;
}
