/* SPDX-License-Identifier: MIT
 * api.c -- jemalloc's functions and controls as programs use them.  Written for both: run with
 * Debian's libjemalloc.so.2 first in the path it must pass as well (tests/jemalloc/reference.sh).
 */
#include <dlfcn.h>
#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "word.h"

static unsigned small_word(const char *name) {
	unsigned value = 0;
	size_t length = sizeof value;
	CHECK_EQ(mallctl(name, &value, &length, NULL, 0), 0);
	return value;
}

static void refresh(void) {
	uint64_t epoch = 1;
	CHECK_EQ(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
}

static bool is_zero(const char *block, size_t bytes) {
	while (bytes-- > 0)
		if (block[bytes])
			return false;
	return true;
}

static void blocks_of_all_sizes(void) {
	for (size_t size = 1; size <= (size_t)8 << 20; size += 1 + size / 3) {
		for (int lg = 0; lg <= 16; lg += 4) {
			int flags = MALLOCX_LG_ALIGN(lg) | MALLOCX_ZERO;
			char *block = mallocx(size, flags);
			CHECK(block && ((uintptr_t)block & (((uintptr_t)1 << lg) - 1)) == 0);
			CHECK(is_zero(block, size));
			CHECK(sallocx(block, flags) >= size);
			CHECK_EQ(sallocx(block, flags), nallocx(size, MALLOCX_LG_ALIGN(lg)));
			memset(block, 0x5a, sallocx(block, 0));
			sdallocx(block, size, MALLOCX_LG_ALIGN(lg));
		}
	}
	CHECK_EQ(nallocx(SIZE_MAX, 0), 0);
	CHECK(mallocx((size_t)PTRDIFF_MAX, 0) == NULL);
}

static void resizing(void) {
	char *block = mallocx(100, 0);
	memset(block, 7, 100);
	for (size_t size = 200; size < (size_t)4 << 20; size *= 3) {
		size_t before = sallocx(block, 0);
		block = rallocx(block, size, MALLOCX_ZERO);
		CHECK(block && block[99] == 7);
		CHECK(before >= size || is_zero(block + before, sallocx(block, 0) - before));
	}
	block = rallocx(block, 5000, MALLOCX_ALIGN(4096));
	CHECK(((uintptr_t)block & 4095) == 0 && block[99] == 7);
	size_t usable = sallocx(block, 0);
	CHECK_EQ(xallocx(block, usable, 0, 0), usable);
	CHECK(xallocx(block, usable, 1, 0) >= usable);
	CHECK(xallocx(block, 1, usable, 0) >= 1);
	dallocx(block, MALLOCX_TCACHE_NONE);
}

static void errors_of_reading_and_writing(void) {
	char room[64];
	uint64_t value = 1;
	size_t length = sizeof room;
	CHECK_EQ(mallctl("no.such.name", room, &length, NULL, 0), ENOENT);
	CHECK_EQ(mallctl("stats", room, &length, NULL, 0), ENOENT);
	CHECK_EQ(mallctl("stats.allocated.", room, &length, NULL, 0), ENOENT);
	CHECK_EQ(mallctl("arenas.bin.9999.size", room, &length, NULL, 0), ENOENT);
	length = 4;
	CHECK_EQ(mallctl("stats.allocated", room, &length, NULL, 0), EINVAL);
	CHECK_EQ(length, 4);
	length = 8;
	CHECK_EQ(mallctl("stats.allocated", room, &length, &value, sizeof value), EPERM);
	CHECK_EQ(mallctl("epoch", NULL, NULL, &value, 4), EINVAL);
	CHECK_EQ(mallctl("arena.0.purge", room, &length, NULL, 0), EPERM);
	CHECK_EQ(mallctl("tcache.flush", room, &length, NULL, 0), EPERM);
	length = 8;
	CHECK_EQ(mallctl("tcache.create", room, &length, NULL, 0), EINVAL);
	CHECK_EQ(mallctl("version", NULL, NULL, NULL, 0), 0);
}

static void by_mib(void) {
	size_t mib[8], parts = 8, size = 0, length = sizeof size, before = 0;
	CHECK_EQ(mallctlnametomib("arenas.bin.0.size", mib, &parts), 0);
	CHECK_EQ(parts, 4);
	unsigned bins = small_word("arenas.nbins");
	for (mib[2] = 0; mib[2] < bins; mib[2]++) {
		CHECK_EQ(mallctlbymib(mib, parts, &size, &length, NULL, 0), 0);
		CHECK(size > before);
		before = size;
	}
	mib[2] = bins + 1; /* jemalloc takes the number of bins itself for one of them */
	CHECK_EQ(mallctlbymib(mib, parts, &size, &length, NULL, 0), ENOENT);
	CHECK_EQ(mallctlbymib(mib, 3, &size, &length, NULL, 0), ENOENT);
	CHECK_EQ(mallctlnametomib("arenas.bin", mib, &parts), 0);
	CHECK_EQ(parts, 2);
	CHECK_EQ(mallctlnametomib("arenas.bins", mib, &parts), ENOENT);
}

static void statistics_follow(void) {
	enum { COUNT = 2000, BYTES = 20000 };
	static void *blocks[COUNT];
	refresh();
	uint64_t before = word("stats.allocated"),
		 large = word("stats.arenas.4096.large.allocated");
	for (int i = 0; i < COUNT; i++)
		blocks[i] = memset(malloc(BYTES), 1, BYTES);
	void *huge = malloc((size_t)64 << 20);
	CHECK_EQ(word("stats.allocated"), before);
	refresh();
	uint64_t grown = word("stats.allocated") - before;
	uint64_t want = (uint64_t)COUNT * nallocx(BYTES, 0) + ((uint64_t)64 << 20);
	CHECK_NEAR((double)grown, (double)want, 2e6);
	CHECK(word("stats.arenas.4096.large.allocated") >= large + ((uint64_t)64 << 20));
	CHECK(word("stats.active") >= word("stats.allocated"));
	CHECK(word("stats.resident") >= (uint64_t)COUNT * BYTES);
	CHECK(word("stats.mapped") >= word("stats.active"));
	CHECK_EQ(word("stats.active") / word("arenas.page") - word("stats.arenas.4096.pactive"), 0);
	for (int i = 0; i < COUNT; i++)
		free(blocks[i]);
	free(huge);
	CHECK_EQ(mallctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
	CHECK_EQ(mallctl("arena."
			 "4096"
			 ".purge",
			 NULL, NULL, NULL, 0),
		 0);
	refresh();
	CHECK(word("stats.allocated") < before + ((uint64_t)2 << 20));
	CHECK_EQ(word("stats.arenas.4096.pdirty"), 0);
}

static uint64_t bin_word(const char *prefix, unsigned bin, const char *field) {
	char name[128];
	snprintf(name, sizeof name, "%s%u.%s", prefix, bin, field);
	return word(name);
}

/* The bin of a size, by what "arenas.bin" says of them. */
static unsigned bin_of(size_t bytes) {
	unsigned bin = 0;
	while (bin_word("arenas.bin.", bin, "size") < bytes)
		bin++;
	return bin;
}

static void classes_follow(void) {
	enum { COUNT = 5000, BYTES = 320, LARGE = 300 << 10 };
	static const char bins[] = "stats.arenas.4096.bins.";
	static void *blocks[COUNT];
	unsigned bin = bin_of(BYTES), large = 0;
	while (bin_word("arenas.lextent.", large, "size") < LARGE)
		large++;
	refresh();
	uint64_t made = bin_word(bins, bin, "nmalloc"), live = bin_word(bins, bin, "curregs"),
		 slabs = bin_word(bins, bin, "nslabs"), fills = bin_word(bins, bin, "nfills"),
		 large_live = bin_word("stats.arenas.4096.lextents.", large, "curlextents");
	for (int i = 0; i < COUNT; i++)
		blocks[i] = malloc(BYTES);
	void *volatile big[3] = {malloc(LARGE), malloc(LARGE), malloc(LARGE)};
	refresh();
	CHECK(bin_word(bins, bin, "nmalloc") >= made + COUNT);
	CHECK(bin_word(bins, bin, "curregs") >= live + COUNT);
	CHECK(bin_word(bins, bin, "curregs") <= live + COUNT + 1000);
	/* In exact mode each block is a sample, and none comes from a list. */
	CHECK(bin_word(bins, bin, "nfills") > fills || word("prof.lg_sample") == 0);
	/* In exact mode slots are larger than their blocks, so that slabs are another bin's. */
	CHECK(bin_word(bins, bin, "nslabs") >= slabs + (COUNT - 1000) * BYTES / 65536 ||
	      word("prof.lg_sample") == 0);
	CHECK(bin_word(bins, bin, "curslabs") <= bin_word(bins, bin, "nslabs"));
	CHECK_EQ(bin_word("stats.arenas.4096.lextents.", large, "curlextents"), large_live + 3);
	for (int i = 0; i < COUNT; i++)
		free(blocks[i]);
	for (int i = 0; i < 3; i++)
		free(big[i]);
	CHECK_EQ(mallctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
	refresh();
	CHECK(bin_word(bins, bin, "curregs") <= live + 1000);
	CHECK(bin_word(bins, bin, "ndalloc") >= bin_word(bins, bin, "nmalloc") - live - 1000);
	CHECK_EQ(bin_word("stats.arenas.4096.lextents.", large, "curlextents"), large_live);
}

static void locks_are_counted(void) {
	uint64_t before, ctl = word("stats.mutexes.ctl.num_ops");
	refresh();
	before = word("stats.arenas.4096.mutexes.extents_dirty.num_ops");
	for (int i = 0; i < 100; i++)
		free(memset(malloc(200 << 10), 1, 1));
	refresh();
	CHECK(word("stats.arenas.4096.mutexes.extents_dirty.num_ops") >= before + 100);
	CHECK(word("stats.mutexes.ctl.num_ops") >= ctl + 2);
	CHECK_EQ(mallctl("stats.mutexes.reset", NULL, NULL, NULL, 0), 0);
	refresh();
	CHECK(word("stats.arenas.4096.mutexes.extents_dirty.num_ops") < before + 100);
}

static void zero_reallocs_are_counted(void) {
	uint64_t before = word("stats.zero_reallocs");
	void *volatile block = malloc(10);
	block = realloc(block, 0);
	free(block); /* jemalloc may give a block of size 0 */
	CHECK_EQ(word("stats.zero_reallocs"), before + 1);
}

static volatile uint64_t *thread_counter(const char *name) {
	uint64_t *counter = NULL;
	size_t length = sizeof counter;
	CHECK_EQ(mallctl(name, (void *)&counter, &length, NULL, 0), 0);
	CHECK(counter);
	CHECK_EQ(mallctl(name, (void *)&counter, &length, &length, 8), EPERM);
	return counter;
}

/* What folly does to find out whether this is jemalloc, with blocks of all kinds: each first call
 * after the pointer was handed out is seen, and each free() after that.  `old` are blocks that were
 * made before. */
static void *detection_thread(void *old) {
	static const size_t sizes[] = {1, 100, 1000, 3000, 30000, 300000, (size_t)5 << 20};
	enum { SIZES = sizeof sizes / sizeof *sizes };
	void **others = old;
	for (unsigned i = 0; i < SIZES; i++) {
		volatile uint64_t *allocated = thread_counter("thread.allocatedp");
		uint64_t before = *allocated;
		void *volatile block = malloc(sizes[i]);
		CHECK(*allocated - before >= sizes[i]);
		volatile uint64_t *freed = thread_counter("thread.deallocatedp");
		before = *freed;
		CHECK_EQ(before, word("thread.deallocated"));
		size_t bytes = sallocx(block, 0);
		free(block);
		CHECK_EQ(*freed - before, bytes);
		before = *freed;
		bytes = sallocx(others[i], 0);
		free(others[i]); /* another thread's counts for who frees it */
		CHECK_EQ(*freed - before, bytes);
		CHECK_EQ(*freed, word("thread.deallocated"));
	}
	return NULL;
}

static void detection(void) {
	pthread_t thread;
	for (int turn = 0; turn < 3; turn++) {
		void *blocks[] = {
			malloc(1),     malloc(100),    malloc(1000),           malloc(3000),
			malloc(30000), malloc(300000), malloc((size_t)5 << 20)};
		CHECK_EQ(pthread_create(&thread, NULL, detection_thread, blocks), 0);
		pthread_join(thread, NULL);
	}
}

/* The first ahead of what was by a refill, the second as it was. */
static void *pointers_thread(void *unused) {
	(void)unused;
	enum { COUNT = 20000, BYTES = 100, LARGER = 2000 };
	static void *blocks[COUNT];
	volatile uint64_t *now = thread_counter("thread.allocatedp");
	volatile uint64_t *gone = thread_counter("thread.deallocatedp");
	uint64_t before = *now, gone_before = *gone;
	for (size_t bytes = BYTES; bytes <= LARGER; bytes += LARGER - BYTES) {
		double each = (double)nallocx(bytes, 0), slack = 2 * 65536;
		uint64_t start = *now, gone_start = *gone;
		for (int i = 0; i < COUNT; i++) {
			blocks[i] = malloc(bytes);
			if (i % 1000 == 999)
				CHECK_NEAR((double)(*now - start), (i + 1) * each, slack);
		}
		CHECK_EQ(*gone, gone_start);
		for (int i = 0; i < COUNT; i++)
			free(blocks[i]);
		CHECK_EQ(*gone - gone_start, COUNT * (uint64_t)each);
		for (int i = 0; i < COUNT; i++) {
			void *volatile block = malloc(bytes);
			free(block);
		}
		CHECK_EQ(*gone - gone_start, 2 * COUNT * (uint64_t)each);
	}
	CHECK_NEAR((double)(*now - before), (double)(*gone - gone_before), 2 * 65536);
	CHECK_NEAR((double)word("thread.allocated"), (double)*now, 4 * 65536);
	return NULL;
}

static void pointers_follow(void) {
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, pointers_thread, NULL), 0);
	pthread_join(thread, NULL);
}

static void exit_with_seven(const char *message) {
	_exit(strstr(message, "freed twice") || strstr(message, "double free") ? 7 : 8);
}

/* Instead of the end by abort(). */
static void programs_are_told_of_the_end(void) {
	void (*hook)(const char *) = exit_with_seven;
	const char *version;
	size_t length = sizeof version;
	CHECK_EQ(mallctl("experimental.hooks.safety_check_abort", NULL, NULL, (void *)&hook, 8), 0);
	CHECK_EQ(mallctl("version", (void *)&version, &length, NULL, 0), 0);
	pid_t child = strstr(version, "gmallow") ? fork() : -1;
	if (child == 0) {
		void *volatile block = malloc(100);
		free(block);
		free(block);
		_exit(9);
	}
	int status = 7 << 8; /* Debian's library looks for no double frees */
	if (child > 0)
		CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 7 << 8);
	hook = NULL;
	CHECK_EQ(mallctl("experimental.hooks.safety_check_abort", NULL, NULL, (void *)&hook, 8), 0);
}

