/* SPDX-License-Identifier: MIT
 * test_text_variants.c -- text formats as other programs write them: titles and lines of mappings,
 * negative counts, log prefixes, folded stacks in any dress; CPU profiles with trampolines, and
 * without a period. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "formats/read.h"
#include "test.h"

static mw_error_t error;

static mw_profile_t *read_bytes(const void *bytes, size_t length) {
	mw_profile_t *p = NULL;
	error.text[0] = '\0';
	if (mw_read_profile_bytes("text", bytes, length, &p, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	return p;
}

static mw_profile_t *read_text(const char *text) {
	return read_bytes(text, strlen(text));
}

static void refused(const char *text, const char *why) {
	mw_profile_t *p = NULL;
	CHECK_EQ(mw_read_profile_bytes("text", text, strlen(text), &p, &error), -1);
	if (strstr(error.text, why) == NULL) {
		fprintf(stderr, "\"%s\" does not say \"%s\"\n", error.text, why);
		exit(1);
	}
}

/* Path of the mapping of a sample's frame. */
static const char *file_of(const mw_profile_t *p, size_t sample, uint32_t frame) {
	CHECK(frame < p->samples[sample].depth);
	const mw_location_t *l = &p->locations[p->frames[p->samples[sample].frame_first + frame]];
	return mw_profile_string(p, p->mappings[l->mapping].path);
}

#define STACK "     3:  3072 [     3:  3072] @ 0x401010 0x7f0000000020\n"
#define HEAP "heap profile:      3:  3072 [     3:  3072] @ heapprofile\n" STACK

/* Reads the heap profile with these mappings and compares the files of its two frames. */
static void check_files(const char *mappings, const char *first, const char *second) {
	char text[2048];
	snprintf(text, sizeof(text), HEAP "%s", mappings);
	mw_profile_t *p = read_text(text);
	CHECK_EQ(p->sample_count, 1);
	CHECK_STR(file_of(p, 0, 0), first);
	CHECK_STR(file_of(p, 0, 1), second);
	mw_profile_free(p);
}

static void mappings_have_either_title(void) {
	static const char *const titles[] = {
		"\nMAPPED_LIBRARIES:\n", "--- Memory map: ---\n", "\n--- Memory map: ---\n",
		"I0521 12:03:04.5 77 heap.cc:9] --- Memory map: ---\n"};
	char text[512];
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
		snprintf(text, sizeof(text),
			 "%s00400000-00500000 r-xp 00000000 08:01 77 /srv/a b\n"
			 "7f0000000000-7f0000100000 r-xp 00001000 08:01 78 /lib/c.so (deleted)\n",
			 titles[i]);
		check_files(text, "/srv/a b", "/lib/c.so");
	}
}

static void lines_of_mappings_have_a_short_form(void) {
	check_files("--- Memory map: ---\n"
		    "  00400000-00500000: /srv/server\n"
		    "  7f0000000000-7f0000100000: /lib/libc-2.15.so\n",
		    "/srv/server", "/lib/libc-2.15.so");
	check_files("--- Memory map: ---\n"
		    "0x400000-0x500000: /srv/server @1000 0123abcd\n"
		    "7f0000000000-7f0000100000 r-xp /lib/c.so\n",
		    "/srv/server", "/lib/c.so");
	/* Rights without x are those of data; the last value of a name counts. */
	check_files("--- Memory map: ---\n"
		    "build = /old\n"
		    "lib=/usr/lib\n"
		    "build=/srv/app\n"
		    "00400000-00500000 rw-p 00000000 08:01 77 /data\n"
		    "00400000-00500000: $build/server\n"
		    "7f0000000000-7f0000100000: $lib/c.so\n",
		    "/srv/app/server", "/usr/lib/c.so");
	check_files("--- Memory map: ---\n"
		    "I0521 12:03:04.5 77 maps.cc:9]   00400000-00500000: /srv/server\n"
		    "nonsense\n=\n$\n-\n00500000-00400000: /turned\n",
		    "/srv/server", "");
	mw_profile_t *p = read_text(HEAP "--- Memory map: ---\n00400000-00500000: /s @1f00 0aBc\n");
	CHECK_EQ(p->mappings[1].offset, 0x1f00);
	CHECK_STR(mw_profile_string(p, p->mappings[1].build_id), "0a");
	mw_profile_free(p);
}

static void titles_are_lines(void) {
	/* In a name the words are no title. */
	mw_profile_t *p = read_text("f;--- Memory map: --- 3\ng;MAPPED_LIBRARIES: 4\n");
	CHECK_EQ(p->sample_count, 2);
	mw_profile_free(p);
	p = read_text("--- contention:\ncycles/second = 1000000000\nsampling period = 1\n"
		      "  5000000       2 @ 0x401010 0x402020\n"
		      "--- Memory map: ---\n  00400000-00500000: /srv/app/server\n");
	CHECK_EQ(p->sample_count, 1);
	CHECK_STR(file_of(p, 0, 1), "/srv/app/server");
	CHECK_EQ(mw_profile_total(p, 1), 5000000);
	mw_profile_free(p);
}

