/* SPDX-License-Identifier: MIT
 * test_jit.c -- names of generated code from /tmp/perf-PID.map and jit-PID.dump: which line counts,
 * whose file is believed, how names are taken apart, and that a hostile map costs little. */
#include "symbol/jit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char map_path[64];

static void write_map(const char *text) {
	unlink(map_path);
	FILE *map = fopen(map_path, "wx");
	CHECK(map != NULL);
	fputs(text, map);
	CHECK_EQ(fclose(map), 0);
}

/* Locations at each multiple of 16 from 0x1000, in no file. */
static mw_profile_t *make_profile(uint64_t count) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	for (uint64_t i = 0; i < count; i++)
		mw_profile_add_location(p, 0, 0x1000 + 16 * i, false);
	return p;
}

static const char *name_of(const mw_profile_t *p, uint32_t location) {
	const mw_location_t *l = &p->locations[location];
	if (l->line_count == 0)
		return "";
	return mw_profile_string(p, p->functions[p->lines[l->line_first].function].name);
}

/* Names `count` locations by the map of the process `pid`; 0: it has ended, and was this user's
 * `uid`. */
static mw_profile_t *symbolized(uint64_t count, uint32_t pid, uint32_t uid) {
	mw_profile_t *p = make_profile(count);
	p->origin.pid = (uint32_t)getpid();
	p->origin.uid = uid;
	p->origin.uid_known = pid == 0;
	mw_jit_symbolize(p, pid);
	return p;
}

static mw_profile_t *symbolized_live(uint64_t count) {
	return symbolized(count, (uint32_t)getpid(), 0);
}

static bool has_names(uint32_t pid, uint32_t uid) {
	mw_profile_t *p = symbolized(1, pid, uid);
	bool has = name_of(p, 1)[0] != '\0';
	mw_profile_free(p);
	return has;
}

static void the_last_line_counts(void) {
	write_map("1000 40 whole\n"
		  "1010 10 inner\n"
		  "no address\n"
		  "1020 0 empty\n"
		  "1030 10 first\n"
		  "1030 10 second with blanks\n"
		  "fffffffffffffff0 20 beyond\n");
	mw_profile_t *p = symbolized_live(6);
	CHECK_STR(name_of(p, 1), "whole");
	CHECK_STR(name_of(p, 2), "inner");
	CHECK_STR(name_of(p, 3), "whole");
	CHECK_STR(name_of(p, 4), "second with blanks");
	CHECK_STR(name_of(p, 5), "");
	mw_profile_free(p);
	/* The other order: the larger function is the newer one. */
	write_map("1010 10 inner\n1000 40 whole\n");
	p = symbolized_live(4);
	CHECK_STR(name_of(p, 2), "whole");
	mw_profile_free(p);
}

static void long_lines_are_cut(void) {
	char *text = calloc(5000, 1);
	strcpy(text, "1000 10 ");
	memset(text + 8, 'x', 4000);
	strcat(text, "\n1010 10 next\n");
	write_map(text);
	mw_profile_t *p = symbolized_live(2);
	CHECK(strlen(name_of(p, 1)) > 900 && strlen(name_of(p, 1)) < 1100);
	CHECK_STR(name_of(p, 2), "next");
	mw_profile_free(p);
	free(text);
}

static void links_and_other_files_are_not_read(void) {
	char target[80];
	snprintf(target, sizeof(target), "%s.target", map_path);
	write_map("1000 10 named\n");
	CHECK(has_names((uint32_t)getpid(), 0));
	CHECK_EQ(rename(map_path, target), 0);
	CHECK_EQ(symlink(target, map_path), 0);
	CHECK(!has_names((uint32_t)getpid(), 0));
	CHECK(!has_names(0, getuid()));
	unlink(map_path);
	unlink(target);
	CHECK_EQ(mkfifo(map_path, 0600), 0);
	CHECK(!has_names((uint32_t)getpid(), 0));
}

/* Anybody can write into /tmp a file with the number of another user's process. */
static void maps_of_other_users_are_not_read(void) {
	const uint32_t other = 65534, third = 65533;
	write_map("1000 10 named\n");
	CHECK(has_names(0, other)); /* who asks is the owner */
	if (getuid() != 0)
		return; /* only root can give a file away */
	CHECK_EQ(chown(map_path, other, other), 0);
	CHECK(!has_names((uint32_t)getpid(), 0));
	CHECK(!has_names(0, 0));
	CHECK(!has_names(0, third));
	CHECK(has_names(0, other)); /* the process was that user's */
}

