/* SPDX-License-Identifier: MIT
 * test_unwind_rule.c -- codes of rules, a full dictionary, the cache and its guards. */
#include <pthread.h>
#include <stdint.h>

#include "prof/unwind/rule/rule.h"
#include "prof/unwind/rule/rule_cache.h"
#include "test.h"

static mw_rule_t plain(mw_rule_base_t base, int cfa_offset, int fp_offset) {
	return (mw_rule_t){
		.kind = MW_RULE_PLAIN,
		.cfa_base = (uint8_t)base,
		.cfa_offset = cfa_offset,
		.ra_base = MW_BASE_CFA,
		.ra_offset = -8,
		.fp_base = fp_offset ? MW_BASE_CFA : MW_BASE_SAME,
		.fp_offset = fp_offset,
	};
}

static void check_round_trip(mw_rule_t rule, bool is_inline) {
	uint32_t code = mw_rule_encode(&rule);
	CHECK(code != 0);
	CHECK(code <= MW_CACHE_CODE_MASK);
	CHECK_EQ((code & MW_RULE_INLINE) != 0, is_inline);
	mw_rule_t back = mw_rule_decode(code);
	CHECK(memcmp(&back, &rule, sizeof(rule)) == 0);
	CHECK_EQ(mw_rule_encode(&back), code);
}

static void test_inline(void) {
	for (unsigned by_fp = 0; by_fp < 2; by_fp++)
		for (int words = 1; words <= 0x7ff; words++)
			for (int slot = 0; slot <= 7; slot++) {
				mw_rule_t rule = plain(by_fp ? MW_BASE_FP : MW_BASE_SP, 8 * words,
						       slot ? -8 - 8 * slot : 0);
				check_round_trip(rule, slot == 0 || slot < words);
			}
}

static void test_dictionary(void) {
	check_round_trip(plain(MW_BASE_SP, 8 * 0x800, 0), false);
	check_round_trip(plain(MW_BASE_SP, 12, 0), false);
	check_round_trip(plain(MW_BASE_FP, 0, 0), false);
	check_round_trip(plain(MW_BASE_FP, -8, 0), false);
	check_round_trip(plain(MW_BASE_SP, 800, -80), false);
	check_round_trip(plain(MW_BASE_SP, 800, 16), false);
	check_round_trip(plain(MW_BASE_SP, 800, -20), false);
	check_round_trip((mw_rule_t){.kind = MW_RULE_END}, false);
	check_round_trip((mw_rule_t){.kind = MW_RULE_LOST}, false);
	check_round_trip((mw_rule_t){.kind = MW_RULE_FRAME_POINTER}, false);
	mw_rule_t other_ra = plain(MW_BASE_SP, 800, 0);
	other_ra.ra_offset = -16;
	check_round_trip(other_ra, false);
}

/* Eight threads ask for the same rules at once: all get the same names. */
enum { THREADS = 8, RULES = 500 };

static void *name_rules(void *argument) {
	uint32_t *codes = argument;
	for (int i = 0; i < RULES; i++) {
		mw_rule_t rule = plain(MW_BASE_SP, 1000000 + 8 * i, 0);
		codes[i] = mw_rule_encode(&rule);
	}
	return NULL;
}

static void test_threads(void) {
	static uint32_t codes[THREADS][RULES];
	pthread_t threads[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, name_rules, codes[i]) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (unsigned i = 1; i < THREADS; i++)
		CHECK(memcmp(codes[i], codes[0], sizeof(codes[0])) == 0);
	for (int i = 0; i < RULES; i++)
		CHECK_EQ(mw_rule_decode(codes[0][i]).cfa_offset, 1000000 + 8 * i);
}

