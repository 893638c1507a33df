/* SPDX-License-Identifier: MIT
 * test_symbol_cache.c -- symbols kept between runs: used without the file, and only if they are
 * this build's, this version's and this user's. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "base/compiler.h"
#include "self_module.h"
#include "symbol/cache/cache_folder.h"
#include "symbol/symbolize.h"
#include "test.h"

static self_module_t self;
static char home[] = "/tmp/mallow-test-cache.XXXXXX";
static char *directory;
static const char *binary_path; /* of the look-ups */
static const char other_build_id[] = "00112233445566778899aabbccddeeff00112233";
static char *kept;     /* the file of the symbols of `gone` */
static char gone[300]; /* where a copy of this program is at times */

static __attribute__((noinline)) uint64_t some_function(void) {
	uint64_t pc = self_pc();
	__asm__ volatile("" ::: "memory"); /* no tail call */
	return pc;
}

/* The name of this test's function as found with the cache; "" if none was.  `path`: where the
 * profile says its file is. */
static const char *look_up(const char *path, const char *build_id) {
	static char name[256];
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	mw_mapping_t mapping = {.start = self.start,
				.limit = self.limit,
				.offset = self.file_offset,
				.bias = self.bias,
				.bias_known = true,
				.path = mw_profile_intern(p, path),
				.build_id = mw_profile_intern(p, build_id)};
	mw_profile_add_location(p, mw_profile_add_mapping(p, &mapping), some_function() - 1, false);
	mw_symbolize_options_t options = {.cache_directory = directory, .binary_path = binary_path};
	mw_symbolize(p, &options);
	mw_symbolize_finish();
	const mw_location_t *l = &p->locations[1];
	name[0] = '\0';
	if (l->line_count > 0)
		snprintf(name, sizeof(name), "%s",
			 mw_profile_string(p, p->functions[p->lines[l->line_first].function].name));
	CHECK(l->line_count == 0 || p->lines[l->line_first].line > 0);
	mw_profile_free(p);
	return name;
}

static void run(const char *format, ...) MW_PRINTF(1, 2);

static void run(const char *format, ...) {
	char command[2048];
	va_list args;
	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	CHECK_EQ(system(command), 0);
}

/* A copy of this program is there for as long as its names are looked up. */
static void name_with_file(void) {
	run("cp '%s' '%s'", self.path, gone);
	CHECK_STR(look_up(gone, self.build_id), "some_function");
	CHECK(unlink(gone) == 0);
}

static size_t bytes_of(const char *path) {
	struct stat file;
	return stat(path, &file) == 0 ? (size_t)file.st_size : 0;
}

static void names_outlive_the_file(void) {
	CHECK_STR(look_up(gone, self.build_id), "");
	CHECK_EQ(bytes_of(kept), 0);
	name_with_file();
	CHECK(bytes_of(kept) > 0);
	CHECK_STR(look_up(gone, self.build_id), "some_function");
	/* They are those of the file at that path. */
	CHECK_STR(look_up("/nonexistent", self.build_id), "");
}

/* A file that says it is this build, and calls the function by another name. */
static void forge(const char *path) {
	run("sed 's/some_function/evil_function/g' '%s' >'%s'", self.path, path);
}

static void forged_files_name_themselves_alone(void) {
	char forged[320];
	snprintf(forged, sizeof(forged), "%s/forged", home);
	forge(forged);
	CHECK_STR(look_up(forged, self.build_id), "evil_function");
	CHECK_STR(look_up(self.path, self.build_id), "some_function");
	CHECK_STR(look_up(forged, self.build_id), "evil_function");
	/* Nor do they where the true file comes after them, or before them, at one path. */
	run("cp '%s' '%s'", self.path, forged);
	CHECK_STR(look_up(forged, self.build_id), "some_function");
	forge(forged);
	CHECK_STR(look_up(forged, self.build_id), "evil_function");
	CHECK(unlink(forged) == 0);
}

/* As those of containers, and below --binary-path. */
static void files_elsewhere_do_not_name_what_is_gone(void) {
	char folder[320], path[400];
	snprintf(folder, sizeof(folder), "%s/elsewhere", home);
	snprintf(path, sizeof(path), "%s/gone", folder);
	CHECK(unlink(kept) == 0 && mkdir(folder, 0700) == 0);
	forge(path);
	binary_path = folder;
	CHECK_STR(look_up(gone, self.build_id), "evil_function");
	CHECK_STR(look_up(gone, self.build_id), "evil_function");
	binary_path = NULL;
	CHECK(bytes_of(kept) > 0);
	CHECK_STR(look_up(gone, self.build_id), "");
	name_with_file();
	CHECK_STR(look_up(gone, self.build_id), "some_function");
}

/* As in jemalloc's profiles. */
static void files_own_build_id_stands_in(void) {
	CHECK(unlink(kept) == 0);
	run("cp '%s' '%s'", self.path, gone);
	CHECK_STR(look_up(gone, ""), "some_function");
	CHECK(bytes_of(kept) > 0 && unlink(gone) == 0);
	CHECK_STR(look_up(gone, self.build_id), "some_function");
}