static void counts_may_be_negative(void) {
	mw_profile_t *p = read_text("heap profile: 3: 3000 [ 5: 9000] @ heapprofile\n"
				    "    -1:   -1024 [     1:  2000] @ 0x401010\n"
				    "    -2:     500 [     1:  2000] @ 0x401020\n"
				    "     6:    3524 [     3:  5000] @ 0x401030\n");
	CHECK_EQ(p->sample_count, 3);
	CHECK_EQ(mw_profile_total(p, 2), 3);
	CHECK_EQ(mw_profile_total(p, 3), 3000);
	CHECK_EQ(mw_profile_values(p, 0)[3], -1024);
	mw_profile_free(p);
	/* Sampled: scaled by the factor of positive counts. */
	p = read_text("heap profile: 1: 1 [ 0: 0] @ heap_v2/1024\n"
		      "    -1:   -1024 [     0:  0] @ 0x401010\n"
		      "     1:    1024 [     0:  0] @ 0x401020\n");
	CHECK_EQ(mw_profile_values(p, 0)[1], -1620);
	CHECK_EQ(mw_profile_values(p, 1)[1], 1620);
	mw_profile_free(p);
	refused("heap profile: 1: 1 [ 1: 1] @ heapprofile\n 1: - [ 1: 1] @ 0x1\n",
		"not a line of a heap profile");
	refused("heap profile: 1: 1 [ 1: 1] @ heapprofile\n 1: 1 [ -1: 1] @ 0x1\n",
		"not a line of a heap profile");
}

static void lines_may_come_from_a_log(void) {
#define LOG "W1126 23:59:59.123456  4711 heap-profiler.cc:300] "
	mw_profile_t *p = read_text(
		LOG "heap profile: 3: 3072 [ 3: 3072] @ heapprofile\n" LOG STACK LOG "\n" LOG
		    "MAPPED_LIBRARIES:\n" LOG "00400000-00500000 r-xp 00000000 08:01 77 /srv/a\n");
	CHECK_EQ(mw_profile_total(p, 1), 3072);
	CHECK_STR(file_of(p, 0, 0), "/srv/a");
	mw_profile_free(p);
	p = read_text("--- contention:\n" LOG "sampling period = 10\n" LOG "7 2 @ 0x401010\n");
	CHECK_EQ(mw_profile_total(p, 0), 20);
	mw_profile_free(p);
}

/* "type=total" for each type, then the stacks' depths. */
static void a_mark_of_utf8_is_no_text(void) {
	mw_profile_t *p = read_text("\xef\xbb\xbfmain;f 3\n");
	const mw_location_t *outermost = &p->locations[p->frames[p->samples[0].frame_first + 1]];
	const mw_line_t *line = &p->lines[outermost->line_first];
	CHECK_STR(mw_profile_string(p, p->functions[line->function].name), "main");
	mw_profile_free(p);
	p = read_text("\xef\xbb\xbf" HEAP);
	CHECK_EQ(p->sample_count, 1);
	mw_profile_free(p);
	refused("\xff\xfem", "UTF-16");
	refused("\xfe\xffm", "UTF-16");
	refused("\xef\xbb\xbf", "is empty");
}

static void check_folded(const char *text, const char *want) {
	char got[256] = "";
	mw_profile_t *p = read_text(text);
	for (size_t i = 0; i < p->type_count; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s=%" PRId64 " ",
			 mw_profile_string(p, p->types[i].type), mw_profile_total(p, i));
	for (size_t i = 0; i < p->sample_count; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%" PRIu32,
			 p->samples[i].depth);
	CHECK_STR(got, want);
	mw_profile_free(p);
}