static void test_full_dictionary(void) {
	uint32_t first = 0, code = 0;
	for (int i = 0; i < 2 * (int)MW_RULE_NUMBERS; i++) {
		mw_rule_t rule = plain(MW_BASE_SP, 2000000 + 8 * i, 0);
		code = mw_rule_encode(&rule);
		if (i == 0)
			first = code;
	}
	CHECK_EQ(code, 0);
	CHECK_EQ(mw_rule_count(), MW_RULE_NUMBERS - 1);
	/* What is in it is still found, what needs no place still has a code. */
	mw_rule_t rule = plain(MW_BASE_SP, 2000000, 0);
	CHECK_EQ(mw_rule_encode(&rule), first);
	check_round_trip(plain(MW_BASE_SP, 64, -16), true);
}

static void test_cache(void) {
	/* So far apart lie addresses of one set. */
	const uintptr_t apart = sizeof mw_cache_sets;
	const uintptr_t a = 0x7f1234567891, b = a + apart, c = b + apart;
	CHECK_EQ(mw_cache_find(a), 0);
	mw_cache_put(a, 1);
	CHECK_EQ(mw_cache_find(a) & MW_CACHE_CODE_MASK, 1);
	CHECK_EQ(mw_cache_find(b), 0);
	mw_cache_put_guarded(b, 2, 0xabcd);
	CHECK_EQ(mw_cache_find(a) & MW_CACHE_CODE_MASK, 1);
	CHECK_EQ(mw_cache_find(b) & (MW_CACHE_GUARDED | MW_CACHE_CODE_MASK), MW_CACHE_GUARDED | 2);
	CHECK_EQ(mw_cache_guard(b), 0xabcd);
	/* The older one goes; a guard moves with its entry. */
	mw_cache_put(c, 3);
	CHECK_EQ(mw_cache_find(a), 0);
	CHECK_EQ(mw_cache_find(b) & MW_CACHE_CODE_MASK, 2);
	CHECK_EQ(mw_cache_guard(b), 0xabcd);
	CHECK_EQ(mw_cache_find(c) & (MW_CACHE_GUARDED | MW_CACHE_CODE_MASK), 3);
	/* The same address again replaces itself. */
	mw_cache_put(c, 4);
	CHECK_EQ(mw_cache_find(c) & MW_CACHE_CODE_MASK, 4);
	CHECK_EQ(mw_cache_find(b) & MW_CACHE_CODE_MASK, 2);
	/* Neighbouring instructions have entries of their own, and so have the highest ones that
	 * the kernel gives out. */
	const uintptr_t top = ((uintptr_t)1 << MW_OS_ADDRESS_BITS) - 4096;
	mw_cache_put(top - 1, 6);
	mw_cache_put_guarded(top, 7, 0xef);
	CHECK_EQ(mw_cache_find(top - 1) & MW_CACHE_CODE_MASK, 6);
	CHECK_EQ(mw_cache_find(top) & MW_CACHE_CODE_MASK, 7);
	CHECK_EQ(mw_cache_guard(top), 0xef);
	CHECK_EQ(mw_cache_find(top + 3), 0);
	CHECK_EQ(mw_cache_find(top - 5), 0);
	/* Longer addresses are not kept, and do not disturb. */
	mw_cache_put(a | (uintptr_t)1 << 50, 5);
	CHECK_EQ(mw_cache_find(a | (uintptr_t)1 << 50), 0);
	CHECK_EQ(mw_cache_find(c) & MW_CACHE_CODE_MASK, 4);
}

/* All that fit are found. */
static void test_cache_holds_many(void) {
	enum { SITES = 8192, APART = 32 };
	const uintptr_t code = 0x555555554000;
	mw_cache_clear();
	for (unsigned i = 0; i < SITES; i++)
		mw_cache_put(code + (uintptr_t)i * APART, 1 + i % 1000);
	for (unsigned i = 0; i < SITES; i++)
		CHECK_EQ(mw_cache_find(code + (uintptr_t)i * APART) & MW_CACHE_CODE_MASK,
			 1 + i % 1000);
}

int main(void) {
	RUN(test_inline);
	RUN(test_dictionary);
	RUN(test_threads);
	RUN(test_cache);
	RUN(test_cache_holds_many);
	RUN(test_full_dictionary);
	return 0;
}
