/* SPDX-License-Identifier: MIT
 * test_range_cache.c -- ranges are cut, joined and let go without a byte lost or given twice. */
#include "heap/large/range_cache.h"
#include "test.h"

#define PAGE ((size_t)4096)
#define PAGES 512
static unsigned char owned[PAGES]; /* 1: in the cache */
static bool closed;

static char *page_at(size_t i) {
	return (char *)((uintptr_t)0x100000000 + i * PAGE);
}

static void mark(const char *base, size_t bytes, unsigned char from, unsigned char to) {
	size_t first = ((uintptr_t)base - 0x100000000) / PAGE;
	for (size_t i = first; i < first + bytes / PAGE; i++) {
		CHECK_EQ(owned[i], from);
		owned[i] = to;
	}
}

static void test_best_fit_is_cut_from_the_front(void) {
	mw_range_cache_t cache = {0};
	CHECK(mw_range_cache_put(&cache, &(mw_range_t){page_at(0), 10 * PAGE, 5, false}, SIZE_MAX));
	CHECK(mw_range_cache_put(&cache, &(mw_range_t){page_at(100), 4 * PAGE, 6, false},
				 SIZE_MAX));
	CHECK(mw_range_cache_take(&cache, 3 * PAGE, PAGE, &closed) == page_at(100));
	CHECK(mw_range_cache_take(&cache, 3 * PAGE, PAGE, &closed) == page_at(0));
	CHECK_EQ(cache.total_bytes, 8 * PAGE);
	CHECK(mw_range_cache_take(&cache, 8 * PAGE, PAGE, &closed) == NULL);
	/* page 103 starts at no multiple of 4 pages, page 3 neither */
	CHECK(mw_range_cache_take(&cache, PAGE, 4 * PAGE, &closed) == NULL);
	mw_range_t range;
	CHECK(!mw_range_cache_take_largest(&cache, 8 * PAGE, &range));
	CHECK(mw_range_cache_take_largest(&cache, 2 * PAGE, &range));
	CHECK(range.base == page_at(3));
	CHECK_EQ(range.bytes, 7 * PAGE);
}

/* Parts of a joined range may be closed: who takes any of it opens it. */
static void test_closed_ranges(void) {
	mw_range_cache_t cache = {0};
	for (size_t i = 0; i < 3; i++)
		CHECK(mw_range_cache_put(&cache, &(mw_range_t){page_at(i), PAGE, 5, i == 1},
					 SIZE_MAX));
	CHECK(mw_range_cache_put(&cache, &(mw_range_t){page_at(10), PAGE, 5, false}, SIZE_MAX));
	CHECK(mw_range_cache_take(&cache, PAGE, PAGE, &closed) == page_at(10));
	CHECK(!closed);
	for (size_t i = 0; i < 3; i++) {
		CHECK(mw_range_cache_take(&cache, PAGE, PAGE, &closed) == page_at(i));
		CHECK(closed);
	}
}

static void test_limits(void) {
	mw_range_cache_t cache = {0};
	CHECK(!mw_range_cache_put(&cache, &(mw_range_t){page_at(0), 10 * PAGE, 5, false},
				  9 * PAGE));
	for (size_t i = 0; i < MW_RANGE_CACHE_PLACES; i++)
		CHECK(mw_range_cache_put(&cache, &(mw_range_t){page_at(2 * i), PAGE, i, false},
					 SIZE_MAX));
	CHECK(!mw_range_cache_put(&cache, &(mw_range_t){page_at(200), PAGE, 5, false}, SIZE_MAX));
	/* Between two others: joined, so there is place. */
	CHECK(mw_range_cache_put(&cache, &(mw_range_t){page_at(1), PAGE, 5, false}, SIZE_MAX));
	CHECK(mw_range_cache_put(&cache, &(mw_range_t){page_at(200), PAGE, 5, false}, SIZE_MAX));
	CHECK_EQ(cache.total_bytes, (MW_RANGE_CACHE_PLACES + 2) * PAGE);
	mw_range_t gone[MW_RANGE_CACHE_GONE];
	uint64_t next_ns;
	unsigned count = mw_range_cache_expire(&cache, 10, false, gone, &next_ns);
	CHECK_EQ(next_ns, 11);
	CHECK(count > 5 && count < MW_RANGE_CACHE_GONE);
	/* As many as there is room for; the others are due at once. */
	CHECK_EQ(mw_range_cache_expire(&cache, 40, false, gone, &next_ns), MW_RANGE_CACHE_GONE);
	CHECK(next_ns <= 40);
	while (mw_range_cache_expire(&cache, 0, true, gone, &next_ns) == MW_RANGE_CACHE_GONE)
		continue;
	CHECK_EQ(next_ns, UINT64_MAX);
	CHECK_EQ(cache.total_bytes, 0);
}

static void test_random_against_a_map(void) {
	mw_range_cache_t cache = {0};
	uint64_t state = 7;
	for (int turn = 0; turn < 300000; turn++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		size_t pages = (state >> 33) % 12 + 1, at = (state >> 45) % (PAGES - 12);
		if (turn % 2) {
			char *base = mw_range_cache_take(&cache, pages * PAGE, PAGE, &closed);
			if (base)
				mark(base, pages * PAGE, 1, 0);
			continue;
		}
		for (size_t i = at; i < at + pages; i++)
			if (owned[i])
				pages = i - at;
		if (pages &&
		    mw_range_cache_put(&cache,
				       &(mw_range_t){page_at(at), pages * PAGE, state >> 50, false},
				       300 * PAGE))
			mark(page_at(at), pages * PAGE, 0, 1);
		size_t total = 0;
		for (size_t i = 0; i < PAGES; i++)
			total += owned[i];
		CHECK_EQ(cache.total_bytes, total * PAGE);
	}
}

int main(void) {
	RUN(test_best_fit_is_cut_from_the_front);
	RUN(test_closed_ranges);
	RUN(test_limits);
	RUN(test_random_against_a_map);
	return 0;
}
