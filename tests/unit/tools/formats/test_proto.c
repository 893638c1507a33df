/* SPDX-License-Identifier: MIT
 * test_proto.c -- profile.proto written and read back, and read by `go tool pprof`; damaged files.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "fake_state.h"
#include "formats/read.h"
#include "formats/state/state_file.h"
#include "formats/write.h"
#include "self_module.h"
#include "symbol/symbolize.h"
#include "test.h"

static char directory[] = "/tmp/mallow-test-proto.XXXXXX";
static mw_error_t error;

static __attribute__((noinline)) uint64_t first_allocator(void) {
	uint64_t pc = self_pc();
	__asm__ volatile("" ::: "memory");
	return pc;
}

static __attribute__((noinline)) uint64_t second_allocator(void) {
	uint64_t pc = self_pc();
	__asm__ volatile("" ::: "memory");
	return pc;
}

static const char *in_directory(const char *name) {
	static char path[256];
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* Two functions of this test; 3 MiB and 1 MiB, some zero-size requests, a few left over. */
static mw_profile_t *make_profile(void) {
	fake_state_t s;
	self_module_t self;
	self_module_find(&self);
	fake_state_init(&s);
	snprintf(s.header->exe, sizeof(s.header->exe), "%s", self.path);
	uint32_t m = fake_state_add_module(&s, self.path, self.start, self.limit, self.file_offset,
					   self.bias, self.build_id);
	uint64_t first[] = {fake_frame(m, first_allocator() - self.bias),
			    fake_frame(m, second_allocator() - self.bias)};
	fake_state_add_stack(&s, first, 2, 300.4, 3 << 20, 2.0);
	uint32_t second = fake_state_add_stack(&s, first + 1, 1, 100, 1 << 20, 0);
	s.stacks[second].alloc_bytes = 5 << 20;
	s.stacks[second].alloc_objects_q16 = (int64_t)500 << 16;
	s.stacks[0].live_bytes = s.stacks[0].alloc_bytes = 4096; /* stack unknown */
	s.stacks[0].live_objects_q16 = s.stacks[0].alloc_objects_q16 = 65536;
	fake_state_save(&s, in_directory("state"));
	fake_state_release(&s);
	mw_profile_t *p;
	if (mw_read_profile(in_directory("state"), &p, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	return p;
}

static void check_same(const mw_profile_t *a, const mw_profile_t *b) {
	CHECK_EQ(a->type_count, b->type_count);
	CHECK_EQ(a->default_type, b->default_type);
	CHECK_EQ(a->sample_count, b->sample_count);
	CHECK_EQ(a->location_count, b->location_count);
	CHECK_EQ(a->mapping_count, b->mapping_count);
	CHECK_EQ(a->function_count, b->function_count);
	CHECK_EQ(a->time_ns, b->time_ns);
	CHECK_EQ(a->duration_ns, b->duration_ns);
	CHECK_EQ(a->period, b->period);
	CHECK_EQ(a->origin.pid, b->origin.pid);
	CHECK_EQ(a->origin.live_samples, b->origin.live_samples);
	CHECK_STR(mw_profile_string(b, b->origin.program), "demo");
	CHECK_STR(mw_profile_string(b, b->origin.args), "demo --fast");
	for (size_t i = 0; i < a->sample_count; i++) {
		for (size_t k = 0; k < a->type_count; k++)
			CHECK_EQ(mw_profile_values(a, i)[k], mw_profile_values(b, i)[k]);
		CHECK_EQ(a->samples[i].depth, b->samples[i].depth);
		CHECK_EQ(mw_profile_is_zero_request(a, &a->samples[i]),
			 mw_profile_is_zero_request(b, &b->samples[i]));
		for (uint32_t k = 0; k < a->samples[i].depth; k++)
			CHECK_EQ(a->locations[a->frames[a->samples[i].frame_first + k]].address,
				 b->locations[b->frames[b->samples[i].frame_first + k]].address);
	}
	for (size_t i = 1; i < a->function_count; i++)
		CHECK_STR(mw_profile_string(a, a->functions[i].name),
			  mw_profile_string(b, b->functions[i].name));
	for (size_t i = 1; i < a->mapping_count; i++) {
		CHECK_EQ(a->mappings[i].start, b->mappings[i].start);
		CHECK_EQ(a->mappings[i].offset, b->mappings[i].offset);
		CHECK_EQ(a->mappings[i].has_functions, b->mappings[i].has_functions);
		CHECK_STR(mw_profile_string(a, a->mappings[i].build_id),
			  mw_profile_string(b, b->mappings[i].build_id));
	}
}

static bool is_gzip(const char *path) {
	unsigned char head[2] = {0};
	FILE *file = fopen(path, "rb");
	CHECK(file != NULL && fread(head, 1, 2, file) == 2);
	fclose(file);
	return head[0] == 0x1f && head[1] == 0x8b;
}

static void what_is_written_is_read(void) {
	mw_profile_t *p = make_profile(), *again;
	CHECK_EQ(mw_symbolize(p, NULL).unresolved, 0);
	static const char *const names[] = {"a.pb.gz", "a.pb"};
	for (int i = 0; i < 2; i++) {
		const char *path = in_directory(names[i]);
		CHECK(mw_write_profile(p, path, MW_FORMAT_PROTO, MW_GZIP_BY_NAME, &error) == 0);
		CHECK(is_gzip(path) == (i == 0));
		CHECK(mw_read_profile(path, &again, &error) == 0);
		check_same(p, again);
		mw_profile_free(again);
	}
	mw_profile_free(p);
}

static void writing_is_all_or_nothing(void) {
	mw_profile_t *p = make_profile();
	CHECK(mw_write_profile(p, "/nonexistent/x.pb", MW_FORMAT_PROTO, 0, &error) != 0);
	CHECK_STR(error.text, "/nonexistent/x.pb: cannot write: No such file or directory");
	CHECK(mw_write_profile(p, directory, MW_FORMAT_PROTO, 0, &error) != 0);
	CHECK(strstr(error.text, "Is a directory") != NULL);
	/* A device stays one. */
	CHECK(mw_write_profile(p, "/dev/null", MW_FORMAT_PROTO, 0, &error) == 0);
	struct stat file;
	CHECK(stat("/dev/null", &file) == 0 && S_ISCHR(file.st_mode));
	if (access("/dev/full", W_OK) == 0) {
		CHECK(mw_write_profile(p, "/dev/full", MW_FORMAT_PROTO, 0, &error) != 0);
		CHECK_STR(error.text, "/dev/full: cannot write: No space left on device");
	}
	/* A link leads to the new file, and is still a link. */
	char link_path[256];
	snprintf(link_path, sizeof(link_path), "%s/link.pb", directory);
	CHECK(symlink("a.pb", link_path) == 0);
	CHECK(mw_write_profile(p, link_path, MW_FORMAT_PROTO, MW_GZIP_OFF, &error) == 0);
	CHECK(lstat(link_path, &file) == 0 && S_ISLNK(file.st_mode));
	char command[400];
	snprintf(command, sizeof(command), "ls %s/*.tmp 2>/dev/null", directory);
	CHECK(system(command) != 0); /* no temporary file is left */
	mw_profile_free(p);
}

static unsigned char *load(const char *path, size_t *length) {
	FILE *file = fopen(path, "rb");
	struct stat status;
	CHECK(file != NULL && fstat(fileno(file), &status) == 0);
	*length = (size_t)status.st_size;
	unsigned char *bytes = malloc(*length + 1);
	CHECK(bytes != NULL && fread(bytes, 1, *length, file) == *length);
	fclose(file);
	return bytes;
}

static void damaged_files_do_no_harm(void) {
	size_t length;
	unsigned char *good = load(in_directory("a.pb"), &length), *bad = malloc(length);
	CHECK(bad != NULL);
	mw_profile_t *p;
	for (size_t cut = 0; cut < length; cut += 7)
		if (mw_read_profile_bytes("cut", good, cut, &p, &error) == 0)
			mw_profile_free(p);
	srand(20240603);
	for (int round = 0; round < 5000; round++) {
		memcpy(bad, good, length);
		for (int k = rand() % 16; k >= 0; k--)
			bad[(size_t)rand() % length] = (unsigned char)rand();
		if (mw_read_profile_bytes("bad", bad, length, &p, &error) == 0)
			mw_profile_free(p);
	}
	free(bad);
	free(good);
	good = load(in_directory("a.pb.gz"), &length);
	for (size_t cut = 2; cut < length; cut += 5) {
		CHECK(mw_read_profile_bytes("cut", good, cut, &p, &error) != 0);
		CHECK(strstr(error.text, "cut short") != NULL);
	}
	free(good);
	CHECK(mw_read_profile_bytes("text", "hello world\n", 12, &p, &error) != 0);
	CHECK(strstr(error.text, "text: is not a profile that mallow can read") != NULL);
}

/* 100 MiB of zeros in 100 KiB. */
static void bombs_are_refused(void) {
	static unsigned char zeros[1 << 20], packed[1 << 20];
	z_stream stream = {.next_out = packed, .avail_out = sizeof(packed)};
	CHECK(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) == Z_OK);
	for (int i = 0; i < 100; i++) {
		stream.next_in = zeros;
		stream.avail_in = sizeof(zeros);
		CHECK(deflate(&stream, i == 99 ? Z_FINISH : Z_NO_FLUSH) != Z_STREAM_ERROR);
	}
	size_t length = sizeof(packed) - stream.avail_out;
	deflateEnd(&stream);
	mw_profile_t *p;
	CHECK(mw_read_profile_bytes("bomb", packed, length, &p, &error) != 0);
	CHECK_STR(error.text, "bomb: unpacks to more than 16 MiB, which no real profile of its "
			      "size does; mallow does not read it");
}

/* The first line of a command's output that holds `text`; "" if there is none. */
static void find_output(const char *command, const char *text, char *line, size_t size) {
	FILE *pipe = popen(command, "r");
	CHECK(pipe != NULL);
	char buffer[4096];
	line[0] = '\0';
	while (fgets(buffer, sizeof(buffer), pipe) != NULL)
		if (line[0] == '\0' && strstr(buffer, text) != NULL)
			snprintf(line, size, "%s", buffer);
	CHECK(pclose(pipe) == 0);
}

static void check_pprof(const char *type, const char *total, const char *row) {
	char command[1024], line[4096];
	snprintf(command, sizeof(command),
		 "HOME=%s GOFLAGS= GOTOOLCHAIN=local go tool pprof -top -sample_index=%s "
		 "-symbolize=none -nodefraction=0 %s %s/a.pb.gz 2>&1",
		 directory, type, strstr(type, "space") != NULL ? "-unit=kB" : "", directory);
	find_output(command, "accounting for", line, sizeof(line));
	if (strstr(line, total) == NULL) {
		fprintf(stderr, "%s: pprof says \"%s\", not \"%s\"\n", type, line, total);
		exit(1);
	}
	find_output(command, row, line, sizeof(line));
	CHECK(line[0] != '\0');
}

static void go_pprof_agrees(void) {
	if (system("command -v go >/dev/null 2>&1") != 0) {
		printf("skipped: go is not installed\n");
		return;
	}
	check_pprof("inuse_space", "of 4100kB total", "first_allocator");
	check_pprof("inuse_objects", "of 401 total", "second_allocator");
	check_pprof("alloc_space", "of 8196kB total", "first_allocator");
	check_pprof("alloc_objects", "of 801 total", "[stack unknown]");
}

/* Without symbols of ours pprof looks them up itself: our addresses and mappings fit the file. */
static void go_pprof_finds_symbols(void) {
	if (system("command -v go >/dev/null 2>&1 && command -v addr2line >/dev/null 2>&1") != 0) {
		printf("skipped: go and addr2line are not both installed\n");
		return;
	}
	mw_profile_t *p = make_profile();
	const char *path = in_directory("raw.pb");
	CHECK(mw_write_profile(p, path, MW_FORMAT_PROTO, MW_GZIP_BY_NAME, &error) == 0);
	mw_profile_free(p);
	char command[1024], line[4096];
	snprintf(command, sizeof(command),
		 "HOME=%s GOTOOLCHAIN=local go tool pprof -top -symbolize=local %s 2>&1", directory,
		 path);
	find_output(command, "first_allocator", line, sizeof(line));
	CHECK(strstr(line, "75%") != NULL || strstr(line, "74.") != NULL);
}

int main(void) {
	CHECK(mkdtemp(directory) != NULL);
	RUN(what_is_written_is_read);
	RUN(writing_is_all_or_nothing);
	RUN(damaged_files_do_no_harm);
	RUN(bombs_are_refused);
	RUN(go_pprof_agrees);
	RUN(go_pprof_finds_symbols);
	char command[300];
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	CHECK(system(command) == 0);
	return 0;
}
