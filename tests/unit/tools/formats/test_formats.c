/* SPDX-License-Identifier: MIT
 * test_formats.c -- the rarer inputs: CPU, contention, growth, symbolized, folded, jemalloc's logs;
 * gzip and zstd; each cut short.  The inputs are the fuzzer's: tests/fuzz/corpus/profile. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/read.h"
#include "test.h"

static mw_error_t error;

static char *load(const char *name, size_t *length) {
	char path[1024];
	snprintf(path, sizeof(path), MALLOW_TESTS "/fuzz/corpus/profile/%s", name);
	FILE *file = fopen(path, "rb");
	CHECK(file != NULL);
	char *bytes = calloc(1, 65536);
	CHECK(bytes != NULL);
	*length = fread(bytes, 1, 65535, file);
	CHECK(*length > 0 && fclose(file) == 0);
	return bytes;
}

static mw_profile_t *read_file(const char *name, const char *format) {
	size_t length;
	char *bytes = load(name, &length);
	mw_profile_t *p = NULL;
	if (mw_read_profile_bytes(name, bytes, length, &p, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	CHECK_STR(mw_profile_string(p, p->origin.format), format);
	free(bytes);
	return p;
}

static const char *type_of(const mw_profile_t *p, size_t type) {
	return mw_profile_string(p, p->types[type].type);
}

static const char *function_of(const mw_profile_t *p, size_t sample, uint32_t frame,
			       uint32_t line) {
	const mw_sample_t *s = &p->samples[sample];
	CHECK(frame < s->depth);
	const mw_location_t *l = &p->locations[p->frames[s->frame_first + frame]];
	CHECK(line < l->line_count);
	return mw_profile_string(p, p->functions[p->lines[l->line_first + line].function].name);
}

static uint64_t address_of(const mw_profile_t *p, size_t sample, uint32_t frame) {
	CHECK(frame < p->samples[sample].depth);
	return p->locations[p->frames[p->samples[sample].frame_first + frame]].address;
}

static void check_cpu(const char *name) {
	mw_profile_t *p = read_file(name, "gperftools CPU profile");
	CHECK_EQ(p->sample_count, 2);
	CHECK_STR(type_of(p, p->default_type), "cpu");
	CHECK_EQ(p->period, 10000000);
	CHECK_EQ(mw_profile_values(p, 0)[0], 7);
	CHECK_EQ(mw_profile_values(p, 0)[1], 70000000);
	/* The leaf is exact, and was there twice; its caller is a return address. */
	CHECK_EQ(p->samples[0].depth, 2);
	CHECK_EQ(address_of(p, 0, 0), 0x400100);
	CHECK_EQ(address_of(p, 0, 1), 0x400200);
	CHECK_EQ(p->mapping_count, 2);
	CHECK_EQ(p->locations[1].mapping, 1);
	mw_profile_free(p);
}

static void cpu_profiles_of_any_machine(void) {
	check_cpu("cpu-64");
	check_cpu("cpu-32-big-endian");
}

static void contention_is_scaled(void) {
	mw_profile_t *p = read_file("contention", "contention profile");
	CHECK_STR(type_of(p, p->default_type), "delay");
	CHECK_EQ(p->duration_ns, 5000000000);
	/* 4000 cycles at 2 GHz are 2 us; one in 100 was recorded. */
	CHECK_EQ(mw_profile_values(p, 0)[0], 200);
	CHECK_EQ(mw_profile_values(p, 0)[1], 200000);
	CHECK_EQ(mw_profile_values(p, 1)[1], 50000);
	CHECK_EQ(address_of(p, 0, 0), 0x400100);
	mw_profile_free(p);
}

static void growth_is_complete(void) {
	static const char *const names[] = {"growth", "growth.zst"};
	for (size_t i = 0; i < 2; i++) {
		mw_profile_t *p = read_file(names[i], "gperftools heap profile");
		CHECK_EQ(p->sample_count, 2);
		CHECK_EQ(mw_profile_total(p, p->default_type), 2097152);
		mw_profile_free(p);
	}
}

