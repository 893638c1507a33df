/* SPDX-License-Identifier: MIT
 * test_state_file.c -- places, hostile directories, full file systems, refusals of the kernel, and
 * the cleaning of what dead processes left. */
#include "prof/state_file.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "os/fault.h"
#include "prof/mirror.h"
#include "prof/stale.h"
#include "prof_fixture.h"

static void work(int allocations) {
	bool sampled;
	for (int i = 0; i < allocations; i++)
		fake_small(&thread, 1, &thread, 32, 32, &sampled);
}

/* Whatever became of the file: the program runs and the image has it all. */
static void check_profile_goes_on(void) {
	uint64_t samples = mw_image_live()->samples;
	work(100);
	CHECK_EQ(mw_image_live()->samples, samples + 100);
}

static const char *mapped_state(void) {
	static char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	CHECK(maps);
	const char *found = "";
	while (found[0] == '\0' && fgets(line, sizeof line, maps))
		if (strstr(line, "mallow-state") || strstr(line, root))
			found = line;
	fclose(maps);
	return found;
}

static void permissions_are_closed(void) {
	umask(0);
	start(1, 0, false);
	struct stat status;
	CHECK(stat(state_directory(), &status) == 0);
	CHECK_EQ(status.st_mode & 07777, 0700);
	CHECK(map_state_of(getpid())); /* which checks the file's */
}

static void an_open_directory_is_passed_over(void) {
	CHECK(mkdir(state_directory(), 0755) == 0);
	chmod(state_directory(), 0750);
	start(1, 0, false);
	CHECK(!map_state_of(getpid()));
	CHECK(strstr(mapped_state(), "/memfd:mallow-state"));
	check_profile_goes_on();
}

static void a_symlink_is_passed_over(void) {
	char target[128];
	snprintf(target, sizeof target, "%s/elsewhere", root);
	CHECK(mkdir(target, 0700) == 0);
	CHECK(symlink(target, state_directory()) == 0);
	start(1, 0, false);
	CHECK(rmdir(target) == 0); /* nothing was put into it */
	CHECK(strstr(mapped_state(), "/memfd:mallow-state"));
}

static void a_foreign_directory_is_passed_over(void) {
	if (geteuid() != 0) {
		printf("# skipped: only root can give a directory away\n");
		return;
	}
	CHECK(mkdir(state_directory(), 0700) == 0 && chown(state_directory(), 12345, 12345) == 0);
	start(1, 0, false);
	CHECK(!map_state_of(getpid()));
	CHECK(strstr(mapped_state(), "/memfd:mallow-state"));
}

static void the_runtime_directory_is_second(void) {
	char runtime[96];
	snprintf(runtime, sizeof runtime, "%s/run", root);
	CHECK(mkdir(runtime, 0700) == 0);
	mw_state_file_set_root("/nonexistent/shm");
	setenv("XDG_RUNTIME_DIR", runtime, 1);
	mw_prof_start(&(mw_prof_config_t){
		.active = true, .mean_bytes = 1, .state_min_bytes = 0, .depth_max = 64});
	fake_thread_start(&thread);
	strcat(root, "/run");
	CHECK(map_state_of(getpid()));
	*strrchr(root, '/') = '\0';
}

/* What stands in the way under our own name is from before an exec. */
static void own_leftovers_are_replaced(void) {
	start(1, 0, true);
	work(50);
	char *first = map_state_of(getpid());
	mw_mirror_drop();
	CHECK(first && !mw_mirror_exists());
	mw_prof_exit(); /* publishes again, under the same name */
	char *second = map_state_of(getpid());
	CHECK(second);
	mw_state_live_t *live = section_of(second, MW_SECTION_LIVE);
	CHECK_EQ(live->samples, 50);
	CHECK(live->flags & MW_STATE_ENDED);
}

static int calls, failing;
static bool fail_nth(mw_os_call_t call) {
	(void)call;
	return calls++ == failing;
}
static bool fail_from_nth(mw_os_call_t call) {
	(void)call;
	return calls++ >= failing;
}

/* In hundreds of processes. */
#define FAULT_SAMPLES (5000 / TEST_SLOWNESS)

static void run_with_faults(void) {
	start(1, 20000, false);
	work(FAULT_SAMPLES);
	if (mw_image_exists())
		CHECK(mw_image_live()->samples <= FAULT_SAMPLES);
	mw_prof_set_mean_bytes(100);
	mw_prof_set_active(false);
	mw_prof_exit();
}