static void folded_stacks_in_any_dress(void) {
	check_folded("main;f 3\nmain;g 4\n", "samples=7 22");
	check_folded("main;f 3\r\n\r\nmain;g;h 4\r\n", "samples=7 23");
	check_folded("main;f\t3\nmain;g \t 4", "samples=7 22");
	check_folded("# made by a tool\n\n  \n#x;y 9\nmain;f 3\n# more\nmain;g 4\n",
		     "samples=7 22");
	/* Decimals: of milliseconds, which may be rounded. */
	check_folded("main;f 300.4\nmain;g 99.6\nmain;h 100\n", "samples=500 222");
	/* A name may end like a number, and a frame may be one. */
	check_folded("main;operator 5 3\nmain;g 4\n", "samples=7 22");
	check_folded("main;5 3\nmain;7 4\n", "samples=7 22");
	check_folded("main;f 9007199254740993\nmain;g 0\n", "samples=9007199254740993 22");
	/* Two numbers in each line: before and after. */
	check_folded("main;f 3 10\nmain;g 0 4\n", "before=3 after=14 22");
	check_folded("main;f\t3\t10\r\n", "before=3 after=10 2");
	refused("main;f 0.4\nmain;g 0.3\n", "decimals");
	refused("main;f 3\nmain;g\n", "not a stack followed by a number");
	refused("main;f 3\nmain;g 1.2.3\n", "not a stack followed by a number");
	refused("main;f 3\nmain;g 1.\n", "not a stack followed by a number");
	/* What `mallow collapsed --base` writes. */
	check_folded("main;f -3\nmain;g 10\n", "samples=7 22");
	check_folded("main;f 300.4\nmain;g -99.6\n", "samples=200 22");
	check_folded("main;f 3 -1\nmain;g -2 4\n", "before=1 after=3 22");
	refused("main;f --4\n", "not a profile");
	refused("main;f 1e30\n", "1: its number has an exponent; write it in digits");
	refused("main;f 3\nmain;g -1.5E+3\n", "2: its number has an exponent");
	refused("main;f 18446744073709551616\n", "1: its number is above 2^62");
	refused("main;f -4611686018427387905\n", "1: its number is above 2^62");
	refused("main;f 3 99999999999999999999999999999999\n", "1: its number is above 2^62");
	refused("main;f 4611686018427387904\nmain;g 4611686018427387904\n",
		"2: the numbers up to here add up to more than 2^63");
}

/* ---- CPU profiles ---- */

#define LEAF 0x500000
#define MAPPINGS                                                                                   \
	"00400000-00900000 r-xp 00000000 08:01 77 /srv/a\n"                                        \
	"7f0000000000-7f0000100000 r-xp 00000000 08:01 78 /lib/libc.so.6\n"

/* `behind` are the words behind the leaf in each of 40 records: {LEAF + 16 * i, behind...,
 * 0x600000} where 1 stands for the leaf. Returns the depth of the stacks, which must be equal. */
static unsigned depth_of(const uint64_t *behind, size_t count, uint64_t period) {
	enum { RECORDS = 40 };
	static uint64_t words[4096];
	size_t used = 0;
	const uint64_t header[] = {0, 3, 0, period, 0}, trailer[] = {0, 1, 0};
	memcpy(words, header, sizeof(header));
	used = 5;
	for (uint64_t i = 0; i < RECORDS; i++) {
		words[used++] = 2;
		words[used++] = count + 2;
		words[used++] = LEAF + 16 * i;
		for (size_t k = 0; k < count; k++)
			words[used++] = behind[k] == 1 ? LEAF + 16 * i : behind[k];
		words[used++] = 0x600000 + 16 * i;
	}
	memcpy(words + used, trailer, sizeof(trailer));
	used += 3;
	memcpy(words + used, MAPPINGS, strlen(MAPPINGS));
	mw_profile_t *p = read_bytes(words, used * sizeof(uint64_t) + strlen(MAPPINGS));
	CHECK_EQ(p->sample_count, RECORDS);
	CHECK_EQ(mw_profile_total(p, 0), 2 * RECORDS);
	CHECK_EQ(p->type_count, period > 0 ? 2 : 1);
	unsigned depth = p->samples[0].depth;
	for (size_t i = 0; i < p->sample_count; i++)
		CHECK_EQ(p->samples[i].depth, depth);
	CHECK_EQ(p->locations[p->frames[p->samples[3].frame_first]].address, LEAF + 16 * 3);
	mw_profile_free(p);
	return depth;
}

static void trampolines_are_left_out(void) {
	const uint64_t in_libc = 0x7f0000000500, in_program = 0x700000, nowhere = 0x10;
	CHECK_EQ(depth_of(NULL, 0, 10000), 2);
	CHECK_EQ(depth_of((uint64_t[]){in_libc}, 1, 10000), 2);
	CHECK_EQ(depth_of((uint64_t[]){nowhere, in_libc}, 2, 10000), 2);
	CHECK_EQ(depth_of((uint64_t[]){in_libc, 1}, 2, 10000), 2);
	/* In a static program the leaf behind it tells it from a caller. */
	CHECK_EQ(depth_of((uint64_t[]){in_program, 1}, 2, 10000), 2);
	CHECK_EQ(depth_of((uint64_t[]){1}, 1, 10000), 2);
	/* The caller of a hot loop stays. */
	CHECK_EQ(depth_of((uint64_t[]){in_program}, 1, 10000), 3);
	CHECK_EQ(depth_of((uint64_t[]){in_program, 1, in_program}, 3, 10000), 3);
}

static void a_period_of_0_is_no_time(void) {
	CHECK_EQ(depth_of(NULL, 0, 0), 2);
}

int main(void) {
	RUN(mappings_have_either_title);
	RUN(lines_of_mappings_have_a_short_form);
	RUN(titles_are_lines);
	RUN(counts_may_be_negative);
	RUN(lines_may_come_from_a_log);
	RUN(a_mark_of_utf8_is_no_text);
	RUN(folded_stacks_in_any_dress);
	RUN(trampolines_are_left_out);
	RUN(a_period_of_0_is_no_time);
	return 0;
}
