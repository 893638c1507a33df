/* SPDX-License-Identifier: MIT
 * test_shelf.c -- blocks that one thread makes and another frees: lists of them travel whole, come
 * back, and do not pile up where nobody takes them. */
#include "heap/shelf.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "heap/chunk.h"
#include "heap/fast.h"
#include "heap/heap.h"
#include "heap/outbox.h"
#include "quiet_hooks.h"
#include "test.h"

enum { CLASS = 3, BYTES = 64, BATCH = 32, PLACES = 15, ROUNDS = 30, MADE = 10000 };
enum { FEW = 32, LEAST_HELD = 6, CUT_AT = 25 };

static char *blocks[MADE + 1], *late[MADE];

static bool put(void *first, void *last, uint32_t count) {
	mw_shelf_list_t list = {first, last, count};
	return mw_shelf_put(CLASS, &list);
}

static void test_a_full_shelf_closes(void) {
	char lists[PLACES + 1];
	for (unsigned i = 0; i < PLACES; i++)
		CHECK(put(&lists[i], NULL, i + 1));
	CHECK(!put(&lists[PLACES], NULL, 1));
	/* Each comes back once, with its length. */
	unsigned seen = 0;
	void *first;
	uint32_t count;
	for (unsigned i = 0; i < PLACES; i++) {
		count = mw_shelf_take(CLASS, &first);
		CHECK(count >= 1 && count <= PLACES);
		CHECK(first == &lists[count - 1]);
		seen |= 1u << count;
		/* Room alone does not open it: somebody must have wanted more. */
		CHECK(!put(&lists[PLACES], NULL, 1));
	}
	CHECK_EQ(seen, ((1u << PLACES) - 1) << 1);
	CHECK_EQ(mw_shelf_take(CLASS, &first), 0);
	CHECK(put(&lists[0], NULL, 65535));
	CHECK_EQ(mw_shelf_clear_one(CLASS, &first), 65535);
	CHECK(first == &lists[0]);
}

/* Of one block, linked as the heap links them. */
static void *make_list(char (*cell)[MW_BLOCK_ALIGN]) {
	mw_link_set(cell, NULL);
	return cell;
}

static void test_lists_grow_where_places_are_taken(void) {
	enum { MOST = MW_SHELF_LIST_BYTES / BYTES };
	static _Alignas(MW_BLOCK_ALIGN) char cells[PLACES * MOST + 1][MW_BLOCK_ALIGN];
	for (unsigned i = 0; i < PLACES * MOST; i++) {
		void *list = make_list(&cells[i]);
		CHECK(put(list, list, 1));
	}
	void *list = make_list(&cells[PLACES * MOST]);
	CHECK(!put(list, list, 1));
	/* Each block comes back once, in lists that are as long as they say. */
	static bool seen[PLACES * MOST];
	for (unsigned i = 0; i < PLACES; i++) {
		void *block;
		CHECK_EQ(mw_shelf_take(CLASS, &block), MOST);
		for (unsigned k = 0; k < MOST; k++) {
			size_t cell = (size_t)((char(*)[MW_BLOCK_ALIGN])block - cells);
			CHECK(cell < PLACES * MOST && !seen[cell]);
			seen[cell] = true;
			block = mw_link_get(block);
		}
		CHECK(block == NULL);
	}
	CHECK_EQ(mw_shelf_take(CLASS, &list), 0);
}

static void *free_all(void *unused) {
	(void)unused;
	for (unsigned i = 0; i < MADE; i++)
		mw_fast_free(blocks[i]);
	return NULL;
}

static void *free_all_and_end(void *unused) {
	free_all(unused);
	mw_heap_thread_end();
	return NULL;
}

static void make_all(size_t bytes) {
	for (unsigned i = 0; i < MADE; i++)
		blocks[i] = mw_heap_alloc(bytes);
}

static void in_another_thread(void *(*body)(void *)) {
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, body, NULL), 0);
	pthread_join(thread, NULL);
}

/* A thread that makes nothing: a few frees leave it as it is, many give it a heap, whose lists the
 * maker finds. */