/* The Nth call to the kernel fails, or all from the Nth on: never a signal, never a wrong count. */
static void sweep(bool (*hook)(mw_os_call_t)) {
	int most = 1;
	for (failing = 0; failing <= most && failing < 150; failing++) {
		int ends[2];
		CHECK(pipe(ends) == 0);
		fflush(NULL);
		pid_t child = fork();
		if (child == 0) {
			/* Warnings are expected here. */
			CHECK(freopen("/dev/null", "w", stderr));
			calls = 0;
			mw_os_fault_hook = hook;
			run_with_faults();
			mw_os_fault_hook = NULL;
			if (mw_image_exists()) {
				const mw_state_live_t *live = mw_image_live();
				int64_t all = 32 * (int64_t)live->samples;
				CHECK_EQ(live->alloc_bytes, all);
				/* A refused record is allocated, not live, and the flags say so. */
				CHECK(live->live_bytes == all ||
				      (live->flags & MW_STATE_RECORDS_FULL));
			}
			CHECK(write(ends[1], &calls, sizeof calls) == sizeof calls);
			_exit(0);
		}
		close(ends[1]);
		int status, made = 0;
		CHECK(waitpid(child, &status, 0) == child);
		if (status != 0) {
			printf("failing call %d: status %#x\n", failing, (unsigned)status);
			exit(1);
		}
		CHECK(read(ends[0], &made, sizeof made) == sizeof made);
		close(ends[0]);
		if (made > most)
			most = made;
	}
	printf("# %d calls swept\n", most);
	CHECK(most > 25);
}

static void each_refused_call(void) {
	sweep(fail_nth);
}

static void all_refused_from_a_call_on(void) {
	sweep(fail_from_nth);
}

static bool old_kernel(mw_os_call_t call) {
	return call == MW_OS_POPULATE_KNOWN;
}

/* Before Linux 5.14 blocks are reserved through the file's name, as long as it is the same file. */
static void old_kernels_reserve_by_name(void) {
	mw_os_fault_hook = old_kernel;
	start(1, 0, false);
	char *file = map_state_of(getpid());
	CHECK(file);
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	work(5000);
	CHECK_EQ(live->flags, 0);
	CHECK_EQ(live->live_bytes, 5000 * 32);
	CHECK_EQ(record_entry(file, 5000)->usable_bytes, 32);
	/* Another file under that name is left alone. */
	mw_state_header_t *header = (mw_state_header_t *)(void *)file;
	char path[256];
	snprintf(path, sizeof path, "%s/%u.%lu", state_directory(), header->pid,
		 header->start_ticks);
	CHECK(unlink(path) == 0);
	int other = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(other >= 0);
	work(50000);
	CHECK_EQ(live->flags, MW_STATE_FILE_FULL);
	CHECK_EQ(live->live_bytes, 55000 * 32);
	struct stat status;
	CHECK(fstat(other, &status) == 0 && status.st_blocks == 0);
	close(other);
	/* Nowhere to go without a name: no file at all, and no signal. */
	CHECK(!strstr(mapped_state(), "memfd"));
}

static void a_file_size_limit_raises_no_signal(void) {
	signal(SIGXFSZ, SIG_DFL);
	struct rlimit limit = {100000, RLIM_INFINITY};
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	start(1, 0, false);
	CHECK(!map_state_of(getpid()));
	CHECK_STR(mapped_state(), "");
	check_profile_goes_on();
	limit.rlim_cur = 8 << 20; /* not enough for an image laid out before: still no signal */
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	mw_prof_exit();
}

static void no_descriptors_left(void) {
	struct rlimit limit = {3, RLIM_INFINITY};
	struct rlimit old;
	CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
	limit.rlim_max = old.rlim_max;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	start(1, 0, false);
	check_profile_goes_on();
	CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
	CHECK(!mw_mirror_exists());
}

/* Does the kernel, or what stands for it, look at pages that are to be there?  Of one without any
 * permission it refuses that. */
static bool reserves_pages(void) {
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	bool refuses = madvise(page, 4096, MADV_POPULATE_WRITE) != 0;
	munmap(page, 4096);
	return refuses;
}

static bool mount_small(const char *options) {
	bool reserves = reserves_pages();
	CHECK(reserves || TEST_SLOWNESS > 1);
	if (!reserves) {
		printf("# skipped: this emulator does not know MADV_POPULATE_WRITE\n");
		return false;
	}
	if (geteuid() != 0 || mount("none", root, "tmpfs", 0, options) != 0) {
		printf("# skipped: cannot mount a small tmpfs\n");
		return false;
	}
	return true;
}