static void rates_and_threads_are_bounded(void) {
	uint64_t value = 64, threads = word("max_background_threads");
	if (mallctl("prof.reset", NULL, NULL, NULL, 0) == 0) {
		uint64_t before = word("prof.lg_sample");
		CHECK_EQ(mallctl("prof.reset", NULL, NULL, &value, sizeof value), 0);
		CHECK(word("prof.lg_sample") >= 40);
		CHECK_EQ(mallctl("prof.reset", NULL, NULL, &before, sizeof before), 0);
		CHECK_EQ(word("prof.lg_sample"), before);
	}
	value = threads + 1;
	CHECK_EQ(mallctl("max_background_threads", NULL, NULL, &value, sizeof value), EINVAL);
	value = 2;
	CHECK_EQ(mallctl("max_background_threads", NULL, NULL, &value, sizeof value), 0);
	CHECK_EQ(word("max_background_threads"), 2);
	CHECK_EQ(mallctl("max_background_threads", NULL, NULL, &threads, sizeof threads), 0);
}

static void batches(void) {
	void *blocks[100];
	size_t made = 0, length = sizeof made;
	struct {
		void **blocks;
		size_t count, bytes;
		int flags;
	} order = {blocks, 100, 300, MALLOCX_ZERO};
	CHECK_EQ(mallctl("experimental.batch_alloc", &made, &length, &order, sizeof order), 0);
	CHECK_EQ(made, 100);
	for (int i = 0; i < 100; i++) {
		CHECK(sallocx(blocks[i], 0) >= 300 && is_zero(blocks[i], 300));
		free(blocks[i]);
	}
	CHECK_EQ(mallctl("experimental.batch_alloc", &made, &length, NULL, 0), EINVAL);
}

