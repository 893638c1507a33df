/* SPDX-License-Identifier: MIT
 * test_huge_halves.c -- huge pages: which memory gets them as the heap grows, what is purged of
 * them, and that no call asks for memory which they brought. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap/core/alloc.h"
#include "heap/core/free.h"
#include "heap/large/huge.h"
#include "heap/layout/link.h"
#include "heap/layout/page.h"
#include "heap/layout/slices.h"
#include "heap/memory/chunk.h"
#include "heap/memory/limit.h"
#include "os/memory/huge_pages.h"
#include "os/memory/map.h"
#include "os/platform/kernel_calls.h"
#include "os/time/clock.h"
#include "test.h"

#define SLICES 63 /* of a chunk, without the metadata */
#define HALF 32   /* slices of a huge page */
#define MIB ((size_t)1 << 20)
#define SECOND ((uint64_t)1000000000)

static uint64_t now_ns = 100 * SECOND;

static uint64_t fake_clock(void) {
	return now_ns;
}

static unsigned prefaults;

static bool count_prefaults(mw_os_call_t call) {
	prefaults += call == MW_OS_PREFAULT;
	return false;
}

/* The pages of a chunk that is new and wholly taken, by slice; one kernel page of 16 is touched. */
typedef struct taken {
	mw_chunk_t *chunk;
	mw_page_t *pages[MW_CHUNK_SLICES];
} taken_t;

static taken_t take_chunk(void) {
	taken_t taken = {NULL, {NULL}};
	for (unsigned i = 0; i < SLICES; i++) {
		mw_page_t *page = mw_chunk_take(1, 1);
		CHECK(page);
		if (i == 0)
			taken.chunk = mw_chunk_of(page);
		CHECK(mw_chunk_of(page) == taken.chunk);
		page->start[0] = 1;
		taken.pages[mw_page_slice_index(page)] = page;
	}
	CHECK(taken.chunk->free_mask == 0);
	return taken;
}

static void give(taken_t *taken, unsigned first, unsigned end) {
	for (unsigned slice = first; slice < end; slice++) {
		mw_chunk_give(taken->pages[slice], MW_PAGE_NONE);
		taken->pages[slice] = NULL;
	}
}

static unsigned dirty_of(const taken_t *taken) {
	return (unsigned)__builtin_popcountll(taken->chunk->dirty_mask);
}

static bool has_flag(const void *address, const char *flag) {
	char line[512];
	FILE *file = fopen("/proc/self/smaps", "r");
	unsigned long start, limit;
	bool ours = false, found = false;
	CHECK(file);
	while (!found && fgets(line, sizeof line, file)) {
		if (sscanf(line, "%lx-%lx ", &start, &limit) == 2)
			ours = (unsigned long)address >= start && (unsigned long)address < limit;
		found = ours && strncmp(line, "VmFlags:", 8) == 0;
	}
	fclose(file);
	CHECK(found);
	return strstr(line, flag) != NULL;
}

static bool kernel_has_huge_pages(void) {
	return access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) == 0;
}

static taken_t small_heap[4], little_touched[2], grown[4];

static void a_small_heap_gets_none(void) {
	mw_os_huge_pages_set_fake(MW_OS_HUGE_PAGES_SYSTEM_ALWAYS);
	for (unsigned i = 0; i < 4; i++) {
		small_heap[i] = take_chunk();
		CHECK_EQ(small_heap[i].chunk->huge_halves, 0);
		CHECK(!kernel_has_huge_pages() || has_flag(small_heap[i].chunk, " nh"));
	}
}

static void touch_all(const taken_t *taken) {
	for (unsigned slice = 0; slice < MW_CHUNK_SLICES; slice++)
		if (taken->pages[slice])
			memset(taken->pages[slice]->start, 1, MW_SLICE_BYTES);
}

/* A huge page would make all of it resident. */
static void what_is_little_touched_gets_none(void) {
	for (unsigned i = 0; i < 2; i++) {
		mw_os_huge_pages_set_fake(i == 0 ? MW_OS_HUGE_PAGES_SYSTEM_ALWAYS
						 : MW_OS_HUGE_PAGES_SYSTEM_MADVISE);
		little_touched[i] = take_chunk();
		/* Larger pages of the kernel are too few to tell. */
		if (mw_os_page_bytes() > MW_OS_PAGE_BYTES)
			continue;
		CHECK_EQ(little_touched[i].chunk->huge_halves, 0);
		CHECK(!kernel_has_huge_pages() || has_flag(little_touched[i].chunk, " nh"));
	}
	touch_all(&little_touched[1]);
}