static void another_build_has_its_own(void) {
	CHECK_STR(look_up(gone, other_build_id), "");
	/* Nor does its file stand for this one's when it is put there. */
	char *other = mw_cache_path(directory, other_build_id, gone);
	CHECK(other != NULL && link(kept, other) == 0);
	CHECK_STR(look_up(gone, other_build_id), "");
	CHECK(unlink(other) == 0);
	free(other);
	/* Nor that of another path. */
	other = mw_cache_path(directory, self.build_id, "/nonexistent");
	CHECK(other != NULL && link(kept, other) == 0);
	CHECK_STR(look_up("/nonexistent", self.build_id), "");
	CHECK(unlink(other) == 0);
	free(other);
}

static void build_ids_are_no_paths(void) {
	static const char *const bad[] = {"",
					  "..",
					  "../../../../tmp/x",
					  "0011",
					  "00112233445566zz",
					  "0011223344556677/0011223344556677"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(mw_cache_path(directory, bad[i], gone) == NULL);
	CHECK(mw_cache_path(NULL, self.build_id, gone) == NULL);
}

static void damaged_files_are_made_anew(void) {
	size_t length = bytes_of(kept);
	for (size_t cut = 0; cut < length; cut += 1 + length / 50) {
		CHECK(truncate(kept, (off_t)cut) == 0);
		/* Where the cut left a whole profile, the name may be there still, or not. */
		const char *name = look_up(gone, self.build_id);
		CHECK(name[0] == '\0' || strcmp(name, "some_function") == 0);
		CHECK(unlink(kept) == 0);
		name_with_file();
		CHECK_EQ(bytes_of(kept), length);
	}
}

static void links_are_not_followed(void) {
	char aside[300];
	snprintf(aside, sizeof(aside), "%s/aside", home);
	CHECK(rename(kept, aside) == 0 && symlink(aside, kept) == 0);
	CHECK_STR(look_up(gone, self.build_id), "");
	CHECK(unlink(kept) == 0 && rename(aside, kept) == 0);
	CHECK_STR(look_up(gone, self.build_id), "some_function");
}

static char *make_file(const char *name, size_t bytes, time_t written) {
	char *path = NULL;
	CHECK(asprintf(&path, "%s/%s", directory, name) > 0);
	FILE *file = fopen(path, "w");
	CHECK(file != NULL && fclose(file) == 0 && truncate(path, (off_t)bytes) == 0);
	struct utimbuf times = {written, written};
	CHECK(utime(path, &times) == 0);
	return path;
}

/* 256 MiB are kept, those written last. */
static void the_oldest_go_first(void) {
	const size_t mib = (size_t)1 << 20;
	char *old = make_file("old.pb", 100 * mib, 1000000);
	char *middle = make_file("middle.pb", 100 * mib, 2000000);
	char *new = make_file("new.pb", 100 * mib, 3000000);
	char *left = make_file("left.pb.12.tmp", 1, 1000000);
	char *busy = make_file("busy.pb.13.tmp", 1, time(NULL));
	mw_cache_trim(kept);
	CHECK(access(old, F_OK) != 0 && access(middle, F_OK) == 0 && access(new, F_OK) == 0);
	CHECK(access(left, F_OK) != 0 && access(busy, F_OK) == 0);
	CHECK(access(kept, F_OK) == 0);
	CHECK(unlink(middle) == 0 && unlink(new) == 0 && unlink(busy) == 0);
	free(old);
	free(middle);
	free(new);
	free(left);
	free(busy);
}

static void no_place_no_cache(void) {
	CHECK(setenv("XDG_CACHE_HOME", "/proc/nothing", 1) == 0);
	CHECK(mw_cache_directory() == NULL);
	CHECK(unsetenv("XDG_CACHE_HOME") == 0 && setenv("HOME", home, 1) == 0);
	char *found = mw_cache_directory(), want[300];
	snprintf(want, sizeof(want), "%s/.cache/mallow/symbols", home);
	CHECK(found != NULL);
	CHECK_STR(found, want);
	free(found);
	CHECK(unsetenv("HOME") == 0);
	CHECK(mw_cache_directory() == NULL);
}

int main(void) {
	self_module_find(&self);
	CHECK(mkdtemp(home) != NULL && setenv("XDG_CACHE_HOME", home, 1) == 0);
	directory = mw_cache_directory();
	CHECK(directory != NULL);
	snprintf(gone, sizeof(gone), "%s/gone", home);
	kept = mw_cache_path(directory, self.build_id, gone);
	CHECK(kept != NULL);
	RUN(names_outlive_the_file);
	RUN(forged_files_name_themselves_alone);
	RUN(files_elsewhere_do_not_name_what_is_gone);
	RUN(files_own_build_id_stands_in);
	RUN(another_build_has_its_own);
	RUN(build_ids_are_no_paths);
	RUN(damaged_files_are_made_anew);
	RUN(links_are_not_followed);
	RUN(the_oldest_go_first);
	RUN(no_place_no_cache);
	CHECK(unlink(kept) == 0);
	free(kept);
	free(directory);
	char command[300];
	snprintf(command, sizeof(command), "rm -r %s", home);
	return system(command);
}