/* Each of 100,000 lines is about each of 50,000 locations: 5 * 10^9 pairs. */
static void overlapping_lines_cost_little(void) {
	enum { LOCATIONS = 50000, LINES = 100000 };
	const struct rlimit limit = {.rlim_cur = 30, .rlim_max = 60}; /* seconds of CPU time */
	unlink(map_path);
	FILE *map = fopen(map_path, "wx");
	CHECK(map != NULL);
	for (int i = 0; i < LINES; i++)
		fprintf(map, "1000 %x f%d\n", 16 * LOCATIONS - i % 16, i);
	CHECK_EQ(fclose(map), 0);
	CHECK_EQ(setrlimit(RLIMIT_CPU, &limit), 0);
	mw_profile_t *p = symbolized_live(LOCATIONS);
	CHECK_STR(name_of(p, 1), "f99999");
	CHECK_STR(name_of(p, LOCATIONS), "f99999");
	CHECK_EQ(p->function_count, 2); /* one for all */
	mw_profile_free(p);
}

/* The location's function, its file and line, and whose function it is. */
static void check_function(const mw_profile_t *p, uint32_t location, const char *name,
			   const char *file, int64_t line, const char *module) {
	const mw_location_t *l = &p->locations[location];
	CHECK_EQ(l->line_count, 1);
	const mw_line_t *at = &p->lines[l->line_first];
	const mw_function_t *function = &p->functions[at->function];
	CHECK_STR(mw_profile_string(p, function->name), name);
	CHECK_STR(mw_profile_string(p, function->file), file);
	CHECK_EQ(function->start_line, line);
	CHECK_EQ(at->line, line);
	CHECK_STR(mw_profile_string(p, p->mappings[l->mapping].path), module);
}

static void functions_of_scripts_have_files_and_lines(void) {
	write_map("1000 10 JS:*pack /srv/my app.js:2:45\n"
		  "1010 10 JS:~ file:///srv/app.mjs:5:55\n"
		  "1020 10 JS:^get last node:internal/fs/streams:165:9\n"
		  "1030 10 py::Packer.pack:/srv/app.py\n"
		  "1040 10 int Main.pack(byte[], int)\n"
		  "1050 10 StubRoutines (1)\n"
		  "1060 10 Builtin:CallFunction\n"
		  "1070 10 JS:*noplace\n"
		  "1080 10 JS:*half /srv/app.js:7\n"
		  "1090 10 JS:*large /srv/app.js:12345678901:1\n");
	mw_profile_t *p = symbolized_live(10);
	const char *js = "[javascript]";
	check_function(p, 1, "pack my app.js:2:45", "/srv/my app.js", 2, js);
	check_function(p, 2, "(anonymous) app.mjs:5:55", "/srv/app.mjs", 5, js);
	check_function(p, 3, "get last node:internal/fs/streams:165:9", "node:internal/fs/streams",
		       165, js);
	check_function(p, 4, "Packer.pack", "/srv/app.py", 0, "[python]");
	check_function(p, 5, "int Main.pack(byte[], int)", "", 0, "[java]");
	check_function(p, 6, "StubRoutines (1)", "", 0, "");
	check_function(p, 7, "Builtin:CallFunction", "", 0, "");
	check_function(p, 8, "JS:*noplace", "", 0, "");
	check_function(p, 9, "JS:*half /srv/app.js:7", "", 0, "");
	check_function(p, 10, "JS:*large /srv/app.js:12345678901:1", "", 0, "");
	mw_profile_free(p);
}

/* Words of a jitdump, in the order of this machine. */
static void put32(FILE *dump, uint32_t value) {
	CHECK_EQ(fwrite(&value, sizeof(value), 1, dump), 1);
}

static void put64(FILE *dump, uint64_t value) {
	CHECK_EQ(fwrite(&value, sizeof(value), 1, dump), 1);
}

static void put_header(FILE *dump, uint32_t magic, uint32_t pid) {
	const uint32_t words[] = {magic, 1, 40, 62, 0, pid, 0, 0, 0, 0};
	CHECK_EQ(fwrite(words, sizeof(words), 1, dump), 1);
}

