/* SPDX-License-Identifier: MIT
 * test_decay.c -- how much is kept: one drop, needs that go up and down, and needs that end. */
#include "heap/memory/decay.h"

#include "os/time/clock.h"
#include "test.h"

#define MIB ((size_t)1 << 20)
#define SECOND ((uint64_t)1000000000)

static uint64_t now_ns = 100 * SECOND;

static uint64_t fake_clock(void) {
	return now_ns;
}

/* A program whose need swings by `swing` bytes.  Returns the bytes that went early. */
static size_t swing(mw_decay_t *decay, size_t *kept, size_t swing_bytes) {
	size_t gone = 0;
	for (size_t freed = 0; freed < swing_bytes; freed += MIB / 16) {
		*kept += MIB / 16;
		size_t excess = mw_decay_excess_bytes(decay, *kept, 0);
		if (excess) {
			mw_decay_went_early(decay, excess, now_ns);
			*kept -= excess;
			gone += excess;
		}
	}
	size_t reused = *kept < swing_bytes ? *kept : swing_bytes;
	*kept -= reused;
	mw_decay_reused(decay, *kept);
	mw_decay_missed(decay, swing_bytes - reused);
	return gone;
}

static void a_drop_leaves_a_mebibyte(void) {
	mw_decay_t decay = {.delay_ns = SECOND, .early = true, .youth_end_ns = 1};
	CHECK_EQ(mw_decay_excess_bytes(&decay, MIB, 0), 0);
	CHECK_EQ(mw_decay_excess_bytes(&decay, MIB + 1, 0), MIB / 2 + 1);
	CHECK_EQ(mw_decay_excess_bytes(&decay, 100 * MIB, 0), 100 * MIB - MIB / 2);
	CHECK_EQ(mw_decay_excess_bytes(&decay, 64 * MIB, 64 * MIB), 0);
	CHECK_EQ(mw_decay_excess_bytes(&decay, 65 * MIB, 64 * MIB), 33 * MIB);
	decay.early = false;
	CHECK_EQ(mw_decay_excess_bytes(&decay, 100 * MIB, 0), 0);
	decay = (mw_decay_t){.delay_ns = MW_DECAY_NEVER_NS, .early = true};
	CHECK_EQ(mw_decay_excess_bytes(&decay, 100 * MIB, 0), 0);
}

/* What cannot go is asked for again when a quarter more is free. */
static void what_stays_is_kept(void) {
	mw_decay_t decay = {.delay_ns = SECOND, .early = true, .youth_end_ns = 1};
	CHECK(mw_decay_excess_bytes(&decay, 40 * MIB, 0) > 0);
	mw_decay_went_early(&decay, 8 * MIB, now_ns);
	mw_decay_stayed(&decay, 32 * MIB);
	CHECK_EQ(mw_decay_excess_bytes(&decay, 40 * MIB, 0), 0);
	CHECK_EQ(mw_decay_excess_bytes(&decay, 40 * MIB + 1, 0), 20 * MIB + 1);
}

static void the_young_keep_more(void) {
	mw_decay_t decay = {.delay_ns = SECOND, .early = true};
	CHECK_EQ(mw_decay_excess_bytes(&decay, 63 * MIB, 0), 0);
	CHECK(mw_decay_excess_bytes(&decay, 64 * MIB, 0) > 63 * MIB);
	/* The rest of such a drop goes as well. */
	mw_decay_went_early(&decay, 63 * MIB, now_ns);
	CHECK(mw_decay_excess_bytes(&decay, 2 * MIB, 0) > 0);
	decay = (mw_decay_t){.delay_ns = SECOND, .early = true};
	CHECK_EQ(mw_decay_excess_bytes(&decay, MIB, 0), 0);
	now_ns += MW_DECAY_YOUTH_NS - 1;
	CHECK_EQ(mw_decay_excess_bytes(&decay, 63 * MIB, 0), 0);
	now_ns += 1;
	CHECK(mw_decay_excess_bytes(&decay, 63 * MIB, 0) > 0);
}

static void a_swing_pays_once(void) {
	mw_decay_t decay = {.delay_ns = SECOND, .early = true, .youth_end_ns = 1};
	size_t kept = 0;
	CHECK(swing(&decay, &kept, 100 * MIB) > 98 * MIB);
	for (int turn = 0; turn < 50; turn++) {
		now_ns += SECOND / 20;
		CHECK_EQ(swing(&decay, &kept, 100 * MIB), 0);
	}
}

/* Young or not, as long as each swing is at most twice as wide as what was kept for it. */
static void swings_that_widen_pay_nothing(void) {
	mw_decay_t decay = {.delay_ns = SECOND, .early = true, .youth_end_ns = 1};
	size_t kept = 0;
	for (size_t swing_bytes = MIB; swing_bytes <= 1024 * MIB; swing_bytes *= 2)
		CHECK_EQ(swing(&decay, &kept, swing_bytes), 0);
	/* Small ones between keep no more than they need: a drop goes as before. */
	decay = (mw_decay_t){.delay_ns = SECOND, .early = true, .youth_end_ns = 1};
	kept = 0;
	for (int turn = 0; turn < 1000; turn++)
		CHECK_EQ(swing(&decay, &kept, MIB), 0);
	CHECK(swing(&decay, &kept, 100 * MIB) > 97 * MIB);
}

static void what_was_not_needed_is_kept_no_longer(void) {
	mw_decay_t decay = {.delay_ns = SECOND, .early = true, .youth_end_ns = 1};
	size_t kept = 0;
	swing(&decay, &kept, 100 * MIB);
	CHECK(mw_decay_excess_bytes(&decay, 100 * MIB, 0) == 0);
	mw_decay_went_late(&decay, 300 * MIB);
	CHECK(mw_decay_excess_bytes(&decay, 2 * MIB, 0) > 0);
}

static void growth_after_the_delay_is_no_miss(void) {
	mw_decay_t decay = {.delay_ns = SECOND, .early = true, .youth_end_ns = 1};
	mw_decay_went_early(&decay, 50 * MIB, now_ns);
	now_ns += SECOND;
	mw_decay_missed(&decay, 50 * MIB);
	CHECK(mw_decay_excess_bytes(&decay, 2 * MIB, 0) > 0);
	/* Growth beyond what went is no miss either. */
	mw_decay_went_early(&decay, MIB, now_ns);
	mw_decay_missed(&decay, 1000 * MIB);
	CHECK_EQ(mw_decay_excess_bytes(&decay, 3 * MIB, 0), 0);
	CHECK(mw_decay_excess_bytes(&decay, 4 * MIB, 0) > 0);
}

static void refusals_are_not_repeated_each_time(void) {
	mw_decay_t decay = {.delay_ns = SECOND, .early = true, .youth_end_ns = 1};
	unsigned asked = 0;
	for (size_t kept = 0; kept < 1024 * MIB; kept += MIB / 16)
		if (mw_decay_excess_bytes(&decay, kept, 0)) {
			mw_decay_went_early(&decay, 0, now_ns);
			asked++;
		}
	CHECK(asked > 0 && asked <= 11);
}

int main(void) {
	mw_os_clock_set_source(fake_clock);
	RUN(a_drop_leaves_a_mebibyte);
	RUN(what_stays_is_kept);
	RUN(the_young_keep_more);
	RUN(a_swing_pays_once);
	RUN(swings_that_widen_pay_nothing);
	RUN(what_was_not_needed_is_kept_no_longer);
	RUN(growth_after_the_delay_is_no_miss);
	RUN(refusals_are_not_repeated_each_time);
	return 0;
}