static void tables_of_symbols_are_used(void) {
	mw_profile_t *p = read_file("symbolized", "gperftools heap profile");
	CHECK_STR(mw_profile_string(p, p->origin.program), "demo");
	CHECK_EQ(mw_profile_total(p, p->default_type), 100);
	/* The innermost function first. */
	CHECK_STR(function_of(p, 0, 0, 0), "inner");
	CHECK_STR(function_of(p, 0, 0, 1), "outer(int)");
	CHECK_STR(function_of(p, 0, 1, 0), "main");
	mw_profile_free(p);
	/* What --raw makes of any profile: no trailer, so the numbers need not be times. */
	p = read_file("symbolized-cpu", "gperftools CPU profile");
	CHECK_STR(type_of(p, p->default_type), "samples");
	CHECK_EQ(mw_profile_total(p, 0), 9);
	CHECK_STR(function_of(p, 0, 0, 0), "work");
	CHECK_STR(function_of(p, 0, 1, 0), "main");
	mw_profile_free(p);
}

static void folded_stacks(void) {
	mw_profile_t *p = read_file("folded", "folded stacks");
	CHECK_EQ(p->sample_count, 3);
	CHECK_EQ(mw_profile_total(p, 0), 43);
	CHECK_EQ(p->samples[2].depth, 4);
	CHECK_STR(function_of(p, 2, 0, 0), "memcpy");
	CHECK_STR(function_of(p, 2, 1, 0), "parse json");
	CHECK_STR(function_of(p, 2, 3, 0), "main");
	/* A function is one location however often it comes. */
	CHECK_EQ(p->location_count, 5);
	mw_profile_free(p);
}

static void allocation_logs(void) {
	mw_profile_t *p = read_file("prof_log.json", "jemalloc prof_log");
	CHECK_EQ(p->sample_count, 2);
	CHECK_STR(type_of(p, p->default_type), "alloc_space");
	CHECK_EQ(p->origin.pid, 77);
	/* 1 KiB at one in 1 KiB: 1 / (1 - 1/e). */
	CHECK_EQ(mw_profile_values(p, 0)[0], 2);
	CHECK_EQ(mw_profile_values(p, 0)[1], 1620);
	CHECK_EQ(mw_profile_values(p, 1)[1], 1048576);
	CHECK_EQ(mw_profile_total(p, 3), 0);
	mw_profile_free(p);
	p = read_file("prof_recent.json", "jemalloc prof_recent");
	CHECK_EQ(mw_profile_total(p, 1), 120);
	CHECK_EQ(mw_profile_total(p, 3), 112);
	CHECK_EQ(address_of(p, 1, 0), 0x400300);
	mw_profile_free(p);
}

/* Every beginning of every input: an error, or a profile; never more. */
static void cut_anywhere(void) {
	static const char *const names[] = {
		"cpu-64",     "cpu-32-big-endian", "contention",    "growth",          "growth.zst",
		"symbolized", "symbolized-cpu",    "prof_log.json", "prof_recent.json"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length, refused = 0;
		char *bytes = load(names[i], &length);
		for (size_t cut = 0; cut < length; cut++) {
			mw_profile_t *p = NULL;
			error.text[0] = '\0';
			if (mw_read_profile_bytes("cut", bytes, cut, &p, &error) == 0) {
				mw_profile_free(p);
				continue;
			}
			CHECK(strncmp(error.text, "cut", 3) == 0);
			CHECK(strchr(error.text, '\n') == NULL);
			refused++;
		}
		CHECK(refused > 0);
		free(bytes);
	}
}

static void check_refused(const char *text, const char *why) {
	mw_profile_t *p = NULL;
	CHECK(mw_read_profile_bytes("bad", text, strlen(text), &p, &error) != 0);
	if (strstr(error.text, why) == NULL)
		fprintf(stderr, "got: %s\n", error.text);
	CHECK(strstr(error.text, why) != NULL);
}

static void bad_content_is_named(void) {
	check_refused("--- contention:\ncycles/second = 0\n1 1 @ 0x1\n", "must be above 0");
	check_refused("--- contention:\nsampling period = x\n", "bad:2: the value is not a number");
	check_refused("--- mutex:\n1 @ 0x1\n", "bad:2: this is not a line of a contention profile");
	check_refused("--- symbol\nbinary=x\nzz top\n", "bad:3: this is not an address");
	check_refused("--- symbol\nbinary=x\n---\n", "it was cut short");
	check_refused("--- symbol\n---\n--- heap\n--- symbol\n",
		      "a table of symbols follows another");
	check_refused("main;run 12\nmain;run\n", "bad:2: this is not a stack followed by a number");
	check_refused("{\"info\":{\"lg_sample_rate\":99}}", "lg_sample_rate is not between");
	check_refused("{\"info\":{\"lg_sample_rate\":9},\"allocations\":[{}]}",
		      "an allocation names a stack that does not exist");
	check_refused("{\"recent_alloc_max\":1,\"recent_alloc\":[{\"alloc_trace\":[\"0xg\"]}]}",
		      "an address of a stack is not a number");
	check_refused("{\"recent_alloc_max\":1,", "bad:1: is not JSON");
}

