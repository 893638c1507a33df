/* SPDX-License-Identifier: MIT
 * cpu_words.c -- reads and writes gperftools' CPU profiles: words of the machine's size and byte
 * order.
 * Header: 0, 3, 0, microseconds between samples, 0.
 * Records: number of samples, number of PCs, the PCs with the leaf first.
 * Trailer: 0, 1, 0, then the text of /proc/<pid>/maps.  A file of jeprof --raw has no trailer
 * and ends with its last record. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/dropped.h"
#include "formats/text/lines.h"
#include "formats/text/text_formats.h"
#include "model/memory.h"

#define HEADER_WORDS 5

typedef struct words {
	const unsigned char *bytes;
	size_t count, at;
	unsigned size; /* bytes of a word: 4 or 8 */
	bool is_big_endian;
} words_t;

static uint64_t word_at(const words_t *w, size_t i) {
	const unsigned char *b = w->bytes + i * w->size;
	uint64_t value = 0;
	for (unsigned k = 0; k < w->size; k++)
		value |= (uint64_t)b[w->is_big_endian ? w->size - 1 - k : k] << (8 * k);
	return value;
}

/* Tries both word sizes and both byte orders. */
static bool find_kind(const char *bytes, size_t length, words_t *w) {
	for (unsigned kind = 0; kind < 4; kind++) {
		*w = (words_t){.bytes = (const unsigned char *)bytes,
			       .size = kind < 2 ? 8 : 4,
			       .is_big_endian = kind % 2 == 1};
		w->count = length / w->size;
		if (w->count >= HEADER_WORDS && word_at(w, 0) == 0 && word_at(w, 1) == 3 &&
		    word_at(w, 2) == 0 && word_at(w, 3) < INT32_MAX && word_at(w, 4) == 0)
			return true;
	}
	return false;
}

bool mw_is_cpu(const char *bytes, size_t length) {
	words_t w;
	return find_kind(bytes, length, &w);
}

static int damaged(const mw_lines_t *r, const char *why) {
	return mw_error_set(r->error, "%s: %s; the CPU profile is damaged", r->name, why);
}

/* Finds the trailer.  Reads only the lengths of the records. */
static int find_trailer(mw_lines_t *r, const words_t *w, size_t *trailer) {
	size_t at = HEADER_WORDS;
	while (at + 3 <= w->count) {
		uint64_t depth = word_at(w, at + 1);
		if (word_at(w, at) == 0 && depth == 1 && word_at(w, at + 2) == 0) {
			*trailer = at;
			return 0;
		}
		if (depth > MW_READ_DEPTH_MAX || depth > w->count - at - 2)
			return damaged(r, "a stack is deeper than 32768 frames or than the file");
		at += 2 + (size_t)depth;
	}
	*trailer = w->count;
	return at == w->count ? 0 : damaged(r, "it ends before its trailer; it was cut short");
}

/* The signal's handler leaves up to two frames between the leaf and its caller. */
enum { TRAMPOLINES_MAX = 2 };

/* Addresses that stand behind the leaf in stacks, to be left out; in this order. */
typedef struct trampolines {
	uint64_t addresses[TRAMPOLINES_MAX];
	size_t count;
} trampolines_t;

/* Returns how many trampolines stand behind the leaf of the record at `at`. */
static uint64_t trampoline_words(const words_t *w, size_t at, const trampolines_t *t) {
	uint64_t depth = word_at(w, at + 1), found = 0;
	for (size_t i = 0; i < t->count; i++)
		found += depth > found + 1 && word_at(w, at + 3 + (size_t)found) == t->addresses[i];
	return found;
}

/* Returns how many words behind the leaf are no callers: trampolines, then the leaf once more, as
 * a return address from unwinding. */
static uint64_t extra_words(const words_t *w, size_t at, const trampolines_t *t) {
	uint64_t depth = word_at(w, at + 1), extra = trampoline_words(w, at, t);
	bool has_leaf_twice =
		depth > extra + 1 && word_at(w, at + 2) == word_at(w, at + 3 + (size_t)extra);
	return extra + has_leaf_twice;
}

/* What the records say about the word behind the leaf and the trampolines that are known. */
typedef struct second_words {
	uint64_t candidate; /* the only word that most records can have */
	uint64_t votes, records, with_candidate, before_leaf;
} second_words_t;

/* Finds the word that most records have, if one does (Boyer and Moore's vote); with `counts`,
 * counts how many have it. */
static void look_at_seconds(const words_t *w, size_t trailer, const trampolines_t *t, bool counts,
			    second_words_t *s) {
	for (size_t at = HEADER_WORDS; at < trailer; at += 2 + (size_t)word_at(w, at + 1)) {
		uint64_t depth = word_at(w, at + 1), extra = trampoline_words(w, at, t);
		s->records += counts;
		if (depth <= extra + 1)
			continue;
		size_t second = at + 3 + (size_t)extra;
		bool is_candidate = word_at(w, second) == s->candidate;
		if (counts) {
			s->with_candidate += is_candidate;
			s->before_leaf += is_candidate && depth > extra + 2 &&
					  word_at(w, second + 1) == word_at(w, at + 2);
		} else if (s->votes == 0) {
			s->candidate = word_at(w, second);
			s->votes = 1;
		} else {
			s->votes += is_candidate ? 1 : (uint64_t)-1;
		}
	}
}

/* Whether the kernel's or libc's code is at the address, or no file. */
static bool is_in_system(mw_profile_t *p, uint64_t address) {
	const char *path =
		mw_profile_string(p, p->mappings[mw_profile_find_mapping(p, address)].path);
	const char *slash = strrchr(path, '/');
	const char *base = slash != NULL ? slash + 1 : path;
	return *path == '\0' || *path == '[' || mw_starts_with(base, "libc.") ||
	       mw_starts_with(base, "libc-") || mw_starts_with(base, "libpthread") ||
	       mw_starts_with(base, "ld-musl");
}

