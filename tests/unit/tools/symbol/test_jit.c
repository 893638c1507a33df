/* SPDX-License-Identifier: MIT
 * test_jit.c -- names of generated code from /tmp/perf-PID.map: which line counts, whose file is
 * believed, and that a hostile map costs little. */
#include "symbol/jit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(void) {
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	RUN(the_last_line_counts);
	RUN(long_lines_are_cut);
	RUN(links_and_other_files_are_not_read);
	RUN(maps_of_other_users_are_not_read);
	RUN(overlapping_lines_cost_little);
	unlink(map_path);
	return 0;
}