static int64_t sum_of(const mw_profile_t *p, const char *type) {
	int index = mw_profile_find_type(p, type);
	CHECK(index >= 0);
	return mw_profile_total(p, (size_t)index);
}

static void heaptrack_is_replayed(void) {
	mw_profile_t *p = read_file("heaptrack", "heaptrack");
	CHECK_STR(type_of(p, p->default_type), "inuse_space");
	CHECK_EQ(sum_of(p, "alloc_objects"), 5);
	CHECK_EQ(sum_of(p, "alloc_space"), 4 * 10000 + 24);
	CHECK_EQ(sum_of(p, "inuse_objects"), 2);
	CHECK_EQ(sum_of(p, "inuse_space"), 10024);
	/* Three and the small one, before the last two went. */
	CHECK_EQ(sum_of(p, "peak_objects"), 4);
	CHECK_EQ(sum_of(p, "peak_space"), 30024);
	CHECK_EQ(p->sample_count, 2);
	/* Inlined functions first; a place without a function has its module's name. */
	CHECK_STR(function_of(p, 0, 0, 0), "inner");
	CHECK_STR(function_of(p, 0, 0, 1), "outer");
	CHECK_STR(function_of(p, 0, 1, 0), "main");
	CHECK_STR(function_of(p, 1, 0, 0), "[dem]");
	CHECK_STR(function_of(p, 1, 1, 0), "main");
	mw_profile_free(p);
}

static void massifs_trees_are_turned_around(void) {
	mw_profile_t *p = read_file("massif", "massif");
	CHECK_STR(mw_profile_string(p, p->origin.args), "./demo --fast");
	CHECK_STR(type_of(p, p->default_type), "peak_space");
	CHECK_EQ(sum_of(p, "peak_space"), 1000024);
	CHECK_EQ(sum_of(p, "inuse_space"), 700);
	CHECK_EQ(p->sample_count, 4);
	CHECK_EQ(p->samples[0].depth, 3);
	CHECK_STR(function_of(p, 0, 0, 0), "inner");
	CHECK_STR(function_of(p, 0, 1, 0), "operator()(int)");
	CHECK_STR(function_of(p, 0, 2, 0), "main");
	CHECK_EQ(p->samples[1].depth, 2);
	CHECK_STR(function_of(p, 1, 1, 0), "other");
	CHECK_STR(function_of(p, 2, 0, 0), "in 1 place, below massif's threshold (1.00%)");
	mw_profile_free(p);
}

static void damaged_recordings_are_refused(void) {
	static const char *const bad[] = {
		"v 10400 1\nX a\n",
		"v 10400 3\nX a\ns ff short\n",
		"v 10400 3\nX a\ns 1 a\ni 1 2\n",
		"v 10400 3\nX a\nt 1 0\n",
		"v 10400 3\nX a\ni 1 0\nt 1 1\n",
		"v 10400 3\nX a\ni 1 0\nt 1 0\na 1 2\n",
		"v 10400 3\nX a\n+ 0\n",
		"v 10400 3\nX a\ni 1 0\nt 1 0\na 8000000000000000 1\n",
		"desc: \ncmd: a\n",
		"desc: \nheap_tree=peak\n",
		"desc: \nheap_tree=peak\nn1: 5 (x)\n",
		"desc: \nheap_tree=peak\nn1: 5 (x)\n  n0: 5 y\n",
		"desc: \nheap_tree=peak\nn9999999999999: 5 (x)\n n0: 5 y\n",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		mw_profile_t *p = NULL;
		CHECK_EQ(mw_read_profile_bytes("bad", bad[i], strlen(bad[i]), &p, &error), -1);
		CHECK(strncmp(error.text, "bad:", 4) == 0);
	}
}

int main(void) {
	RUN(cpu_profiles_of_any_machine);
	RUN(contention_is_scaled);
	RUN(growth_is_complete);
	RUN(tables_of_symbols_are_used);
	RUN(folded_stacks);
	RUN(allocation_logs);
	RUN(cut_anywhere);
	RUN(bad_content_is_named);
	RUN(heaptrack_is_replayed);
	RUN(massifs_trees_are_turned_around);
	RUN(damaged_recordings_are_refused);
	return 0;
}