/* pprof takes a word that is behind the leaf in nearly all records (one of 32 may differ) for the
 * trampoline by which the kernel enters the signal's handler. Here it must also be where
 * trampolines are, or the leaf must follow it: the only caller of a hot function is no trampoline.
 */
static void find_trampolines(mw_profile_t *p, const words_t *w, size_t trailer, trampolines_t *t) {
	while (t->count < TRAMPOLINES_MAX) {
		second_words_t s = {0};
		look_at_seconds(w, trailer, t, false, &s);
		look_at_seconds(w, trailer, t, true, &s);
		bool is_in_most =
			s.with_candidate > 0 && s.with_candidate >= s.records - s.records / 32;
		if (!is_in_most || !(s.before_leaf * 2 > s.with_candidate ||
				     (p->mapping_count > 1 && is_in_system(p, s.candidate))))
			return;
		t->addresses[t->count++] = s.candidate;
	}
}

static int take_record(mw_lines_t *r, const words_t *w, size_t at, const trampolines_t *t) {
	uint64_t count = word_at(w, at), depth = word_at(w, at + 1);
	int64_t time_ns;
	if (count > INT64_MAX ||
	    __builtin_mul_overflow((int64_t)count, r->profile->period, &time_ns))
		return damaged(r, "a stack has an impossible number of samples");
	r->frame_count = 0;
	uint64_t extra = extra_words(w, at, t);
	for (size_t i = 0; i < depth; i++)
		if ((i == 0 || i > extra) &&
		    mw_lines_add_frame(r, word_at(w, at + 2 + i), i == 0) != 0)
			return -1;
	int64_t values[2] = {(int64_t)count, time_ns}; /* the second has no type without a period */
	mw_profile_add_sample(r->profile, r->frames, r->frame_count, values, NULL, 0);
	return 0;
}

int mw_read_cpu(mw_profile_t *p, const char *name, const char *bytes, size_t length,
		mw_error_t *error) {
	words_t w;
	mw_lines_t r = mw_lines_of(p, name, bytes, length, error);
	size_t trailer = 0;
	if (!find_kind(bytes, length, &w))
		return damaged(&r, "it has no header");
	if (find_trailer(&r, &w, &trailer) != 0)
		return -1;
	p->origin.format = mw_profile_intern(p, "gperftools CPU profile");
	p->drop_frames = mw_profile_intern(p, MW_DROP_CPU);
	p->period = (int64_t)word_at(&w, 3) * 1000;
	size_t cpu = mw_profile_add_type(p, "samples", "count");
	/* Profilers of other things than time write a period of 0 (PHP's memprof: bytes). */
	if (p->period > 0) {
		cpu = mw_profile_add_type(p, "cpu", "nanoseconds");
		p->period_type = (mw_value_type_t){mw_profile_intern(p, "cpu"),
						   mw_profile_intern(p, "nanoseconds")};
	}
	/* Without a trailer the values may not be processor time, because --raw writes any
	 * profile in this form. */
	if (trailer < w.count) {
		p->default_type = (uint32_t)cpu;
		r.at = bytes + (trailer + 3) * w.size;
		mw_lines_take_maps(&r);
	}
	int result = 0;
	trampolines_t trampolines = {.count = 0};
	find_trampolines(p, &w, trailer, &trampolines);
	for (size_t at = HEADER_WORDS; at < trailer && result == 0;
	     at += 2 + (size_t)word_at(&w, at + 1))
		result = take_record(&r, &w, at, &trampolines);
	free(r.frames);
	return result;
}

/* ---- writing ---- */

#define DEFAULT_PERIOD_NS 10000000

static void put_word(mw_output_t *output, uint64_t word) {
	mw_output_write(output, (const char *)&word, sizeof(word));
}

/* Writes a stack; readers subtract 1 from every address but the leaf's. */
static void put_stack(const mw_profile_t *p, size_t sample, uint64_t count, mw_output_t *output) {
	const mw_sample_t *s = &p->samples[sample];
	put_word(output, count);
	put_word(output, s->depth > 0 ? s->depth : 1);
	for (uint32_t i = 0; i < s->depth; i++) {
		uint64_t address = mw_text_address(p, p->frames[s->frame_first + i]);
		put_word(output, i == 0 ? address : address + 1);
	}
	if (s->depth == 0) /* readers refuse a stack without addresses, and one of the address 0 */
		put_word(output, 1);
}

void mw_write_cpu(const mw_profile_t *p, size_t type, mw_output_t *output) {
	const int64_t period_ns = p->period >= 1000 ? p->period : DEFAULT_PERIOD_NS;
	const uint64_t header[HEADER_WORDS] = {0, 3, 0, (uint64_t)period_ns / 1000, 0};
	const uint64_t trailer[] = {0, 1, 0};
	int64_t rest_ns = 0; /* what the counts so far leave out, so that the sum is right */
	for (size_t i = 0; i < HEADER_WORDS; i++)
		put_word(output, header[i]);
	for (size_t i = 0; i < p->sample_count; i++) {
		int64_t time_ns = mw_profile_values(p, i)[type], sum;
		if (time_ns <= 0 || __builtin_add_overflow(rest_ns, time_ns, &sum))
			continue;
		rest_ns = sum % period_ns;
		if (sum >= period_ns)
			put_stack(p, i, (uint64_t)(sum / period_ns), output);
	}
	for (size_t i = 0; i < sizeof(trailer) / sizeof(trailer[0]); i++)
		put_word(output, trailer[i]);
	mw_write_maps(p, output);
}
