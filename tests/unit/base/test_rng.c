/* SPDX-License-Identifier: MIT
 * test_rng.c -- the generator's known sequence and the moments of the exponential draw. */
#include <math.h>

#include "base/rng.h"
#include "test.h"

static void first_numbers_follow_the_recurrence(void) {
	/* State 1,2,3,4: the first outputs, worked out by hand from the published recurrence:
	 * rotl(1+4, 23)+1 = 5*2^23+1; then the state is 7,0,262146,6*2^45 and so on. */
	mw_rng_t rng = {{1, 2, 3, 4}};
	CHECK(mw_rng_next(&rng) == 41943041u);
	CHECK(rng.state[0] == 7 && rng.state[1] == 0 && rng.state[2] == 262146);
	CHECK(rng.state[3] == (uint64_t)6 << 45);
}

static void a_seed_fixes_the_sequence(void) {
	mw_rng_t a, b, c;
	mw_rng_init(&a, 0);
	mw_rng_init(&b, 0);
	mw_rng_init(&c, 1);
	CHECK(a.state[0] | a.state[1] | a.state[2] | a.state[3]);
	int equal = 0;
	for (int i = 0; i < 1000; i++) {
		uint64_t x = mw_rng_next(&a);
		CHECK(x == mw_rng_next(&b));
		equal += x == mw_rng_next(&c);
	}
	CHECK_EQ(equal, 0);
}

static void exponential_has_its_moments(void) {
	mw_rng_t rng;
	mw_rng_init(&rng, 42);
	enum { DRAWS = 4000000 };
	double sum = 0, squares = 0;
	long above[6] = {0};
	for (long i = 0; i < DRAWS; i++) {
		double x = mw_rng_exp(&rng);
		CHECK(x > 0 && isfinite(x));
		sum += x;
		squares += x * x;
		for (int k = 1; k < 6; k++)
			above[k] += x > k;
	}
	/* Five standard errors each. */
	CHECK_NEAR(sum / DRAWS, 1.0, 5 * 1.0 / sqrt(DRAWS));
	CHECK_NEAR(squares / DRAWS, 2.0, 5 * sqrt(20.0) / sqrt(DRAWS));
	for (int k = 1; k < 6; k++) {
		double p = exp(-k);
		CHECK_NEAR((double)above[k] / DRAWS, p, 5 * sqrt(p * (1 - p) / DRAWS));
	}
}

int main(void) {
	RUN(first_numbers_follow_the_recurrence);
	RUN(a_seed_fixes_the_sequence);
	RUN(exponential_has_its_moments);
	return 0;
}
