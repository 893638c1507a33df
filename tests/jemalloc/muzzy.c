/* SPDX-License-Identifier: MIT
 * muzzy.c -- muzzy_decay_ms: free memory that the kernel may take is not taken for zero, and goes
 * for good when the time is up. */
#include <jemalloc/jemalloc.h>
#include <unistd.h>

#include "test.h"

const char *malloc_conf = "dirty_decay_ms:0,muzzy_decay_ms:200,prof:false";

enum { BLOCKS = 200, BYTES = 200 << 10 };
static char *blocks[BLOCKS];

static uint64_t word(const char *name) {
	uint64_t value = 0, epoch = 1;
	size_t length = sizeof value;
	CHECK_EQ(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
	CHECK_EQ(mallctl(name, &value, &length, NULL, 0), 0);
	return value;
}

static void make(void *(*allocate)(size_t count, size_t bytes)) {
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = allocate(1, BYTES);
		CHECK(blocks[i]);
		for (size_t j = 0; allocate == calloc && j < BYTES; j += 8)
			CHECK_EQ(*(uint64_t *)(void *)(blocks[i] + j), 0);
		memset(blocks[i], 0xff, BYTES);
	}
}

static void unmake(void) {
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

/* With a thread that purges, what is due takes a moment. */
static void wait_until(const char *name, uint64_t least, uint64_t most) {
	for (int turn = 0; turn < 1000; turn++) {
		uint64_t value = word(name);
		if (value >= least && value <= most)
			return;
		usleep(20000);
		CHECK_EQ(mallctl("arena.0.decay", NULL, NULL, NULL, 0), 0);
	}
	fprintf(stderr, "%s stays %llu\n", name, (unsigned long long)word(name));
	exit(1);
}

static void memory_is_muzzy(void) {
	make(calloc);
	CHECK_EQ(word("stats.arenas.0.pmuzzy"), 0);
	unmake();
	uint64_t pages = (uint64_t)BLOCKS * BYTES / 4096;
	wait_until("stats.arenas.0.pdirty", 0, 0);
	CHECK(word("stats.arenas.0.pmuzzy") >= pages / 2 ||
	      word("stats.arenas.0.muzzy_npurge") > 0);
	CHECK(word("stats.arenas.0.dirty_purged") >= pages / 2);
}

static void it_is_not_zero(void) {
	for (int turn = 0; turn < 3; turn++) {
		make(calloc);
		unmake();
	}
}

static void it_goes_in_time(void) {
	/* What was just freed is still dirty: nothing would be muzzy yet. */
	wait_until("stats.arenas.0.pdirty", 0, 0);
	wait_until("stats.arenas.0.pmuzzy", 0, 0);
	CHECK(word("stats.arenas.0.muzzy_npurge") > 0);
	CHECK(word("stats.arenas.0.muzzy_nmadvise") >= word("stats.arenas.0.muzzy_npurge"));
	CHECK(word("stats.arenas.0.muzzy_purged") >= (uint64_t)BLOCKS * BYTES / 4096 / 2);
	make(calloc);
	unmake();
}

static void or_at_once(void) {
	int64_t never = -1, none = 0;
	/* Memory that is muzzy already goes when the old time is up, and takes its chunk's other
	 * memory with it. */
	wait_until("stats.arenas.0.pdirty", 0, 0);
	wait_until("stats.arenas.0.pmuzzy", 0, 0);
	CHECK_EQ(mallctl("arenas.muzzy_decay_ms", NULL, NULL, &never, sizeof never), 0);
	CHECK_EQ((int64_t)word("stats.arenas.0.muzzy_decay_ms"), -1);
	make(calloc);
	unmake();
	CHECK_EQ(mallctl("arena.0.decay", NULL, NULL, NULL, 0), 0);
	wait_until("stats.arenas.0.pmuzzy", 1, UINT64_MAX);
	CHECK_EQ(mallctl("arena.0.purge", NULL, NULL, NULL, 0), 0);
	CHECK_EQ(word("stats.arenas.0.pmuzzy"), 0);
	CHECK_EQ(mallctl("arena.0.muzzy_decay_ms", NULL, NULL, &none, sizeof none), 0);
	make(calloc);
	unmake();
	wait_until("stats.arenas.0.pmuzzy", 0, 0);
}

int main(void) {
	RUN(memory_is_muzzy);
	RUN(it_is_not_zero);
	RUN(it_goes_in_time);
	RUN(or_at_once);
	return 0;
}
