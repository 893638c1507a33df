/* SPDX-License-Identifier: MIT
 * test_cleanup.c -- whose files are left behind, and which of those are removed. */
#include "prof/store/cleanup.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/time.h>
#include <time.h>

#include "os/file/file.h"
#include "os/file/proc.h"
#include "prof_fixture.h"

static void work(int allocations) {
	bool sampled;
	for (int i = 0; i < allocations; i++)
		fake_small(&thread, 1, &thread, 32, 32, &sampled);
}

static void leave_file(const char *name, int hours_old, size_t bytes) {
	char path[256];
	snprintf(path, sizeof path, "%s/%s", state_directory(), name);
	int file = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(file >= 0);
	CHECK(bytes == 0 || posix_fallocate(file, 0, (off_t)bytes) == 0);
	CHECK(pwrite(file, MW_STATE_MAGIC, 8, 0) == 8);
	struct timespec times[2] = {{.tv_sec = time(NULL) - hours_old * 3600},
				    {.tv_sec = time(NULL) - hours_old * 3600}};
	CHECK(futimens(file, times) == 0);
	close(file);
}

static bool is_there(const char *name) {
	char path[256];
	snprintf(path, sizeof path, "%s/%s", state_directory(), name);
	return access(path, F_OK) == 0;
}

static void clean(void) {
	int directory = open(state_directory(), O_RDONLY | O_DIRECTORY);
	CHECK(directory >= 0);
	mw_cleanup_run(directory, "own.1.9");
	close(directory);
}

/* As a live process does; the result is what holds it. */
static int hold_file(const char *name) {
	char path[256];
	snprintf(path, sizeof path, "%s/%s", state_directory(), name);
	int file = open(path, O_RDWR | O_CLOEXEC);
	CHECK(file >= 0 && mw_os_lock_byte(file, MW_STATE_ALIVE_LOCK));
	return file;
}

/* Whatever pid and namespace the name says. */
static void held_files_stay(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	leave_file("100000001.5.9", 100, 0);
	leave_file("100000002.5.9", 100, 0);
	int file = hold_file("100000001.5.9");
	/* A mapping holds it after the descriptor is closed. */
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
	CHECK(page != MAP_FAILED);
	close(file);
	clean();
	CHECK(is_there("100000001.5.9") && !is_there("100000002.5.9"));
	CHECK(munmap(page, 4096) == 0);
	clean();
	CHECK(!is_there("100000001.5.9"));
}

/* Between its creation and the lock a file has no magic. */
static void files_in_the_making_stay(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	char path[256];
	snprintf(path, sizeof path, "%s/100000001.5.9", state_directory());
	CHECK(close(open(path, O_RDWR | O_CREAT, 0600)) == 0);
	mw_cleanup_configure(0, 0, 0);
	clean();
	CHECK(is_there("100000001.5.9"));
	struct timeval times[2] = {{.tv_sec = time(NULL) - 61}, {.tv_sec = time(NULL) - 61}};
	CHECK(utimes(path, times) == 0);
	clean();
	CHECK(!is_there("100000001.5.9"));
}

/* No descriptor is left open for it; a forked child does not hold its parent's. */
static void a_process_holds_its_file(void) {
	start(1, 0, false);
	work(10);
	const mw_state_header_t *header = (const void *)map_state_of(getpid());
	CHECK(header && header->pid_namespace == mw_os_pid_namespace());
	char path[256];
	snprintf(path, sizeof path, "%s/%u.%lu.%lu", state_directory(), header->pid,
		 header->start_ticks, header->pid_namespace);
	int file = open(path, O_RDONLY);
	CHECK(file >= 0 && mw_os_is_byte_locked(file, MW_STATE_ALIVE_LOCK));
	/* A child lives on in the place of its parent, which is killed. */
	int ready[2];
	struct {
		pid_t child;
		char path[256];
	} said;
	CHECK(pipe(ready) == 0);
	pid_t parent = fork();
	if (parent == 0) {
		work(10);
		header = (const void *)map_state_of(getpid());
		snprintf(said.path, sizeof said.path, "%s/%u.%lu.%lu", state_directory(),
			 header->pid, header->start_ticks, header->pid_namespace);
		said.child = fork();
		while (said.child == 0)
			pause();
		CHECK(write(ready[1], &said, sizeof said) == sizeof said);
		pause();
	}
	CHECK(read(ready[0], &said, sizeof said) == sizeof said);
	int other = open(said.path, O_RDONLY);
	CHECK(other >= 0 && mw_os_is_byte_locked(other, MW_STATE_ALIVE_LOCK));
	CHECK(kill(parent, SIGKILL) == 0 && waitpid(parent, NULL, 0) == parent);
	CHECK(!mw_os_is_byte_locked(other, MW_STATE_ALIVE_LOCK));
	CHECK(mw_os_is_byte_locked(file, MW_STATE_ALIVE_LOCK));
	kill(said.child, SIGKILL);
	close(other);
	close(file);
}

