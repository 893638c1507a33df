/* SPDX-License-Identifier: MIT
 * prof_fixture.h -- the profiler started on a fake heap, with its state file in a directory of the
 * test's; each test in a process of its own, because the profiler starts once. */
#ifndef MW_TEST_PROF_FIXTURE_H
#define MW_TEST_PROF_FIXTURE_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_heap.h"
#include "prof/prof.h"
#include "prof/store/state_file.h"
#include "prof/store/store.h"
#include "state/stats.h"
#include "state_entry.h"
#include "test.h"

/* Stands for /dev/shm. */
static char root[64];
static fake_thread_t thread;

static inline void read_stats(uint64_t *stats) {
	for (int i = 0; i < MW_STAT_COUNT; i++)
		stats[i] = 1000 + (uint64_t)i;
}

static inline void start(uint64_t mean_bytes, uint64_t state_min_bytes, bool keep) {
	mw_state_file_set_root(root);
	unsetenv("XDG_RUNTIME_DIR");
	mw_prof_start(&(mw_prof_config_t){.active = true,
					  .mean_bytes = mean_bytes,
					  .state_min_bytes = state_min_bytes,
					  .keep_state = keep,
					  .session = "a test",
					  .depth_max = 64,
					  .read_stats = read_stats});
	fake_thread_start(&thread);
}

static inline const char *state_directory(void) {
	static char path[128];
	snprintf(path, sizeof path, "%s/mallow-%u", root, geteuid());
	return path;
}

/* The state file of `pid`, mapped; NULL: there is none. */
static inline char *map_state_of(pid_t pid) {
	DIR *directory = opendir(state_directory());
	char prefix[32], path[512] = "";
	snprintf(prefix, sizeof prefix, "%d.", (int)pid);
	for (struct dirent *entry; directory && (entry = readdir(directory));)
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			snprintf(path, sizeof path, "%s/%s", state_directory(), entry->d_name);
	if (directory)
		closedir(directory);
	if (!path[0])
		return NULL;
	int file = open(path, O_RDWR);
	struct stat status;
	CHECK(file >= 0 && fstat(file, &status) == 0);
	CHECK_EQ(status.st_mode & 0777, 0600);
	char *base =
		mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(base != MAP_FAILED);
	close(file);
	return base;
}

/* A section of a mapped file, or of the profile table, whose sections lie apart. */
static inline void *entry_of(char *base, mw_state_section_id_t section, uint64_t index) {
	return base == (char *)mw_store_header() ? mw_store_private(section, index)
						 : state_entry(base, section, index);
}

/* The first entries. */
static inline void *section_of(char *base, mw_state_section_id_t section) {
	return entry_of(base, section, 0);
}

#define ENTRY_OF(name, SECTION)                                                                    \
	static inline mw_state_##name##_t *name##_entry(char *base, uint64_t index) {              \
		return entry_of(base, SECTION, index);                                             \
	}
ENTRY_OF(stack, MW_SECTION_STACKS)
ENTRY_OF(record, MW_SECTION_RECORDS)
ENTRY_OF(tick, MW_SECTION_TIMELINE)
ENTRY_OF(event, MW_SECTION_EVENTS)
ENTRY_OF(size, MW_SECTION_SIZES)
ENTRY_OF(lifetimes, MW_SECTION_LIFETIMES)
ENTRY_OF(thread, MW_SECTION_THREADS)
#undef ENTRY_OF

static inline char *store_base(void) {
	return (char *)mw_store_header();
}

static inline int remove_entry(const char *path, const struct stat *status, int kind,
			       struct FTW *place) {
	(void)status;
	(void)kind;
	(void)place;
	return remove(path);
}

/* Each test in a process of its own: the profiler starts once. */
static inline void in_child(void (*test)(void), const char *name) {
	CHECK(mkdtemp(strcpy(root, "/tmp/mallow-test-XXXXXX")));
	fflush(NULL);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		alarm(240 * TEST_SLOWNESS);
		test();
		exit(0);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child);
	nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		fprintf(stderr, "%s: status %#x\n", name, status);
		exit(1);
	}
	printf("ok %s\n", name);
}
#define RUN_IN_CHILD(test) in_child(test, #test)

#endif
