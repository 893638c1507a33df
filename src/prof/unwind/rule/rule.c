/* SPDX-License-Identifier: MIT
 * rule.c -- encodes rules; an append-only array of rules with an index. */
#include "prof/unwind/rule/rule.h"

#include <stdatomic.h>
#include <string.h>

#include "base/bits.h"
#include "base/check.h"
#include "base/compiler.h"
#include "prof/store/index.h"

static MW_SPARSE struct dictionary {
	_Atomic uint32_t used; /* numbers given to rules, except 0; may exceed the capacity */
	/* Dense, so that the few dozen rules in use share a page. A rule is written before its
	 * number is published, and never changed. */
	mw_rule_t rules[MW_RULE_NUMBERS];
} dictionary;
static mw_index_t rule_index = MW_INDEX_OF_8192;

_Static_assert(MW_RULE_NUMBERS <= MW_RULE_INLINE, "a number is not an inline rule");

static uint64_t hash_rule(const mw_rule_t *rule) {
	uint64_t words[3];
	memcpy(words, rule, sizeof(words));
	/* Odd constants from the fractions of the golden ratio, sqrt(3) and sqrt(5). */
	uint64_t hash = words[0] * 0x9e3779b97f4a7c15u;
	hash = (hash ^ (hash >> 29) ^ words[1]) * 0xbb67ae8584caa73bu;
	hash = (hash ^ (hash >> 32) ^ words[2]) * 0x3c6ef372fe94f82bu;
	return hash ^ hash >> 32;
}

static bool is_rule(const void *rule, uint32_t id) {
	return mw_same_bytes(&dictionary.rules[id], rule, sizeof(mw_rule_t));
}

static uint32_t append_rule(const void *rule) {
	/* Relaxed: the slot of the index publishes the number. */
	if (atomic_load_explicit(&dictionary.used, memory_order_relaxed) >= MW_RULE_NUMBERS - 1)
		return 0;
	uint32_t id = 1 + atomic_fetch_add_explicit(&dictionary.used, 1, memory_order_relaxed);
	if (id >= MW_RULE_NUMBERS)
		return 0;
	memcpy(&dictionary.rules[id], rule, sizeof(mw_rule_t));
	return id;
}

static uint32_t intern(const mw_rule_t *rule) {
	const mw_index_kind_t kind = {is_rule, append_rule};
	return mw_index_find(&rule_index, hash_rule(rule), rule, kind);
}

/* Returns the code; 0: the rule does not fit a code. */
static uint32_t encode_inline(const mw_rule_t *rule) {
	const int32_t word_bytes = 8;
	if (rule->kind != MW_RULE_PLAIN || rule->ra_offset != -word_bytes ||
	    rule->cfa_offset % word_bytes != 0 || rule->cfa_offset <= 0 ||
	    rule->cfa_offset / word_bytes > (int32_t)MW_RULE_INLINE_WORDS_MASK)
		return 0;
	uint32_t code = MW_RULE_INLINE | (uint32_t)(rule->cfa_offset / word_bytes);
	if (rule->cfa_base == MW_BASE_FP)
		code |= MW_RULE_INLINE_BY_FP;
	if (rule->fp_base == MW_BASE_SAME)
		return code;
	int32_t slot = -rule->fp_offset / word_bytes - 1;
	/* The frame pointer's slot is not below the base, so that the walk need not compare it with
	 * the stack's lower end. */
	if (rule->fp_offset % word_bytes != 0 || slot < 1 ||
	    slot > (int32_t)MW_RULE_INLINE_SLOT_MASK || rule->cfa_offset + rule->fp_offset < 0)
		return 0;
	return code | (uint32_t)slot << MW_RULE_INLINE_SLOT_SHIFT;
}

static mw_rule_t decode_inline(uint32_t code) {
	int32_t slot = (int32_t)(code >> MW_RULE_INLINE_SLOT_SHIFT & MW_RULE_INLINE_SLOT_MASK);
	return (mw_rule_t){
		.kind = MW_RULE_PLAIN,
		.cfa_base = code & MW_RULE_INLINE_BY_FP ? MW_BASE_FP : MW_BASE_SP,
		.cfa_offset = (int32_t)(code & MW_RULE_INLINE_WORDS_MASK) * 8,
		.ra_base = MW_BASE_CFA,
		.ra_offset = -8,
		.fp_base = slot ? MW_BASE_CFA : MW_BASE_SAME,
		.fp_offset = slot ? -8 - 8 * slot : 0,
	};
}

uint32_t mw_rule_encode(const mw_rule_t *rule) {
	uint32_t code = encode_inline(rule);
	return code ? code : intern(rule);
}

mw_rule_t mw_rule_decode(uint32_t code) {
	if (code & MW_RULE_INLINE)
		return decode_inline(code);
	MW_ASSERT(code > 0 && code < MW_RULE_NUMBERS);
	return dictionary.rules[code];
}

uint32_t mw_rule_count(void) {
	uint32_t used = atomic_load_explicit(&dictionary.used, memory_order_relaxed);
	return used < MW_RULE_NUMBERS - 1 ? used : MW_RULE_NUMBERS - 1;
}