/* Pids end below 2^22, so these are nobody's. */
static void old_files_of_the_dead_go(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	char own[64];
	snprintf(own, sizeof own, "%d.0.9", (int)getpid());
	leave_file("100000001.5.9", 23, 0);
	leave_file("100000002.5.9", 25, 0);
	leave_file("100000003.5.9.bak", 100, 0);
	leave_file("notes", 100, 0);
	leave_file("1x.2.9", 100, 0);
	leave_file(own, 100, 0);
	int held = hold_file(own);
	clean();
	CHECK(is_there("100000001.5.9"));
	CHECK(!is_there("100000002.5.9"));
	CHECK(is_there("100000003.5.9.bak") && is_there("notes") && is_there("1x.2.9"));
	CHECK(is_there(own)); /* it is running */
	char path[256];
	snprintf(path, sizeof path, "%s/%s", state_directory(), own);
	close(held);
	CHECK(unlink(path) == 0);
	leave_file("100000004.5.9", 100, 0);
	start(1, 0, false); /* cleans by itself */
	CHECK(!is_there("100000004.5.9"));
	CHECK(map_state_of(getpid()));
}

static void options_say_what_is_kept(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	leave_file("100000001.5.9", 1, 40000);
	leave_file("100000002.5.9", 2, 40000);
	leave_file("100000003.5.9", 3, 0);
	leave_file("100000004.5.9", 5, 0);
	mw_cleanup_configure(4 * 3600, 64, 1 << 20);
	clean();
	CHECK(is_there("100000003.5.9") && !is_there("100000004.5.9"));
	mw_cleanup_configure(4 * 3600, 2, 1 << 20);
	clean();
	CHECK(is_there("100000002.5.9") && !is_there("100000003.5.9"));
	mw_cleanup_configure(4 * 3600, 2, 50000);
	clean();
	CHECK(is_there("100000001.5.9") && !is_there("100000002.5.9"));
	mw_cleanup_configure(4 * 3600, 0, 50000);
	clean();
	CHECK(!is_there("100000001.5.9"));
}

static void a_process_with_a_reused_pid_is_dead(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	char name[64];
	snprintf(name, sizeof name, "%d.1.9", (int)getpid());
	leave_file(name, 100, 0);
	clean();
	CHECK(!is_there(name));
}

static void the_newest_are_kept(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	char name[64];
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "%d.7.9", 100000000 + i);
		/* Minutes apart, in an order that is not the names'. */
		leave_file(name, 0, 0);
		char path[256];
		snprintf(path, sizeof path, "%s/%s", state_directory(), name);
		struct timeval times[2] = {{.tv_sec = time(NULL) - 60 * (i * 37 % 100)},
					   {.tv_sec = time(NULL) - 60 * (i * 37 % 100)}};
		CHECK(utimes(path, times) == 0);
	}
	clean();
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "%d.7.9", 100000000 + i);
		CHECK_EQ(is_there(name), i * 37 % 100 < 64);
	}
}

/* A server's many children that left by _exit do not push out the few that were killed an hour ago,
 * be it children, too. */