/* jemalloc's size of a block differs from ours, so each is asked for its own. */
static void allocate_and_free(size_t bytes, unsigned count) {
	uint64_t allocated = word("thread.allocated"), freed = word("thread.deallocated");
	for (unsigned i = 0; i < count; i++) {
		void *volatile block = malloc(bytes);
		CHECK(block);
		free(block);
	}
	double want = (double)count * (double)nallocx(bytes, 0);
	/* Sampling and the test's own output are in it as well. */
	CHECK_NEAR((double)(word("thread.allocated") - allocated), want, 70000);
	CHECK_NEAR((double)(word("thread.deallocated") - freed), want, 70000);
}

static void *count_thread(void *unused) {
	(void)unused;
	CHECK(word("thread.allocated") < 100000);
	for (size_t bytes = 8; bytes < 1000000; bytes = bytes * 5 / 2)
		allocate_and_free(bytes, 1000);
	void *kept[100];
	uint64_t freed = word("thread.deallocated"), allocated = word("thread.allocated");
	for (int i = 0; i < 100; i++)
		kept[i] = malloc(3000);
	CHECK_NEAR((double)(word("thread.deallocated") - freed), 0, 5000);
	CHECK_NEAR((double)(word("thread.allocated") - allocated), 100.0 * (double)nallocx(3000, 0),
		   5000);
	for (int i = 0; i < 100; i++)
		free(kept[i]);
	return NULL;
}

