/* SPDX-License-Identifier: MIT
 * test_mixed.c -- a thread that lives on what it frees of others asks no longer whose a block is,
 * and asks again when that is over. */
#include <pthread.h>
#include <stdbool.h>

#include "heap/fast.h"
#include "heap/heap.h"
#include "heap/outbox.h"
#include "test.h"

enum { CLASS = 3, BYTES = 64, BATCH = 32, MADE = 64 * BATCH, MOST = 16384 };
/* Own refills beside each list of strangers' blocks, more than it takes to be mixed. */
enum { OWN_FILLS = 6, CARVED = 64 };

static char *strangers[MADE];
static unsigned next_stranger;
static char *held[MOST];
static unsigned held_count;
static pthread_barrier_t barrier;

/* Its pages stay those of another heap as long as it lives. */
static void *make_and_wait(void *unused) {
	(void)unused;
	for (unsigned i = 0; i < MADE; i++)
		strangers[i] = mw_heap_alloc(BYTES);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	mw_heap_thread_end();
	return NULL;
}

static mw_page_t *page_of(const void *block) {
	return mw_page_of_slice((uintptr_t)block);
}

static bool is_own(const void *block) {
	return atomic_load(&page_of(block)->heap) == mw_heap_self();
}

static bool is_mixed(void) {
	return mw_outbox_is_mixed(mw_heap_self(), CLASS);
}

static void hold(unsigned count) {
	for (; count > 0; count--) {
		CHECK(held_count < MOST);
		held[held_count++] = mw_heap_alloc(BYTES);
	}
}

/* One list of strangers' blocks is freed and used. */
static void use_strangers(void) {
	for (unsigned i = 0; i < BATCH; i++)
		mw_fast_free(strangers[next_stranger++]);
	hold(BATCH);
}

static void test_a_few_lists_change_nothing(void) {
	hold(1);
	for (unsigned turn = 0; turn < 2 * MW_OUTBOX_LOOK_LISTS; turn++) {
		use_strangers();
		hold(OWN_FILLS * CARVED);
		CHECK(!is_mixed());
	}
}

static void test_blocks_mix_where_most_are_strangers(void) {
	for (unsigned turn = 0; turn < 3 * MW_OUTBOX_LOOK_LISTS; turn++)
		use_strangers();
	CHECK_EQ(is_mixed(), !MW_HARDEN_ON);
}

static char *own_block(void) {
	while (!is_own(held[--held_count]))
		mw_fast_free(held[held_count]);
	return held[held_count];
}

static void test_own_blocks_wait_with_the_others(void) {
	if (!is_mixed())
		return;
	const mw_outbox_t *outbox = &mw_heap_self()->outbox[CLASS];
	char *block = own_block();
	const mw_page_t *page = page_of(block);
	uint32_t used = page->used, count = mw_outbox_count(outbox);
	uint64_t allocated_bytes, before_bytes, after_bytes;
	mw_heap_thread_bytes(&allocated_bytes, &before_bytes);
	CHECK_EQ(atomic_load(&mw_page_entry(page)->owner), MW_OWNER_DIVERT);
	mw_fast_free(block);
	CHECK_EQ(page->used, used);
	CHECK_EQ(mw_outbox_count(outbox), count + 1);
	/* Freed all the same. */
	mw_heap_thread_bytes(&allocated_bytes, &after_bytes);
	CHECK_EQ(after_bytes, before_bytes + BYTES);
}

/* The strangers' that still wait are held. */
static char *make_own_block(void) {
	for (;;) {
		hold(1);
		if (is_own(held[held_count - 1]))
			return held[--held_count];
	}
}

static void test_only_own_blocks_end_it(void) {
	char *own[BATCH];
	for (unsigned i = 0; i < BATCH; i++)
		own[i] = make_own_block();
	for (unsigned turn = 0; turn < 1024 && is_mixed(); turn++) {
		for (unsigned i = 0; i < BATCH; i++)
			mw_fast_free(own[i]);
		for (unsigned i = 0; i < BATCH; i++)
			own[i] = make_own_block();
	}
	CHECK(!is_mixed());
	/* Straight to the page again. */
	const mw_page_t *page = page_of(own[0]);
	uint32_t used = page->used;
	CHECK(is_own(own[0]));
	for (unsigned i = 0; i < BATCH; i++)
		mw_fast_free(own[i]);
	if (!MW_HARDEN_ON) {
		CHECK(page->used < used);
		CHECK_EQ(atomic_load(&mw_page_entry(page)->owner),
			 (uintptr_t)__builtin_thread_pointer());
	}
}

/* A page whose own blocks went through outboxes and shelves is given back like any other. */
static void test_all_comes_home(void) {
	while (held_count > 0)
		mw_fast_free(held[--held_count]);
	while (next_stranger < MADE)
		mw_fast_free(strangers[next_stranger++]);
	mw_heap_trim();
	for (const mw_page_t *page = mw_heap_self()->queues[CLASS].first; page; page = page->next)
		CHECK_EQ(page->used, 0);
	CHECK(mw_heap_self()->full.first == NULL);
}

int main(void) {
	pthread_t maker;
	pthread_barrier_init(&barrier, NULL, 2);
	CHECK_EQ(pthread_create(&maker, NULL, make_and_wait, NULL), 0);
	pthread_barrier_wait(&barrier);
	RUN(test_a_few_lists_change_nothing);
	RUN(test_blocks_mix_where_most_are_strangers);
	RUN(test_own_blocks_wait_with_the_others);
	RUN(test_only_own_blocks_end_it);
	RUN(test_all_comes_home);
	pthread_barrier_wait(&barrier);
	pthread_join(maker, NULL);
	return 0;
}