/* Each setting of the system in turn: the kernel is asked where asking is what it takes. */
static void a_grown_heap_gets_them(void) {
	static const struct {
		mw_os_huge_pages_setting_t setting;
		unsigned halves;
		bool asks;
	} rows[] = {
		{MW_OS_HUGE_PAGES_SYSTEM_NEVER, 0, false},
		{MW_OS_HUGE_PAGES_SYSTEM_ALWAYS, 3, false},
		{MW_OS_HUGE_PAGES_SYSTEM_MADVISE, 3, true},
		{MW_OS_HUGE_PAGES_SYSTEM_MADVISE, 3, true},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		mw_os_huge_pages_set_fake(rows[i].setting);
		grown[i] = take_chunk();
		touch_all(&grown[i]);
		if (!kernel_has_huge_pages())
			continue;
		CHECK_EQ(grown[i].chunk->huge_halves, rows[i].halves);
		CHECK(!has_flag(grown[i].chunk, " nh"));
		CHECK(has_flag(grown[i].chunk, " hg") == rows[i].asks);
	}
}

/* A huge block gets them that is smaller than the rest of the heap. */
static void blocks_of_a_grown_heap_get_them(void) {
	if (!kernel_has_huge_pages())
		return;
	take_chunk();
	size_t usable_bytes, rest_bytes = mw_chunk_in_use_bytes() + mw_huge_live_bytes();
	bool zeroed;
	CHECK(rest_bytes >= 32 * MIB);
	char *less = mw_huge_alloc(NULL, 8 * MIB, 4096, &usable_bytes, &zeroed);
	CHECK(less && has_flag(less, " hg"));
	char *more = mw_huge_alloc(NULL, rest_bytes + 9 * MIB, 4096, &usable_bytes, &zeroed);
	CHECK(more && !has_flag(more, " hg"));
	mw_heap_free_slow(less);
	mw_heap_free_slow(more);
}

/* What goes before its time is huge pages at least half of which is free. */
static void early_from_a_half_on(void) {
	taken_t *taken = &grown[1], *small = &grown[0];
	CHECK_EQ(taken->chunk->huge_halves, 3);
	/* A young process keeps what falls free. */
	give(small, 63, 64);
	now_ns += 2 * SECOND;
	mw_chunk_purge(false);
	give(taken, HALF, HALF + HALF / 2 - 1);
	/* Of small pages all slices go. */
	give(small, 1, 60);
	CHECK(dirty_of(small) < 40);
	CHECK_EQ(dirty_of(taken), HALF / 2 - 1);
	CHECK_EQ(taken->chunk->huge_halves, 3);
	give(taken, HALF + HALF / 2 - 1, HALF + HALF / 2);
	give(&small_heap[0], 1, 64);
	give(&small_heap[1], 1, 64);
	CHECK_EQ(dirty_of(taken), 0);
	CHECK_EQ(taken->chunk->huge_halves, 1);
	mw_chunk_check();
}

/* When their time has come, slices go where a quarter of a huge page is free; that one counts as
 * small pages then, and the kernel must not join them. */
static void late_from_a_quarter_on(void) {
	taken_t *taken = &grown[2];
	mw_chunk_set_decay(SECOND, false);
	give(taken, 1, HALF / 4);
	now_ns += 2 * SECOND;
	mw_chunk_purge(false);
	CHECK_EQ(dirty_of(taken), HALF / 4 - 1);
	CHECK_EQ(taken->chunk->huge_halves, 3);
	CHECK_EQ(mw_chunk_next_purge_ns(), UINT64_MAX);
	give(taken, HALF / 4, HALF / 4 + 1);
	CHECK(mw_chunk_next_purge_ns() != UINT64_MAX);
	now_ns += 2 * SECOND;
	mw_chunk_purge(false);
	CHECK_EQ(dirty_of(taken), 0);
	CHECK_EQ(taken->chunk->huge_halves, 2);
	CHECK(has_flag(taken->chunk, " nh"));
	CHECK(has_flag((char *)taken->chunk + 2 * MIB, " hg"));
	/* One without a block goes as it is. */
	give(&grown[3], HALF, 2 * HALF);
	now_ns += 2 * SECOND;
	mw_chunk_purge(false);
	CHECK_EQ(dirty_of(&grown[3]), 0);
	CHECK_EQ(grown[3].chunk->huge_halves, 3);
	/* What stays goes when all has to. */
	give(&grown[3], 1, 4);
	now_ns += 2 * SECOND;
	mw_chunk_purge(false);
	CHECK_EQ(dirty_of(&grown[3]), 3);
	mw_chunk_purge(true);
	CHECK_EQ(dirty_of(&grown[3]), 0);
	mw_chunk_check();
}

