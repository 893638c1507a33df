/* SPDX-License-Identifier: MIT
 * test_recall.c -- keys tell stacks apart, a kept stack is found or forgotten, never another. */
#include "prof/recall.h"

#include <pthread.h>
#include <string.h>

#include "base/rng.h"
#include "test.h"

enum { DEPTH = 12, STACKS = 32000, THREADS = 4 };

static bool is_same(mw_recall_key_t a, mw_recall_key_t b) {
	return a.high == b.high || a.low == b.low;
}

static void keys_differ(void) {
	uint64_t frames[DEPTH];
	for (unsigned i = 0; i < DEPTH; i++)
		frames[i] = 0x7f0000001000 + 16 * i;
	mw_recall_key_t key = mw_recall_key(frames, DEPTH, false, 0);
	CHECK_EQ(mw_recall_key(frames, DEPTH, false, 0).high, key.high);
	CHECK_EQ(mw_recall_key(frames, DEPTH, false, 0).low, key.low);
	CHECK(!is_same(mw_recall_key(frames, DEPTH, true, 0), key));
	CHECK(!is_same(mw_recall_key(frames, DEPTH - 1, false, 0), key));
	CHECK(!is_same(mw_recall_key(frames, DEPTH, false, 1), key));
	/* Each bit of each frame counts, the mark of an exact PC too. */
	for (unsigned i = 0; i < DEPTH; i++)
		for (unsigned bit = 0; bit < 64; bit++) {
			frames[i] ^= (uint64_t)1 << bit;
			CHECK(!is_same(mw_recall_key(frames, DEPTH, false, 0), key));
			frames[i] ^= (uint64_t)1 << bit;
		}
	uint64_t first = frames[0];
	frames[0] = frames[1];
	frames[1] = first;
	CHECK(!is_same(mw_recall_key(frames, DEPTH, false, 0), key));
	/* Zeros count by their number. */
	memset(frames, 0, sizeof frames);
	CHECK(!is_same(mw_recall_key(frames, 1, false, 0), mw_recall_key(frames, 2, false, 0)));
}

static mw_recall_key_t key_by_sum(const uint64_t *frames, unsigned depth, uint64_t code) {
	uint64_t sum = 0x510e527fade682d1;
	for (unsigned i = 0; i < depth; i++)
		sum = mw_recall_take_in(sum, frames[i]);
	return mw_recall_key_by_sum(sum, depth, code);
}

static void sums_differ(void) {
	uint64_t frames[DEPTH];
	for (unsigned i = 0; i < DEPTH; i++)
		frames[i] = 0x7f0000001000 + 16 * i;
	mw_recall_key_t key = key_by_sum(frames, DEPTH, 0);
	CHECK_EQ(key_by_sum(frames, DEPTH, 0).high, key.high);
	CHECK_EQ(key_by_sum(frames, DEPTH, 0).low, key.low);
	CHECK(!is_same(key_by_sum(frames, DEPTH - 1, 0), key));
	CHECK(!is_same(key_by_sum(frames, DEPTH, 1), key));
	for (unsigned i = 0; i < DEPTH; i++)
		for (unsigned bit = 0; bit < 64; bit++) {
			frames[i] ^= (uint64_t)1 << bit;
			CHECK(!is_same(key_by_sum(frames, DEPTH, 0), key));
			frames[i] ^= (uint64_t)1 << bit;
		}
	uint64_t first = frames[0];
	frames[0] = frames[1];
	frames[1] = first;
	CHECK(!is_same(key_by_sum(frames, DEPTH, 0), key));
}

static mw_recall_key_t key_of(uint32_t number) {
	uint64_t frames[DEPTH];
	mw_rng_t rng;
	mw_rng_init(&rng, number);
	for (unsigned i = 0; i < DEPTH; i++)
		frames[i] = mw_rng_next(&rng) >> 17;
	return mw_recall_key(frames, DEPTH, false, 0);
}

static void finds_what_was_kept(void) {
	unsigned found = 0;
	CHECK_EQ(mw_recall_find(key_of(1)), 0);
	for (uint32_t i = 1; i <= STACKS; i++) {
		mw_recall_put(key_of(i), i);
		CHECK_EQ(mw_recall_find(key_of(i)), i);
	}
	for (uint32_t i = 1; i <= STACKS; i++) {
		uint32_t number = mw_recall_find(key_of(i));
		CHECK(number == 0 || number == i);
		found += number != 0;
	}
	/* As many as there are entries, almost: the keys are spread. */
	CHECK(found > 3200 && found <= 4096);
}

static void *put_and_find(void *argument) {
	uint32_t shift = (uint32_t)(uintptr_t)argument;
	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t number = 1 + (i * 7 + shift) % STACKS;
		uint32_t other = 1 + (i * 13 + shift) % STACKS;
		mw_recall_put(key_of(number), number);
		uint32_t got = mw_recall_find(key_of(other));
		CHECK(got == 0 || got == other);
	}
	return NULL;
}

static void threads_never_find_another(void) {
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, put_and_find, (void *)(i * 1000)) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void) {
	RUN(keys_differ);
	RUN(sums_differ);
	RUN(finds_what_was_kept);
	RUN(threads_never_find_another);
	return 0;
}