static void threads_count_their_bytes(void) {
	for (int i = 0; i < 3; i++) {
		pthread_t thread;
		CHECK_EQ(pthread_create(&thread, NULL, count_thread, NULL), 0);
		pthread_join(thread, NULL);
	}
}

static void arenas_and_tcaches(void) {
	unsigned arena = 0, tcache = 0, first = 0, count = small_word("arenas.narenas");
	size_t length = sizeof arena;
	CHECK_EQ(mallctl("arenas.create", &arena, &length, NULL, 0), 0);
	CHECK_EQ(arena, count);
	CHECK_EQ(small_word("arenas.narenas"), count + 1);
	CHECK_EQ(mallctl("tcache.create", &tcache, &length, NULL, 0), 0);
	int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE(tcache);
	void *block = mallocx(1000, flags);
	CHECK(block);
	dallocx(block, MALLOCX_TCACHE(tcache));
	CHECK_EQ(mallctl("tcache.flush", NULL, NULL, &tcache, sizeof tcache), 0);
	CHECK_EQ(mallctl("tcache.destroy", NULL, NULL, &tcache, sizeof tcache), 0);
	CHECK_EQ(mallctl("thread.arena", &first, &length, &arena, sizeof arena), 0);
	CHECK_EQ(small_word("thread.arena"), arena);
	CHECK_EQ(mallctl("thread.arena", NULL, NULL, &first, sizeof first), 0);
	arena = 60000;
	CHECK_EQ(mallctl("thread.arena", NULL, NULL, &arena, sizeof arena), EFAULT);
	CHECK_EQ(mallctl("arena.60000.purge", NULL, NULL, NULL, 0), ENOENT);
	int64_t decay = 5000, old = 0;
	length = sizeof old;
	CHECK_EQ(mallctl("arena.0.dirty_decay_ms", &old, &length, &decay, sizeof decay), 0);
	CHECK_EQ((int64_t)word("arena.0.dirty_decay_ms"), 5000);
	CHECK_EQ(mallctl("arena.0.dirty_decay_ms", NULL, NULL, &old, sizeof old), 0);
}