static void forked_children_keep_half(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	char name[64];
	mw_state_header_t header = {.magic = "MALLOWST", .layout_version = MW_STATE_VERSION};
	mw_state_live_t live = {.flags = 0};
	header.sections[MW_SECTION_LIVE].offset_bytes = 8192;
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "%d.7.9", 100000000 + i);
		leave_file(name, i < 90 ? 0 : 2, 0);
		char path[256];
		snprintf(path, sizeof path, "%s/%s", state_directory(), name);
		int file = open(path, O_WRONLY);
		header.parent_pid = i < 90 ? 4711 : 0;
		CHECK(write(file, &header, sizeof header) == sizeof header);
		live.flags = i < 60 ? MW_STATE_QUIT : 0;
		CHECK(pwrite(file, &live, sizeof live, 8192) == sizeof live);
		close(file);
		struct timeval times[2] = {{.tv_sec = time(NULL) - 60 * i},
					   {.tv_sec = time(NULL) - 60 * i}};
		CHECK(utimes(path, times) == 0);
	}
	clean();
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "%d.7.9", 100000000 + i);
		CHECK_EQ(is_there(name), i < 32 || (i >= 60 && i < 92));
	}
}

static void together_they_stay_small(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	if (geteuid() != 0 || mount("none", state_directory(), "tmpfs", 0, "mode=700") != 0) {
		printf("# skipped: needs a tmpfs of its own\n");
		return;
	}
	leave_file("100000001.1.9", 1, 100 << 20);
	leave_file("100000002.1.9", 2, 100 << 20);
	leave_file("100000003.1.9", 3, 100 << 20);
	leave_file("100000004.1.9", 4, 1 << 20);
	clean();
	CHECK(is_there("100000001.1.9") && is_there("100000002.1.9"));
	CHECK(!is_there("100000003.1.9") && !is_there("100000004.1.9"));
	CHECK(umount2(state_directory(), MNT_DETACH) == 0);
}

/* A process that ran for days and was killed just now: its file's own time is that of its start. */
static void the_last_update_counts(void) {
	start(1, 0, false);
	work(10);
	const char *file = map_state_of(getpid());
	const mw_state_header_t *header = (const void *)file;
	/* The first pages, as another process left them. */
	leave_file("100000009.1.9", 0, MW_STATE_FIRSTS_BYTES);
	char path[256];
	snprintf(path, sizeof path, "%s/100000009.1.9", state_directory());
	int copy = open(path, O_RDWR);
	CHECK(pwrite(copy, file, MW_STATE_FIRSTS_BYTES, 0) == MW_STATE_FIRSTS_BYTES);
	struct timeval times[2] = {{.tv_sec = time(NULL) - 1000000},
				   {.tv_sec = time(NULL) - 1000000}};
	CHECK(utimes(path, times) == 0);
	clean();
	CHECK(is_there("100000009.1.9"));
	mw_state_live_t live;
	off_t at = (off_t)header->sections[MW_SECTION_LIVE].offset_bytes;
	CHECK(pread(copy, &live, sizeof live, at) == sizeof live);
	live.updated_realtime_ns -= (uint64_t)30 * 3600 * 1000000000u;
	CHECK(pwrite(copy, &live, sizeof live, at) == sizeof live);
	CHECK(utimes(path, times) == 0);
	clean();
	CHECK(!is_there("100000009.1.9"));
	close(copy);
}

static void work_is_bounded(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	char name[64];
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "%d.7.9", 100000000 + i);
		leave_file(name, 100, 0);
	}
	clean();
	int left = 0;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "%d.7.9", 100000000 + i);
		left += is_there(name);
	}
	CHECK(left >= 1000 - 256 && left <= 1000 - 250);
}

int main(void) {
	RUN_IN_CHILD(held_files_stay);
	RUN_IN_CHILD(files_in_the_making_stay);
	RUN_IN_CHILD(a_process_holds_its_file);
	RUN_IN_CHILD(old_files_of_the_dead_go);
	RUN_IN_CHILD(options_say_what_is_kept);
	RUN_IN_CHILD(a_process_with_a_reused_pid_is_dead);
	RUN_IN_CHILD(the_newest_are_kept);
	RUN_IN_CHILD(forked_children_keep_half);
	RUN_IN_CHILD(together_they_stay_small);
	RUN_IN_CHILD(the_last_update_counts);
	RUN_IN_CHILD(work_is_bounded);
	return 0;
}