/* `code_bytes` of code follow the name. */
static void put_code(FILE *dump, uint32_t kind, uint64_t start, uint64_t code_bytes,
		     const char *name) {
	size_t name_bytes = strlen(name) + 1;
	put32(dump, kind);
	put32(dump, (uint32_t)(16 + 40 + name_bytes + code_bytes));
	put64(dump, 0);
	put64(dump, 0);
	put64(dump, start);
	put64(dump, start);
	put64(dump, code_bytes);
	put64(dump, 0);
	CHECK_EQ(fwrite(name, 1, name_bytes, dump), name_bytes);
	for (uint64_t i = 0; i < code_bytes; i++)
		putc('\n', dump);
}

#define DUMP_MAGIC 0x4a695444u

static void the_last_record_of_a_dump_counts(void) {
	FILE *dump = tmpfile();
	put_header(dump, DUMP_MAGIC, 7);
	put_code(dump, 0, 0x1000, 0x40, "whole");
	put_code(dump, 2, 0x1010, 0x10, "of another kind");
	put_code(dump, 0, 0x1020, 0x10, "JS:*pack /srv/app.js:2:45");
	put_code(dump, 0, UINT64_MAX - 3, 0x10, "beyond");
	put_code(dump, 0, 0x1030, 0x10, "last");
	/* Cut in the middle. */
	put32(dump, 0);
	put32(dump, 500);
	put64(dump, 0);
	const uint32_t pids[] = {8, 7};
	for (unsigned i = 0; i < 2; i++) {
		rewind(dump);
		mw_profile_t *p = make_profile(5);
		mw_jit_symbolize_by(p, dump, pids[i]);
		/* Another process's is not used. */
		CHECK_STR(name_of(p, 1), i == 0 ? "" : "whole");
		CHECK_STR(name_of(p, 2), i == 0 ? "" : "whole");
		CHECK_STR(name_of(p, 3), i == 0 ? "" : "pack app.js:2:45");
		CHECK_STR(name_of(p, 4), i == 0 ? "" : "last");
		CHECK_STR(name_of(p, 5), "");
		mw_profile_free(p);
	}
	CHECK_EQ(fclose(dump), 0);
	/* Of a machine with the other byte order. */
	dump = tmpfile();
	put_header(dump, __builtin_bswap32(DUMP_MAGIC), 7);
	put_code(dump, 0, 0x1000, 0x40, "whole");
	rewind(dump);
	mw_profile_t *p = make_profile(1);
	mw_jit_symbolize_by(p, dump, 7);
	CHECK_STR(name_of(p, 1), "");
	mw_profile_free(p);
	CHECK_EQ(fclose(dump), 0);
}

/* The file that the process maps is found, wherever it is; after the process's end that in the
 * current directory. */
static void a_mapped_dump_is_found(void) {
	char folder[] = "/tmp/mallow-jit.XXXXXX", path[64];
	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, (int)getpid());
	unlink(map_path);
	FILE *dump = fopen(path, "w+");
	CHECK(dump != NULL);
	put_header(dump, DUMP_MAGIC, (uint32_t)getpid());
	put_code(dump, 0, 0x1000, 0x10, "mapped");
	CHECK_EQ(fflush(dump), 0);
	CHECK(!has_names((uint32_t)getpid(), 0));
	void *mark = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(dump), 0);
	CHECK(mark != MAP_FAILED);
	CHECK(has_names((uint32_t)getpid(), 0));
	CHECK(!has_names(0, getuid()));
	CHECK_EQ(chdir(folder), 0);
	CHECK(has_names(0, getuid()));
	if (getuid() == 0) {
		CHECK_EQ(chown(path, 65534, 65534), 0);
		CHECK(!has_names((uint32_t)getpid(), 0));
		CHECK(!has_names(0, 0));
	}
	CHECK_EQ(munmap(mark, 4096), 0);
	CHECK_EQ(fclose(dump), 0);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(rmdir(folder), 0);
}

int main(void) {
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	RUN(the_last_line_counts);
	RUN(long_lines_are_cut);
	RUN(functions_of_scripts_have_files_and_lines);
	RUN(the_last_record_of_a_dump_counts);
	RUN(a_mapped_dump_is_found);
	RUN(links_and_other_files_are_not_read);
	RUN(maps_of_other_users_are_not_read);
	RUN(overlapping_lines_cost_little);
	unlink(map_path);
	return 0;
}