static unsigned resident_in(const void *start, size_t bytes) {
	static unsigned char resident[512];
	unsigned count = 0;
	CHECK(mincore((void *)(uintptr_t)start, bytes, resident) == 0);
	for (size_t i = 0; i < bytes / 4096; i++)
		count += resident[i] & 1;
	return count;
}

/* A request for all memory takes what a huge page brought for slices that were never taken, too. */
static void all_is_all(void) {
	mw_os_huge_pages_set_fake(MW_OS_HUGE_PAGES_SYSTEM_MADVISE);
	static mw_page_t *fill[16 * MW_CHUNK_SLICES];
	mw_page_t *page;
	unsigned count = 0;
	do {
		CHECK(count < sizeof fill / sizeof *fill);
		CHECK((fill[count++] = page = mw_chunk_take(1, 1)) != NULL);
		memset(page->start, 1, MW_SLICE_BYTES);
	} while (mw_chunk_of(page)->huge_halves != 3 || mw_page_slice_index(page) != HALF + 1);
	mw_chunk_t *chunk = mw_chunk_of(page);
	mw_chunk_give(page, MW_PAGE_NONE);
	mw_chunk_purge(true);
	CHECK_EQ(dirty_of(&(taken_t){.chunk = chunk}), 0);
	CHECK_EQ(resident_in((char *)chunk + 2 * MIB + MW_SLICE_BYTES, 2 * MIB - MW_SLICE_BYTES),
		 0);
	CHECK_EQ(chunk->huge_halves, 1);
	for (unsigned i = 0; i + 1 < count; i++)
		mw_chunk_give(fill[i], MW_PAGE_NONE);
	mw_chunk_check();
}

/* A heap of so many pages asks for its memory in steps, but not where huge pages bring it. */
static void nothing_asks_for_what_they_bring(void) {
	mw_os_fault_hook = count_prefaults;
	mw_os_huge_pages_set_fake(MW_OS_HUGE_PAGES_SYSTEM_NEVER);
	size_t target = 24 * MIB;
	for (size_t bytes = 0; bytes < target; bytes += 1024)
		CHECK(mw_heap_alloc(1024));
	/* Not for parts of larger pages. */
	CHECK(prefaults > 100 || mw_os_page_bytes() > MW_OS_PAGE_BYTES);
	mw_os_huge_pages_set_fake(MW_OS_HUGE_PAGES_SYSTEM_ALWAYS);
	while (mw_chunk_newest()->huge_halves == 0)
		CHECK(mw_heap_alloc(1024));
	prefaults = 0;
	for (size_t bytes = 0; bytes < 8 * MIB; bytes += 1024)
		CHECK(mw_heap_alloc(1024));
	CHECK(prefaults < 8);
	mw_os_fault_hook = NULL;
}

/* In the hardened library slices without access divide each chunk. */
static void a_hardened_heap_asks_for_none(void) {
	mw_os_huge_pages_set_fake(MW_OS_HUGE_PAGES_SYSTEM_MADVISE);
	for (unsigned i = 0; i < 12 * SLICES; i++) {
		mw_page_t *page = mw_chunk_take(1, 1);
		CHECK(page && mw_chunk_of(page)->huge_halves == 0);
	}
}

int main(void) {
	if (MW_HARDEN_ON) {
		RUN(a_hardened_heap_asks_for_none);
		return 0;
	}
	mw_os_clock_set_source(fake_clock);
	mw_chunk_set_keep_min_bytes(256 << 10);
	mw_chunk_set_decay(SECOND, true);
	RUN(a_small_heap_gets_none);
	RUN(what_is_little_touched_gets_none);
	RUN(a_grown_heap_gets_them);
	RUN(blocks_of_a_grown_heap_get_them);
	if (kernel_has_huge_pages()) {
		RUN(early_from_a_half_on);
		RUN(late_from_a_quarter_on);
		RUN(all_is_all);
	}
	RUN(nothing_asks_for_what_they_bring);
	return 0;
}