static void *free_as_consumer(void *unused) {
	(void)unused;
	for (unsigned i = 0; i < FEW; i++)
		mw_fast_free(blocks[i]);
	CHECK(mw_thread.heap == NULL);
	for (unsigned i = FEW; i < MADE; i++)
		mw_fast_free(blocks[i]);
	CHECK(mw_thread.heap != NULL);
	mw_heap_thread_end();
	/* Not again. */
	mw_fast_free(blocks[MADE]);
	for (unsigned i = 0; i < MADE; i++)
		mw_heap_free_slow(late[i]);
	CHECK(mw_thread.heap == NULL);
	return NULL;
}

static void test_consumers_have_heaps(void) {
	for (unsigned i = 0; i < MADE; i++)
		late[i] = mw_heap_alloc(BYTES);
	make_all(BYTES);
	blocks[MADE] = mw_heap_alloc(BYTES);
	in_another_thread(free_as_consumer);
}

/* Somebody makes, others free, for ever: as much memory as the first time. */
static void test_rounds_do_not_grow(void) {
	static const size_t sizes[] = {16, 48, 200, 1024};
	for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		size_t first_bytes = 0;
		for (unsigned round = 0; round < ROUNDS; round++) {
			make_all(sizes[s]);
			size_t bytes = mw_heap_in_use_bytes();
			if (round == 1)
				first_bytes = bytes;
			if (round > 1)
				CHECK(bytes <= first_bytes + (256 << 10));
			in_another_thread(free_all_and_end);
		}
	}
}

/* Nobody takes what is freed: all but some lists goes home. */
static void test_what_nobody_takes_goes_home(void) {
	mw_heap_trim();
	size_t before = mw_chunk_live_bytes();
	make_all(BYTES);
	CHECK(mw_chunk_live_bytes() >= before + (size_t)MADE * BYTES);
	in_another_thread(free_all_and_end);
	/* Their owner finds them at home: it makes as many without more memory, but for what is on
	 * a shelf that has just been emptied. */
	make_all(BYTES);
	CHECK(mw_chunk_live_bytes() <=
	      before + (size_t)(MADE + 2 * BATCH) * BYTES + PLACES * MW_SHELF_LIST_BYTES + 4096);
	free_all(NULL);
	mw_heap_trim();
	CHECK(mw_chunk_live_bytes() <= before);
}

static bool was_freed(const char *block, char *const *freed, unsigned from, unsigned to) {
	for (unsigned i = from; i < to; i++)
		if (freed[i] == block)
			return true;
	return false;
}

static unsigned handed;   /* so many blocks the thread frees */
static unsigned reused;   /* of the first blocks that a thread made, those it had freed */
static unsigned youngest; /* of these, among the last it had freed */

static void *take_over(void *unused) {
	(void)unused;
	static char *freed[MADE];
	memcpy(freed, blocks, sizeof freed);
	/* Only a thread with a heap has lists; none of this class is in it yet. */
	mw_fast_free(mw_heap_alloc(4 * BYTES));
	for (unsigned i = 0; i < handed; i++)
		mw_fast_free(blocks[i]);
	reused = youngest = 0;
	for (unsigned i = 0; i < handed; i++) {
		blocks[i] = mw_heap_alloc(BYTES);
		reused += i < 2 * BATCH && was_freed(blocks[i], freed, 0, handed);
		youngest +=
			i < 2 * BATCH && was_freed(blocks[i], freed, handed - LEAST_HELD, handed);
	}
	free_all(NULL);
	mw_heap_thread_end();
	return NULL;
}

static void test_a_thread_uses_what_it_freed(void) {
	make_all(BYTES);
	handed = MADE;
	in_another_thread(take_over);
	/* So many lists closed the shelf; the last one, half full, is still at hand.  How long the
	 * hardened library's are nobody can tell. */
	if (MW_HARDEN_ON)
		CHECK(reused <= BATCH + MW_HARDEN_OUTBOX_MARGIN - LEAST_HELD);
	else
		CHECK_EQ(reused, MADE % BATCH);
	mw_heap_trim();
}

