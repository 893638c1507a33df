/* SPDX-License-Identifier: MIT
 * test_resize.c -- where realloc puts a block: room for a quarter more when it is small and grew by
 * little, its own class when it changed by much, and what there is when memory is short.  A block
 * made smaller: it moves where it is kept, and stays where such blocks are freed soon. */
#include <string.h>

#include "base/bits.h"
#include "heap/core/alloc.h"
#include "heap/core/fast.h"
#include "heap/core/resize.h"
#include "heap/local/heap.h"
#include "heap/memory/chunk.h"
#include "heap/memory/limit.h"
#include "heap/sample/hooks.h"
#include "os/memory/map.h"
#include "quiet_hooks.h"
#include "test.h"

#define LIMIT_BYTES ((size_t)64 << 20)

static const mw_heap_hooks_t hooks = {
	.thread_start = quiet_thread,
	.draw_objects = quiet_draw_objects,
	.draw_bytes = quiet_draw_bytes,
	.poll = quiet_thread,
	.grew = quiet_grew,
};

static unsigned char *resize(unsigned char *block, size_t bytes) {
	unsigned char *resized = mw_heap_resize(block, bytes);
	CHECK(resized != NULL);
	return resized;
}

/* Grows a block to the most bytes of a small one; returns how often it moved. */
static unsigned grow_by_a_byte(bool paid) {
	unsigned char *block = mw_heap_alloc(16);
	unsigned moves = 0;
	for (unsigned i = 0; i < 16; i++)
		block[i] = (unsigned char)(i + 1);
	for (size_t bytes = 17; bytes <= MW_SMALL_MAX_BYTES; bytes++) {
		mw_thread.copy_bytes = paid ? MW_COPY_SAVED_MAX_BYTES : 0;
		unsigned char *resized = resize(block, bytes);
		moves += resized != block;
		block = resized;
		CHECK_EQ(block[bytes - 2], (unsigned char)(bytes - 1));
		block[bytes - 1] = (unsigned char)bytes;
		size_t usable_bytes = mw_heap_usable_bytes(block);
		CHECK(usable_bytes >= bytes && usable_bytes <= bytes * 10 / 7 + 2 * MW_BLOCK_ALIGN);
		/* A block that stops growing beyond 4 KiB is no larger than one that was allocated
		 * with its size. */
		if (paid || bytes > 4096)
			CHECK_EQ(usable_bytes, mw_class_bytes[mw_class_of(bytes)]);
	}
	for (size_t i = 0; i < MW_SMALL_MAX_BYTES; i++)
		CHECK_EQ(block[i], (unsigned char)(i + 1));
	mw_fast_free(block);
	return moves;
}

static void growing_by_a_byte(void) {
	/* Through every class. */
	CHECK_EQ(grow_by_a_byte(true), MW_CLASS_COUNT - 1 - MW_CLASS_LEAST);
	/* Through every second class while a quarter more is at most 4 KiB. */
	CHECK_EQ(grow_by_a_byte(false), 32 - MW_CLASS_LEAST);
}

static uint32_t paid_bytes;

static void check_resized(size_t from, size_t to, size_t usable_bytes) {
	unsigned char *block = mw_heap_alloc(from);
	size_t kept = from < to ? from : to;
	memset(block, 7, from);
	mw_thread.copy_bytes = paid_bytes;
	block = resize(block, to);
	CHECK_EQ(mw_heap_usable_bytes(block), usable_bytes);
	for (size_t i = 0; i < kept; i++)
		CHECK_EQ(block[i], 7);
	mw_fast_free(block);
}

static void which_class(void) {
	paid_bytes = 0;
	check_resized(2560, 2561, 3584); /* a quarter more would be 3200 */
	check_resized(2560, 3199, 3584);
	check_resized(448, 449, 640);
	check_resized(1000, 1025, 1280);
	check_resized(100, 1000, 1024);
	check_resized(100, 5000, 5120);
	check_resized(3584, 3585, 4096); /* a quarter more would be above 4 KiB */
	check_resized(7168, 7303, 8192);
	check_resized(57344, 57345, 65536);
	/* Hardened large blocks end with a page of the kernel, which is closed behind them. */
	check_resized(65536, 65537,
		      MW_HARDEN_ON ? mw_os_whole_pages(65537) : mw_round_up(65537, 4096));
	check_resized(4096, 3585, 4096);
	check_resized(4096, 2048, 4096); /* half is used */
	check_resized(4096, 2047, 2048);
	check_resized(4096, 20, 32);
}

