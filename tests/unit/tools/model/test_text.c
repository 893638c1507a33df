/* SPDX-License-Identifier: MIT
 * test_text.c -- jemalloc's heap_v2 and gperftools' text: read with the right scaling, refused when
 * damaged, written so that jeprof gets the right totals. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake_state.h"
#include "formats/read.h"
#include "formats/state/state_file.h"
#include "formats/write.h"
#include "self_module.h"
#include "test.h"

static mw_error_t error;

static mw_profile_t *read_text(const char *text) {
	mw_profile_t *p = NULL;
	error.text[0] = '\0';
	if (mw_read_profile_bytes("text", text, strlen(text), &p, &error) != 0)
		return NULL;
	return p;
}

static mw_profile_t *read_good(const char *text) {
	mw_profile_t *p = read_text(text);
	if (p == NULL) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	return p;
}

static const char libraries[] =
	"\nMAPPED_LIBRARIES:\n"
	"00400000-00500000 r-xp 00001000 fd:00 1234   /bin/demo\n"
	"00600000-00700000 rw-p 00100000 fd:00 1234   /bin/demo\n"
	"7f0000000000-7f0000100000 r-xp 00000000 fd:00 99 /lib/a b.so (deleted)\n"
	"7ffe00000000-7ffe00001000 r-xp 00000000 00:00 0  [vdso]\n";

static char *with_libraries(const char *text) {
	static char whole[4096];
	snprintf(whole, sizeof(whole), "%s%s", text, libraries);
	return whole;
}

static void jemalloc_is_read(void) {
	mw_profile_t *p = read_good(with_libraries("heap_v2/524288\n"
						   "  t*: 3: 1049600 [5: 2000000]\n"
						   "  t0: 3: 1049600 [5: 2000000] main\n"
						   "@ 0x400100 0x7f0000000200\n"
						   "  t*: 1: 1024 [1: 1024]\n"
						   "  t0: 1: 1024 [1: 1024]\n"
						   "@ 0x400200\n"
						   "  t*: 2: 1048576 [4: 1998976]\n"));
	CHECK_EQ(p->type_count, 4);
	CHECK_EQ(p->sample_count, 2);
	CHECK_EQ(p->period, 524288);
	CHECK_EQ(p->mapping_count, 4);
	/* 1/(1 - exp(-1024/524288)) = 512.5; 1/(1 - exp(-1)) = 1.582. */
	CHECK_NEAR((double)mw_profile_values(p, 0)[2], 513, 1);
	CHECK_NEAR((double)mw_profile_values(p, 0)[3], 524800, 2);
	CHECK_EQ(mw_profile_values(p, 1)[2], 3);
	CHECK_NEAR((double)mw_profile_values(p, 1)[3], 1658823, 2);
	const mw_location_t *caller = &p->locations[p->frames[1]];
	CHECK_EQ(caller->address, 0x7f00000001ff);
	CHECK_STR(mw_profile_string(p, p->mappings[caller->mapping].path), "/lib/a b.so");
	mw_profile_free(p);
}

/* A sample's thread and its values in use. */
static void check_thread(const mw_profile_t *p, size_t sample, const char *name, int64_t id,
			 int64_t objects, int64_t bytes) {
	const mw_sample_t *s = &p->samples[sample];
	const mw_label_t *labels = &p->labels[s->label_first];
	CHECK_EQ(mw_profile_values(p, sample)[0], objects);
	CHECK_EQ(mw_profile_values(p, sample)[1], bytes);
	CHECK_EQ(s->label_count, name != NULL ? 2 : 0);
	if (name == NULL)
		return;
	CHECK_STR(mw_profile_string(p, labels[0].text), name);
	CHECK_STR(mw_profile_string(p, labels[1].key), "thread_id");
	CHECK_EQ(labels[1].number, id);
}

