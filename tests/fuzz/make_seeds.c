/* SPDX-License-Identifier: MIT
 * make_seeds.c -- writes the first inputs of the fuzz targets: make_seeds STATE_DIR PROFILE_DIR
 * MODULES_DIR. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_modules.h"
#include "fake_state.h"
#include "formats/read.h"
#include "formats/write.h"

static const char *join(const char *directory, const char *name) {
	static char path[4096];
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void fill(fake_state_t *s) {
	uint32_t m =
		fake_state_add_module(s, "/bin/true", 0x555555001000, 0x555555009000, 0x1000,
				      0x555555000000, "00112233445566778899aabbccddeeff00112233");
	uint64_t frames[] = {fake_frame(m, 0x1234), fake_frame(m, 0x2345) | MW_FRAME_EXACT,
			     0x7fff00001234};
	fake_state_add_stack(s, frames, 3, 10.0, 10240, 2.0);
	fake_state_add_stack(s, frames + 1, 2, 100000.0, 99 << 20, 0.0);
	for (uint32_t i = 1; i < 5; i++)
		s->records[i] = (mw_state_record_t){.sequence = 2,
						    .stack = i % 3,
						    .address = 0x1000 * i,
						    .requested_bytes = 30,
						    .usable_bytes = 32,
						    .weight_q16 = 65536};
	s->live->records_used = 5;
	s->live->ticks_written = 3;
	s->live->events_written = 11;
	for (uint64_t i = 0; i < 3; i++)
		s->ticks[i].time_ns = i + 1;
}

static void write_text(const char *path, const char *text) {
	FILE *file = fopen(path, "w");
	if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

static void write_profiles(const char *state_path, const char *directory) {
	static const struct {
		const char *name;
		mw_format_t format;
	} outputs[] = {
		{"plain.pb", MW_FORMAT_PROTO},
		{"packed.pb.gz", MW_FORMAT_PROTO},
		{"jemalloc.heap", MW_FORMAT_JEMALLOC},
		{"gperftools.heap", MW_FORMAT_GPERFTOOLS},
	};
	mw_error_t error;
	mw_profile_t *p;
	if (mw_read_profile(state_path, &p, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	/* Symbols by hand, so that lines and functions are in the seeds. */
	mw_function_t f = {.name = mw_profile_intern(p, "std::map<int, long>::find"),
			   .file = mw_profile_intern(p, "/usr/include/map")};
	mw_line_t lines[2] = {{mw_profile_add_function(p, &f), 12}, {1, 15}};
	mw_profile_set_lines(p, 1, lines, 2);
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++)
		if (mw_write_profile(p, join(directory, outputs[i].name), outputs[i].format,
				     MW_GZIP_BY_NAME, &error) != 0) {
			fprintf(stderr, "%s\n", error.text);
			exit(1);
		}
	mw_profile_free(p);
	write_text(join(directory, "sampled.heap"),
		   "heap profile: 2: 1048576 [2: 1048576] @ heap_v2/524288\n"
		   "2: 1048576 [2: 1048576] @ 0x400100 0x400200\n\nMAPPED_LIBRARIES:\n"
		   "00400000-00500000 r-xp 00001000 fd:00 1234 /bin/demo (deleted)\n");
}

static void write_modules(const char *path) {
	uint8_t bytes[FAKE_MODULES_BYTES];
	FILE *file = fopen(path, "w");
	fake_modules_fill(bytes);
	if (file == NULL || fwrite(bytes, sizeof(bytes), 1, file) != 1 || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

int main(int argc, char **argv) {
	if (argc != 4) {
		fprintf(stderr, "usage: make_seeds STATE_DIR PROFILE_DIR MODULES_DIR\n");
		return 2;
	}
	fake_state_t s;
	fake_state_init(&s);
	fake_state_save(&s, join(argv[1], "empty"));
	fill(&s);
	char state_path[4096];
	snprintf(state_path, sizeof(state_path), "%s", join(argv[1], "filled"));
	fake_state_save(&s, state_path);
	write_profiles(state_path, argv[2]);
	write_modules(join(argv[3], "memory"));
	fake_state_release(&s);
	return 0;
}