static void which_class_is_paid_for(void) {
	paid_bytes = 3000;
	check_resized(4096, 3001, 4096);
	CHECK_EQ(mw_thread.copy_bytes, 3000);
	check_resized(4096, 3000, 3072);
	CHECK_EQ(mw_thread.copy_bytes, 0);
	check_resized(1280, 1025, 1280); /* no smaller class holds it */
	CHECK_EQ(mw_thread.copy_bytes, 3000);
	check_resized(2560, 2561, 3072); /* exactly its class */
	CHECK_EQ(mw_thread.copy_bytes, 3000 - 2561);
	check_resized(4096, 2047, 2048); /* it moves in any case */
	CHECK_EQ(mw_thread.copy_bytes, 3000);
}

/* Where nothing is left for the quarter more, a block that there is must do. */
static void without_memory(void) {
	unsigned char *block = mw_heap_alloc(2560), *next = NULL;
	void **chain = NULL;
	mw_limit_set(SIZE_MAX, LIMIT_BYTES);
	/* Pages of the class that holds it, to the last block; none of the next one. */
	for (void **more; (more = mw_heap_alloc(3072)) != NULL; chain = more) {
		*more = chain;
		next = (unsigned char *)more;
	}
	CHECK(next != NULL);
	chain = *chain;
	mw_fast_free(next);
	mw_thread.copy_bytes = 0;
	block = resize(block, 2600);
	CHECK(block == next);
	CHECK_EQ(mw_heap_usable_bytes(block), 3072);
	mw_limit_set(SIZE_MAX, SIZE_MAX);
	mw_fast_free(block);
	while (chain) {
		void **after = *chain;
		mw_fast_free(chain);
		chain = after;
	}
}

static const struct {
	size_t from, to;
} shrinks[] = {{48, 30},       {100, 60},      {300, 250},    {1000, 520},
	       {2000, 1100},   {4096, 3072},   {10000, 8100}, {12000, 6145},
	       {30000, 17000}, {60000, 50000}, {65536, 40000}};
#define SHRINK_COUNT (sizeof shrinks / sizeof shrinks[0])
#define KEPT_BYTES ((size_t)32 << 20)

/* Blocks that are made smaller and kept: the heap grows, so nearly all of them move into the class
 * of their new size. */
static void kept(size_t from, size_t to) {
	unsigned char **chain = NULL;
	size_t blocks = KEPT_BYTES / from, moved = 0;
	for (size_t i = 0; i < blocks; i++) {
		unsigned char *block = mw_heap_alloc(from);
		memset(block, (int)i, from);
		block = resize(block, to);
		CHECK_EQ(block[to - 1], (unsigned char)i);
		moved += mw_heap_usable_bytes(block) == mw_class_bytes[mw_class_of(to)];
		*(unsigned char ***)(void *)block = chain;
		chain = (unsigned char **)(void *)block;
	}
	/* Free blocks of earlier turns are not fresh. */
	CHECK(moved + 100 + blocks / 16 >= blocks);
	while (chain) {
		unsigned char **next = *(unsigned char ***)(void *)chain;
		mw_fast_free(chain);
		chain = next;
	}
}

/* Blocks that are made smaller and freed soon, `live` of them at a time: copies of no more bytes
 * than the blocks' own memory and the savings are made, however long that goes on. */
static void freed_soon(size_t from, size_t to, unsigned live) {
	enum { TURNS = 20000, LIVE_MOST = 100 };
	void *blocks[LIVE_MOST] = {NULL};
	size_t moved = 0;
	CHECK(live <= LIVE_MOST);
	for (unsigned i = 0; i < TURNS; i++) {
		unsigned char *block = mw_heap_alloc(from), *resized = resize(block, to);
		moved += resized != block;
		if (blocks[i % live])
			mw_fast_free(blocks[i % live]);
		blocks[i % live] = resized;
	}
	for (unsigned i = 0; i < live; i++)
		mw_fast_free(blocks[i]);
	/* Pages hand out several blocks at once: their memory may be 128 KiB for one block. */
	CHECK(moved * to <= MW_COPY_SAVED_MAX_BYTES + 2 * live * from + (128u << 10));
}

static void made_smaller(void) {
	for (size_t i = 0; i < SHRINK_COUNT; i++) {
		freed_soon(shrinks[i].from, shrinks[i].to, 1);
		freed_soon(shrinks[i].from, shrinks[i].to, 100);
		/* Memory that earlier blocks left behind is not fresh. */
		mw_chunk_purge(true);
		kept(shrinks[i].from, shrinks[i].to);
		freed_soon(shrinks[i].from, shrinks[i].to, 10);
	}
}

int main(void) {
	mw_heap_set_hooks(&hooks);
	RUN(without_memory); /* first: no blocks of other classes are left over */
	RUN(growing_by_a_byte);
	RUN(which_class);
	RUN(which_class_is_paid_for);
	RUN(made_smaller);
	return 0;
}