static void threads_of_jemalloc_are_told_apart(void) {
	mw_profile_t *p = read_good("heap_v2/524288\n"
				    "  t*: 8: 1048576 [0: 0]\n"
				    "  t0: 3: 300 [0: 0] main\n"
				    "  t7: 1: 100 [0: 0]\n"
				    "@ 0x400100\n"
				    "  t*: 4: 524288 [0: 0]\n"
				    "  t0: 3: 393216 [0: 0]\n"
				    "  t7: 1: 131072 [0: 0]\n"
				    "@ 0x400200\n"
				    "  t*: 4: 400 [0: 0]\n"
				    "  t7: 1: 100 [0: 0]\n");
	CHECK_EQ(p->sample_count, 4);
	/* 4 / (1 - exp(-1/4)) = 18.08, of which three quarters and one. */
	check_thread(p, 0, "main", 0, 14, 1777655);
	check_thread(p, 1, "thread 7", 7, 4, 592552);
	/* Of one it does not say whose it is: of threads that have ended. */
	check_thread(p, 2, "thread 7", 7, 5244, 524338);
	check_thread(p, 3, NULL, 0, 15730, 1573014);
	/* A thread cannot have more than all. */
	mw_profile_free(p);
	p = read_good("heap_v2/1\n  t*: 1: 50000 [0: 0]\n@ 0x400100\n  t*: 1: 50000 [0: 0]\n"
		      "  t0: 1: 40000 [0: 0]\n  t1: 9: 90000 [0: 0]\n");
	CHECK_EQ(mw_profile_total(p, 1), 50000);
	CHECK_EQ(mw_profile_total(p, 0), 1);
	/* 1 is also what estimates are written with: nobody may call them exact. */
	CHECK_EQ(p->period, 0);
	mw_profile_free(p);
	/* More than any program has is cut as everywhere, not summed beyond the largest number. */
	p = read_good("heap_v2/1\n  t*: 0: 9223372036854775807 [0: 0]\n@ 0x400100\n"
		      "  t*: 0: 9223372036854775807 [0: 0]\n"
		      "  t0: 0: 1000000000000000000 [0: 0]\n"
		      "  t1: 0: 9223372036854775807 [0: 0]\n");
	CHECK_EQ(mw_profile_values(p, 1)[1], ((int64_t)1 << 62) - 1000000000000000000);
	mw_profile_free(p);
}

/* The name of a frame of a sample, and the line in its file. */
static void check_frame(const mw_profile_t *p, size_t sample, uint32_t frame, const char *name,
			const char *file, int64_t number) {
	CHECK(frame < p->samples[sample].depth);
	const mw_location_t *l = &p->locations[p->frames[p->samples[sample].frame_first + frame]];
	CHECK_EQ(l->line_count, 1);
	const mw_line_t *line = &p->lines[l->line_first];
	CHECK_STR(mw_profile_string(p, p->functions[line->function].name), name);
	CHECK_STR(mw_profile_string(p, p->functions[line->function].file), file);
	CHECK_EQ(line->line, number);
}

#define GO_STACK                                                                                   \
	"@ 0x670a05 0x6709b9 0x46b1c1\n"                                                           \
	"#\t0x670a04\tmain.leak+0x64\t\t/src/main.go:5\n"                                          \
	"#\t0x6709b8\tmain.(*T).run+0x18\t/src/main.go:7\n\n"

/* What Go's servers say to ?debug=1. */
static void go_names_its_frames_in_comments(void) {
	static const struct {
		const char *text, *type;
		int64_t total;
	} texts[] = {
		{"heap profile: 1: 8 [1: 8] @ heap/2\n1: 8 [1: 8] " GO_STACK
		 "# runtime.MemStats\n# Alloc = 30033352\n",
		 "inuse_space", 8},
		{"--- mutex:\ncycles/second=1000000000\nsampling period=1\n7 2 " GO_STACK, "delay",
		 7},
		{"goroutine profile: total 3\n3 " GO_STACK, "goroutine", 3},
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		mw_profile_t *p = read_good(texts[i].text);
		CHECK_STR(mw_profile_string(p, p->types[p->default_type].type), texts[i].type);
		CHECK_EQ(mw_profile_total(p, p->default_type), texts[i].total);
		CHECK_EQ(p->sample_count, 1);
		CHECK_EQ(p->samples[0].depth, 2);
		check_frame(p, 0, 0, "main.leak", "/src/main.go", 5);
		check_frame(p, 0, 1, "main.(*T).run", "/src/main.go", 7);
		mw_profile_free(p);
	}
	CHECK(read_text("goroutine profile: total 3\n3 4\n") == NULL);
	CHECK(strstr(error.text, "not a count followed by a stack") != NULL);
}