static char *printed;
static size_t printed_length;
static void collect(void *context, const char *text) {
	CHECK(context == &printed);
	size_t length = strlen(text);
	printed = realloc(printed, printed_length + length + 1);
	memcpy(printed + printed_length, text, length + 1);
	printed_length += length;
}

static void printing(void) {
	malloc_stats_print(collect, &printed, "");
	CHECK(strstr(printed, "___ Begin jemalloc statistics ___"));
	CHECK(strstr(printed, "Allocated: "));
	CHECK(strstr(printed, "--- End jemalloc statistics ---"));
	printed_length = 0;
	malloc_stats_print(collect, &printed, "J");
	static const char *const keys[] = {"\"jemalloc\"",     "\"version\"", "\"opt\"",
					   "\"arenas\"",       "\"stats\"",   "\"allocated\"",
					   "\"stats.arenas\"", "\"merged\""};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		CHECK(strstr(printed, keys[i]));
	if (getenv("TEST_JSON_FILE")) {
		FILE *file = fopen(getenv("TEST_JSON_FILE"), "w");
		CHECK(file && fputs(printed, file) >= 0 && fclose(file) == 0);
	}
}

int main(void) {
	RUN(blocks_of_all_sizes);
	RUN(resizing);
	RUN(errors_of_reading_and_writing);
	RUN(by_mib);
	RUN(statistics_follow);
	RUN(classes_follow);
	RUN(locks_are_counted);
	RUN(zero_reallocs_are_counted);
	RUN(programs_are_told_of_the_end);
	RUN(rates_and_threads_are_bounded);
	RUN(batches);
	/* The hardened library's sizes are the requested sizes, and what it counts are
	 * classes. */
	if (!getenv("TEST_HARDENED")) {
		RUN(detection);
		RUN(pointers_follow);
		RUN(threads_count_their_bytes);
	}
	RUN(arenas_and_tcaches);
	RUN(printing);
	return 0;
}