static void a_full_file_system_truncates_the_mirror(void) {
	if (!mount_small("size=256k"))
		return;
	start(1, 0, false);
	char *file = map_state_of(getpid());
	CHECK(file);
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	CHECK_EQ(live->flags, 0);
	work(20000); /* 1.3 MB of records */
	CHECK(live->flags & MW_STATE_FILE_FULL);
	/* The sums go on, in the file too. */
	CHECK_EQ(live->samples, 20000);
	CHECK_EQ(live->live_bytes, 20000 * 32);
	CHECK_EQ(mw_image_live()->live_bytes, 20000 * 32);
	int64_t sum = 0;
	for (uint64_t i = 0; i < live->stacks_used; i++)
		sum += stack_entry(file, i)->live_bytes;
	CHECK_EQ(sum, live->live_bytes);
	for (mw_record_id_t i = 1; i <= 20000; i++)
		fake_hooks->sample_freed(&thread.hook, i, false);
	CHECK_EQ(live->live_bytes, 0);
	mw_prof_exit();
	CHECK_EQ(event_entry(file, 1)->kind, MW_EVENT_FULL);
	CHECK_EQ(event_entry(file, 1)->a, MW_STATE_FILE_FULL);
	munmap(file, mw_image_header()->file_bytes);
	CHECK(umount2(root, MNT_DETACH) == 0);
}

/* Every size of file system up to one that holds all: the stacks always add up to the totals. */
static void any_amount_of_room(void) {
	if (geteuid() != 0)
		return;
	for (int kilobytes = 4; kilobytes <= 400; kilobytes += kilobytes < 80 ? 4 : 32) {
		char options[32];
		snprintf(options, sizeof options, "size=%dk", kilobytes);
		if (!mount_small(options))
			return;
		fflush(NULL);
		pid_t child = fork();
		if (child == 0) {
			start(1, 60000, false);
			for (int k = 0; k < 20; k++)
				for (int i = 0; i < 200; i++)
					work(1);
			char *file = map_state_of(getpid());
			if (file) {
				mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
				CHECK_EQ(live->live_bytes, 4000 * 32);
				CHECK_EQ(live->samples, 4000);
			}
			check_profile_goes_on();
			_exit(0);
		}
		int status;
		CHECK(waitpid(child, &status, 0) == child && status == 0);
		CHECK(umount2(root, MNT_DETACH) == 0);
	}
}

static void a_read_only_file_system(void) {
	if (!mount_small("size=1m,ro"))
		return;
	start(1, 0, false);
	CHECK(strstr(mapped_state(), "/memfd:mallow-state"));
	check_profile_goes_on();
	CHECK(umount2(root, MNT_DETACH) == 0);
}

/* ---- cleaning ---- */

static void leave_file(const char *name, int hours_old, size_t bytes) {
	char path[256];
	snprintf(path, sizeof path, "%s/%s", state_directory(), name);
	int file = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(file >= 0);
	CHECK(bytes == 0 || posix_fallocate(file, 0, (off_t)bytes) == 0);
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
	mw_stale_clean(directory, "own.1");
	close(directory);
}

/* Pids end below 2^22, so these are nobody's. */
static void old_files_of_the_dead_go(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	char own[64];
	snprintf(own, sizeof own, "%d.0", (int)getpid());
	leave_file("100000001.5", 23, 0);
	leave_file("100000002.5", 25, 0);
	leave_file("100000003.5.bak", 100, 0);
	leave_file("notes", 100, 0);
	leave_file("1x.2", 100, 0);
	leave_file(own, 100, 0);
	clean();
	CHECK(is_there("100000001.5"));
	CHECK(!is_there("100000002.5"));
	CHECK(is_there("100000003.5.bak") && is_there("notes") && is_there("1x.2"));
	CHECK(is_there(own)); /* it is running */
	char path[256];
	snprintf(path, sizeof path, "%s/%s", state_directory(), own);
	CHECK(unlink(path) == 0);
	leave_file("100000004.5", 100, 0);
	start(1, 0, false); /* cleans by itself */
	CHECK(!is_there("100000004.5"));
	CHECK(map_state_of(getpid()));
}

static void options_say_what_is_kept(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	leave_file("100000001.5", 1, 40000);
	leave_file("100000002.5", 2, 40000);
	leave_file("100000003.5", 3, 0);
	leave_file("100000004.5", 5, 0);
	mw_stale_configure(4 * 3600, 64, 1 << 20);
	clean();
	CHECK(is_there("100000003.5") && !is_there("100000004.5"));
	mw_stale_configure(4 * 3600, 2, 1 << 20);
	clean();
	CHECK(is_there("100000002.5") && !is_there("100000003.5"));
	mw_stale_configure(4 * 3600, 2, 50000);
	clean();
	CHECK(is_there("100000001.5") && !is_there("100000002.5"));
	mw_stale_configure(4 * 3600, 0, 50000);
	clean();
	CHECK(!is_there("100000001.5"));
}

