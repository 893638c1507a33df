/* SPDX-License-Identifier: MIT
 * test_claim.c -- claims by bits: each number once, also when threads take them at the same time.
 */
#include "base/bits.h"

#include <pthread.h>

#include "test.h"

static void each_number_once(void) {
	_Atomic uint64_t claimed = 0;
	for (unsigned i = 0; i < MW_CLAIMS; i++)
		CHECK_EQ(mw_claim(&claimed), i);
	CHECK_EQ(mw_claim(&claimed), MW_CLAIMS);
	mw_unclaim(&claimed, 63);
	mw_unclaim(&claimed, 7);
	CHECK_EQ(mw_claim(&claimed), 7);
	CHECK_EQ(mw_claim(&claimed), 63);
	CHECK_EQ(mw_claim(&claimed), MW_CLAIMS);
}

#define THREADS 4
#define ROUNDS 20000

static _Atomic uint64_t shared;
static _Atomic int users[MW_CLAIMS];

static void *take_turns(void *unused) {
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		unsigned number = mw_claim(&shared);
		CHECK(number < MW_CLAIMS);
		CHECK_EQ(atomic_fetch_add(&users[number], 1), 0);
		atomic_fetch_sub(&users[number], 1);
		mw_unclaim(&shared, number);
	}
	return NULL;
}

static void one_user_at_a_time(void) {
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, take_turns, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	CHECK_EQ(shared, 0);
}

int main(void) {
	RUN(each_number_once);
	RUN(one_user_at_a_time);
	return 0;
}