static void gperftools_is_read(void) {
	mw_profile_t *p =
		read_good(with_libraries("heap profile:      3:     1536 [     9:     9216] @ "
					 "heapprofile\n"
					 "     1:      512 [     3:     3072] @ 0x400100 0x400200\n"
					 "     2:     1024 [     6:     6144] @ 0x400300\n"));
	CHECK_EQ(p->type_count, 4);
	CHECK_EQ(mw_profile_total(p, 0), 9);
	CHECK_EQ(mw_profile_total(p, 1), 9216);
	CHECK_EQ(mw_profile_total(p, 2), 3);
	CHECK_EQ(mw_profile_total(p, 3), 1536);
	CHECK_EQ(p->period, 0);
	mw_profile_free(p);
	/* Sampled, and the second pair repeats the first. */
	p = read_good("heap profile: 2: 1048576 [2: 1048576] @ heap_v2/524288\n"
		      "2: 1048576 [2: 1048576] @ 0x400100\n");
	CHECK_EQ(p->type_count, 2);
	CHECK_STR(mw_profile_string(p, p->types[p->default_type].type), "inuse_space");
	CHECK_NEAR((double)mw_profile_total(p, 1), 1658823, 2);
	mw_profile_free(p);
	p = read_good("heap profile: 2: 1048576 [2: 1048576] @ heap/1048576\n"
		      "2: 1048576 [2: 1048576] @ 0x400100\n");
	CHECK_NEAR((double)mw_profile_total(p, 1), 1658823, 2);
	mw_profile_free(p);
}

static void frames_of_allocators_are_dropped(void) {
	mw_profile_t *p = read_good(
		"heap_v2/1\n t*: 3: 300 [0: 0]\n"
		"@ 0x7f0000000100 0x7f0000000200 0x400100\n t*: 1: 100 [0: 0]\n"
		"@ 0x7f0000000100 0x7f0000000200\n t*: 2: 200 [0: 0]\n"
		"\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00001000 fd:00 1 /bin/demo\n"
		"7f0000000000-7f0000100000 r-xp 00000000 fd:00 2 /usr/lib/libjemalloc.so.2\n");
	CHECK_EQ(p->samples[0].depth, 1);
	CHECK_EQ(p->locations[p->frames[p->samples[0].frame_first]].address, 0x4000ff);
	/* What is left of a stack is never nothing. */
	CHECK_EQ(p->samples[1].depth, 1);
	CHECK_EQ(mw_profile_total(p, 1), 300);
	mw_profile_free(p);
}

static void damaged_text_is_refused(void) {
	static const char *const bad[][2] = {
		{"heap_v2/\n", "text:1: heap_v2/ is not followed"},
		{"heap_v2/0\n", "text:1: heap_v2/ is not followed"},
		{"heap_v2/1\n", "it ends before the total"},
		{"heap_v2/1\n@ 0x1\n", "text:2: a stack comes before the total"},
		{"heap_v2/1\n t*: 1: 2\n", "text:2: these are not counts"},
		{"heap_v2/1\n t*: 1: 2 [0: 0]\n@ zzz\n",
		 "text:3: an address of a stack is not a number"},
		{"heap_v2/1\n t*: 1: 2 [0: 0]\n@ -1\n", "not a number"},
		{"heap_v2/1\n t*: 1: 2 [0: 0]\n@ 0xffffffffffffffffff\n", "not a number"},
		{"heap_v2/1\nhello\n", "text:2: this is not a line of a heap_v2 profile"},
		{"heap profile: x\n", "not followed by the totals"},
		{"heap profile: 1: 2 [3: 4] @ heap_v2/x\n", "are not a number"},
		{"heap profile: 1: 2 [3: 4] @ heapprofile\n1: 2 [3: 4]\n",
		 "text:2: this is not a line of a heap profile"},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(read_text(bad[i][0]) == NULL);
		if (strstr(error.text, bad[i][1]) == NULL) {
			fprintf(stderr, "\"%s\" gives \"%s\"\n", bad[i][0], error.text);
			exit(1);
		}
	}
	/* Numbers too large for 64 bits are as large as can be. */
	mw_profile_t *p = read_good("heap profile: 1: 2 [3: 4] @ heapprofile\n"
				    "99999999999999999999: 99999999999999999999 [0: 0] @ 0x1\n");
	CHECK_EQ(mw_profile_values(p, 0)[3], INT64_MAX);
	mw_profile_free(p);
}

static __attribute__((noinline)) uint64_t small_objects(void) {
	uint64_t pc = self_pc();
	__asm__ volatile("" ::: "memory");
	return pc;
}

static __attribute__((noinline)) uint64_t mixed_objects(void) {
	uint64_t pc = self_pc();
	__asm__ volatile("" ::: "memory");
	return pc;
}