static void a_process_with_a_reused_pid_is_dead(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	char name[64];
	snprintf(name, sizeof name, "%d.1", (int)getpid());
	leave_file(name, 100, 0);
	clean();
	CHECK(!is_there(name));
}

static void the_newest_are_kept(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	char name[64];
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "%d.7", 100000000 + i);
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
		snprintf(name, sizeof name, "%d.7", 100000000 + i);
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
		snprintf(name, sizeof name, "%d.7", 100000000 + i);
		leave_file(name, i < 90 ? 0 : 2, 0);
		char path[256];
		snprintf(path, sizeof path, "%s/%s", state_directory(), name);
		int file = open(path, O_WRONLY);
		header.parent_pid = i < 90 ? 4711 : 0;
		CHECK(write(file, &header, sizeof header) == sizeof header);
		live.flags = i < 60 ? MW_STATE_LEFT : 0;
		CHECK(pwrite(file, &live, sizeof live, 8192) == sizeof live);
		close(file);
		struct timeval times[2] = {{.tv_sec = time(NULL) - 60 * i},
					   {.tv_sec = time(NULL) - 60 * i}};
		CHECK(utimes(path, times) == 0);
	}
	clean();
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "%d.7", 100000000 + i);
		CHECK_EQ(is_there(name), i < 32 || (i >= 60 && i < 92));
	}
}

static void together_they_stay_small(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	if (geteuid() != 0 || mount("none", state_directory(), "tmpfs", 0, "mode=700") != 0) {
		printf("# skipped: needs a tmpfs of its own\n");
		return;
	}
	leave_file("100000001.1", 1, 100 << 20);
	leave_file("100000002.1", 2, 100 << 20);
	leave_file("100000003.1", 3, 100 << 20);
	leave_file("100000004.1", 4, 1 << 20);
	clean();
	CHECK(is_there("100000001.1") && is_there("100000002.1"));
	CHECK(!is_there("100000003.1") && !is_there("100000004.1"));
	CHECK(umount2(state_directory(), MNT_DETACH) == 0);
}

/* A process that ran for days and was killed just now: its file's own time is that of its start. */
static void the_last_update_counts(void) {
	start(1, 0, false);
	work(10);
	char *file = map_state_of(getpid());
	mw_state_header_t *header = (mw_state_header_t *)(void *)file;
	char old_path[256], new_path[256];
	snprintf(old_path, sizeof old_path, "%s/%u.%lu", state_directory(), header->pid,
		 header->start_ticks);
	snprintf(new_path, sizeof new_path, "%s/100000009.1", state_directory());
	CHECK(rename(old_path, new_path) == 0);
	struct timeval times[2] = {{.tv_sec = time(NULL) - 1000000},
				   {.tv_sec = time(NULL) - 1000000}};
	CHECK(utimes(new_path, times) == 0);
	clean();
	CHECK(is_there("100000009.1"));
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	live->updated_realtime_ns -= (uint64_t)30 * 3600 * 1000000000u;
	CHECK(utimes(new_path, times) == 0);
	clean();
	CHECK(!is_there("100000009.1"));
}

static void work_is_bounded(void) {
	CHECK(mkdir(state_directory(), 0700) == 0);
	char name[64];
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "%d.7", 100000000 + i);
		leave_file(name, 100, 0);
	}
	clean();
	int left = 0;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "%d.7", 100000000 + i);
		left += is_there(name);
	}
	CHECK(left >= 1000 - 256 && left <= 1000 - 250);
}

int main(void) {
	RUN_IN_CHILD(permissions_are_closed);
	RUN_IN_CHILD(an_open_directory_is_passed_over);
	RUN_IN_CHILD(a_symlink_is_passed_over);
	RUN_IN_CHILD(a_foreign_directory_is_passed_over);
	RUN_IN_CHILD(the_runtime_directory_is_second);
	RUN_IN_CHILD(own_leftovers_are_replaced);
	RUN_IN_CHILD(each_refused_call);
	RUN_IN_CHILD(all_refused_from_a_call_on);
	RUN_IN_CHILD(old_kernels_reserve_by_name);
	RUN_IN_CHILD(a_file_size_limit_raises_no_signal);
	RUN_IN_CHILD(no_descriptors_left);
	RUN_IN_CHILD(a_full_file_system_truncates_the_mirror);
	RUN_IN_CHILD(any_amount_of_room);
	RUN_IN_CHILD(a_read_only_file_system);
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