/* In the hardened library; else all are used. */
static void test_the_youngest_stay(void) {
	make_all(BYTES);
	handed = BATCH / 2 + MW_HARDEN_OUTBOX_MARGIN;
	in_another_thread(take_over);
	if (MW_HARDEN_ON) {
		CHECK(reused > BATCH / 2 && reused <= handed - LEAST_HELD);
		CHECK_EQ(youngest, 0);
	} else {
		CHECK_EQ(reused, handed);
		CHECK_EQ(youngest, LEAST_HELD);
	}
	mw_heap_trim();
}

/* The 25th object of any class. */
static uint64_t draw_late(mw_hook_thread_t *thread, size_t size_bytes) {
	(void)thread;
	(void)size_bytes;
	return CUT_AT;
}

static mw_record_id_t no_record(mw_hook_thread_t *thread, const mw_sample_request_t *request) {
	(void)thread;
	(void)request;
	return 0;
}

static const mw_heap_hooks_t hooks = {.thread_start = quiet_thread,
				      .draw_objects = draw_late,
				      .draw_bytes = quiet_draw_bytes,
				      .sampled = no_record,
				      .sample_freed = quiet_sample_freed,
				      .poll = quiet_thread,
				      .grew = quiet_grew,
				      .background = quiet_background};

/* `handed` blocks come back in the order they were freed in, the last first, where a sample falls
 * among them, too. */
static void *take_in_order(void *unused) {
	(void)unused;
	mw_fast_free(mw_heap_alloc(4 * BYTES));
	for (unsigned i = 0; i < handed; i++)
		mw_fast_free(blocks[i]);
	unsigned next = handed;
	for (unsigned i = 1; next > 0; i++) {
		char *block = mw_heap_alloc(BYTES);
		bool is_sample = i % CUT_AT == 0;
		CHECK((block == blocks[next - 1]) == !is_sample);
		next -= !is_sample;
		late[i] = block;
	}
	mw_heap_thread_end();
	return NULL;
}

static void test_samples_leave_lists_in_order(void) {
	if (MW_HARDEN_ON)
		return; /* whose order is nobody's to know */
	make_all(BYTES);
	mw_heap_set_hooks(&hooks);
	/* One list; its rest, a quarter, is shorter than what is used of what a thread freed. */
	handed = BATCH;
	in_another_thread(take_in_order);
	mw_heap_set_hooks(NULL);
}

/* Frees blocks of others, and becomes larger than ever before it makes as many. */
static void *grow_and_take_over(void *unused) {
	(void)unused;
	static char *grown[MADE];
	mw_fast_free(mw_heap_alloc(4 * BYTES));
	for (unsigned i = 0; i < handed; i++)
		mw_fast_free(blocks[i]);
	uint32_t pages = mw_thread.heap->pages;
	for (unsigned i = 0; i < MADE; i++)
		grown[i] = mw_heap_alloc(4 * BYTES);
	CHECK(mw_thread.heap->pages > pages + 1);
	for (unsigned i = 0; i < handed; i++) {
		late[i] = mw_heap_alloc(BYTES);
		reused += was_freed(late[i], blocks, 0, handed);
	}
	for (unsigned i = 0; i < MADE; i++)
		mw_fast_free(grown[i]);
	mw_heap_thread_end();
	return NULL;
}

/* Their owner, which does not look for them, would have them for nothing. */
static void test_a_small_heap_that_grows_keeps_its_lists(void) {
	if (MW_HARDEN_ON)
		return; /* which holds some of them back */
	mw_heap_trim();
	make_all(BYTES);
	handed = BATCH / 2;
	reused = 0;
	in_another_thread(grow_and_take_over);
	CHECK_EQ(reused, handed);
}

int main(void) {
	RUN(test_a_full_shelf_closes);
	RUN(test_lists_grow_where_places_are_taken);
	RUN(test_rounds_do_not_grow);
	RUN(test_what_nobody_takes_goes_home);
	RUN(test_a_thread_uses_what_it_freed);
	RUN(test_the_youngest_stay);
	RUN(test_consumers_have_heaps);
	RUN(test_samples_leave_lists_in_order);
	RUN(test_a_small_heap_that_grows_keeps_its_lists);
	return 0;
}