/* One stack of small objects, one of mixed sizes at an average that no single size has. */
static mw_profile_t *make_profile(const char *state_path) {
	fake_state_t s;
	self_module_t self;
	self_module_find(&self);
	fake_state_init(&s);
	uint32_t m = fake_state_add_module(&s, self.path, self.start, self.limit, self.file_offset,
					   self.bias, self.build_id);
	uint64_t small[] = {fake_frame(m, small_objects() - self.bias)};
	uint64_t mixed[] = {fake_frame(m, mixed_objects() - self.bias),
			    fake_frame(m, small_objects() - self.bias)};
	fake_state_add_stack(&s, small, 1, 131072, 2 << 20, 0);
	uint32_t second = fake_state_add_stack(&s, mixed, 2, 32776.5, 6 << 20, 3.0);
	s.stacks[second].alloc_bytes = 10 << 20;
	s.stacks[0].live_bytes = s.stacks[0].alloc_bytes = 1 << 20;
	s.stacks[0].live_objects_q16 = s.stacks[0].alloc_objects_q16 = 65536;
	fake_state_save(&s, state_path);
	fake_state_release(&s);
	mw_profile_t *p;
	CHECK(mw_read_profile(state_path, &p, &error) == 0);
	return p;
}

static void check_round_trip(mw_format_t format) {
	char path[] = "/tmp/mallow-test-text.XXXXXX";
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	mw_profile_t *p = make_profile(path), *again;
	CHECK(mw_write_profile(p, path, format, MW_GZIP_BY_NAME, &error) == 0);
	CHECK(mw_read_profile(path, &again, &error) == 0);
	for (size_t type = 0; type < 4; type++) {
		double want = (double)mw_profile_total(p, type);
		CHECK_NEAR((double)mw_profile_total(again, type), want, want * 1e-5);
	}
	mw_profile_free(again);
	mw_profile_free(p);
	unlink(path);
}

static void what_is_written_is_read(void) {
	check_round_trip(MW_FORMAT_JEMALLOC);
	check_round_trip(MW_FORMAT_GPERFTOOLS);
}

/* Runs jeprof; checks its total and that `row` is there. */
static void check_jeprof(const char *path, const char *type, const char *total, const char *row) {
	char command[1200], output[16384] = "";
	self_module_t self;
	self_module_find(&self);
	snprintf(command, sizeof(command), "jeprof --text --%s %s %s 2>/dev/null", type, self.path,
		 path);
	FILE *pipe = popen(command, "r");
	CHECK(pipe != NULL);
	output[fread(output, 1, sizeof(output) - 1, pipe)] = '\0';
	CHECK(pclose(pipe) == 0);
	if (strstr(output, total) == NULL || strstr(output, row) == NULL) {
		fprintf(stderr, "%s: \"%s\" or \"%s\" is not in\n%s", type, total, row, output);
		exit(1);
	}
}

static void jeprof_agrees(void) {
	if (system("command -v jeprof >/dev/null 2>&1") != 0) {
		printf("skipped: jeprof is not installed\n");
		return;
	}
	static const mw_format_t formats[] = {MW_FORMAT_JEMALLOC, MW_FORMAT_GPERFTOOLS};
	for (size_t i = 0; i < 2; i++) {
		char path[] = "/tmp/mallow-test-text.XXXXXX";
		int fd = mkstemp(path);
		CHECK(fd >= 0);
		close(fd);
		mw_profile_t *p = make_profile(path);
		CHECK(mw_write_profile(p, path, formats[i], MW_GZIP_BY_NAME, &error) == 0);
		check_jeprof(path, "inuse_space", "Total: 9.0 MB", "mixed_objects");
		check_jeprof(path, "inuse_objects", "Total: 163850", "small_objects");
		check_jeprof(path, "alloc_space", "Total: 13.0 MB", "mixed_objects");
		mw_profile_free(p);
		unlink(path);
	}
}

/* Lines and bytes changed at random, from a fixed seed. */
static void random_text_does_no_harm(void) {
	char good[4096], bad[4096];
	snprintf(good, sizeof(good),
		 "heap_v2/524288\n t*: 1: 2 [3: 4]\n@ 0x400100 0x7f0000000200\n"
		 "  t*: 1: 1024 [1: 1024]\n%s",
		 libraries);
	size_t length = strlen(good);
	static const char letters[] = "@:[]/t* \n0x-9f\r\t";
	srand(20240604);
	for (int round = 0; round < 20000; round++) {
		memcpy(bad, good, length + 1);
		for (int k = rand() % 6; k >= 0; k--)
			bad[9 + (size_t)rand() % (length - 9)] =
				letters[(size_t)rand() % (sizeof(letters) - 1)];
		mw_profile_free(read_text(bad));
	}
}

int main(void) {
	RUN(jemalloc_is_read);
	RUN(threads_of_jemalloc_are_told_apart);
	RUN(go_names_its_frames_in_comments);
	RUN(gperftools_is_read);
	RUN(frames_of_allocators_are_dropped);
	RUN(damaged_text_is_refused);
	RUN(what_is_written_is_read);
	RUN(jeprof_agrees);
	RUN(random_text_does_no_harm);
	return 0;
}
