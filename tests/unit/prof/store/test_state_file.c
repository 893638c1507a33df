/* SPDX-License-Identifier: MIT
 * test_state_file.c -- places, hostile directories, full file systems, refusals of the kernel, and
 * the cleaning of what dead processes left. */
#include "prof/store/state_file.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>

#include "heap/layout/record.h"
#include "os/platform/kernel_calls.h"
#include "os/time/clock.h"
#include "prof/control/control.h"
#include "prof/store/published.h"
#include "prof_fixture.h"

static void work(int allocations) {
	bool sampled;
	for (int i = 0; i < allocations; i++)
		fake_small(&thread, 1, &thread, 32, 32, &sampled);
}

/* Whatever becomes of the file, the program runs and the profile table is complete. */
static void check_profile_goes_on(void) {
	uint64_t samples = mw_store_live()->samples;
	work(100);
	CHECK_EQ(mw_store_live()->samples, samples + 100);
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

/* Whatever pages the kernel has that maps the file. */
static void sections_can_be_mapped_alone(void) {
	start(1, 0, false);
	const mw_state_header_t *header = mw_store_header();
	unsigned growing = 0;
	for (int i = 0; i < MW_SECTION_COUNT; i++) {
		const mw_state_section_t *section = &header->sections[i];
		if (section->offset_bytes < MW_STATE_FIRSTS_BYTES)
			continue;
		CHECK_EQ(section->offset_bytes % 65536, 0);
		growing++;
	}
	CHECK(growing > 8);
	CHECK_EQ(header->file_bytes % 65536, 0);
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
	mw_published_drop();
	CHECK(first && !mw_published_exists());
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
	if (mw_store_exists())
		CHECK(mw_store_live()->samples <= FAULT_SAMPLES);
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
			if (mw_store_exists()) {
				const mw_state_live_t *live = mw_store_live();
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
	/* In an emulator there are fewer samples, and so fewer segments of tables. */
	CHECK(most > 50 / TEST_SLOWNESS);
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
	snprintf(path, sizeof path, "%s/%u.%lu.%lu", state_directory(), header->pid,
		 header->start_ticks, header->pid_namespace);
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
	limit.rlim_cur =
		8 << 20; /* too little for a file that is laid out at the start: still no signal */
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
	CHECK(!mw_published_exists());
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

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

static void a_full_file_system_truncates_the_published_copy(void) {
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
	CHECK_EQ(mw_store_live()->live_bytes, 20000 * 32);
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
	munmap(file, mw_store_header()->file_bytes);
	CHECK(umount2(root, MNT_DETACH) == 0);
}

static void fill_up(const char *name, size_t bytes) {
	char path[128];
	snprintf(path, sizeof path, "%s/%s", root, name);
	int file = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(file >= 0 && posix_fallocate(file, 0, (off_t)bytes) == 0);
	close(file);
}

/* A file of a process that ended, without the lock. */
static void leave_dead(int number, size_t bytes, int hours_old) {
	char name[128], path[256];
	snprintf(name, sizeof name, "%s/%d.5.9", strrchr(state_directory(), '/'),
		 100000000 + number);
	fill_up(name, bytes);
	snprintf(path, sizeof path, "%s%s", root, name);
	int file = open(path, O_RDWR);
	CHECK(file >= 0 && pwrite(file, MW_STATE_MAGIC, 8, 0) == 8);
	struct timespec then = {.tv_sec = time(NULL) - hours_old * 3600};
	CHECK(futimens(file, (struct timespec[]){then, then}) == 0);
	close(file);
}

static bool is_left(int number) {
	char path[256];
	snprintf(path, sizeof path, "%s/%d.5.9", state_directory(), 100000000 + number);
	return access(path, F_OK) == 0;
}

/* The totals, the stacks and the records of the file are those of the tables. */
static void check_copy_is_whole(char *file) {
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	CHECK(!(live->flags & MW_STATE_FILE_FULL));
	CHECK_EQ(live->records_used, mw_store_live()->records_used);
	CHECK_EQ(live->live_bytes, mw_store_live()->live_bytes);
	for (uint64_t i = 0; i < live->records_used; i++)
		CHECK(memcmp(record_entry(file, i), mw_store_private(MW_SECTION_RECORDS, i),
			     sizeof(mw_state_record_t)) == 0);
	for (uint64_t i = 0; i < live->stacks_used; i++)
		CHECK(memcmp(stack_entry(file, i), mw_store_private(MW_SECTION_STACKS, i),
			     sizeof(mw_state_stack_t)) == 0);
}

static bool is_whole(void) {
	return !(mw_store_live()->flags & MW_STATE_FILE_FULL);
}

/* Ticks, as a program has that goes on allocating. */
static void work_until(bool (*is_done)(void)) {
	for (int i = 0; i < 3000 && !is_done(); i++) {
		usleep(20000);
		work(1);
		mw_control_maintain(0, mw_os_monotonic_ns());
	}
	CHECK(is_done());
}

static void a_moment_without_room_is_made_up_for(void) {
	if (!mount_small("size=4m"))
		return;
	start(1, 0, false);
	char *file = map_state_of(getpid());
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	fill_up("/other", (4u << 20) - (200u << 10));
	work(20000);
	CHECK(live->flags & MW_STATE_FILE_FULL);
	char other[128];
	snprintf(other, sizeof other, "%s/other", root);
	CHECK(unlink(other) == 0);
	work_until(is_whole);
	check_copy_is_whole(file);
	work(5000); /* and grows again */
	check_copy_is_whole(file);
	CHECK(umount2(root, MNT_DETACH) == 0);
}

static size_t free_bytes(void) {
	struct statvfs system;
	CHECK(statvfs(root, &system) == 0);
	return system.f_bavail * system.f_bsize;
}

/* A program that gets no shared memory fails. */
static void room_is_left_for_the_program(void) {
	if (!mount_small("size=2m"))
		return;
	start(1, 0, false);
	char *file = map_state_of(getpid());
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	work(2000);
	CHECK_EQ(live->flags, 0);
	fill_up("/other", free_bytes() - (2u << 17) - 8192);
	work(2000);
	CHECK(live->flags & MW_STATE_FILE_FULL);
	CHECK(free_bytes() >= 2u << 17);
	CHECK(umount2(root, MNT_DETACH) == 0);
}

static void without_room_for_the_program_there_is_no_named_file(void) {
	if (!mount_small("size=2m"))
		return;
	fill_up("/other", free_bytes() - (2u << 17) - MW_STATE_FIRSTS_BYTES + 4096);
	start(1, 0, false);
	CHECK(mw_published_base());
	CHECK(rmdir(state_directory()) == 0);
	CHECK(umount2(root, MNT_DETACH) == 0);
}

static void the_oldest_dead_make_room_for_a_new_file(void) {
	if (!mount_small("size=4m"))
		return;
	CHECK(mkdir(state_directory(), 0700) == 0);
	for (int i = 1; i <= 4; i++)
		leave_dead(i, 1000u << 10, i);
	fill_up("/other", (4u << 20) - (4001u << 10) - 8192);
	start(1, 0, false);
	CHECK(map_state_of(getpid()));
	CHECK(!is_left(4) && is_left(1)); /* the oldest went */
	CHECK(umount2(root, MNT_DETACH) == 0);
}

static void the_oldest_dead_make_room_for_growth(void) {
	if (!mount_small("size=4m"))
		return;
	start(1, 0, false);
	char *file = map_state_of(getpid());
	for (int i = 1; i <= 3; i++)
		leave_dead(i, 1000u << 10, i);
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	work(20000);
	/* On a slow machine a tick of the work has made room already. */
	CHECK((live->flags & MW_STATE_FILE_FULL) || !is_left(3));
	work_until(is_whole);
	check_copy_is_whole(file);
	CHECK(!is_left(3) && is_left(1));
	CHECK(umount2(root, MNT_DETACH) == 0);
}

static void dead_files_make_room_for_a_name(void) {
	if (!mount_small("size=4m,nr_inodes=6"))
		return;
	CHECK(mkdir(state_directory(), 0700) == 0);
	for (int i = 1; i <= 4; i++)
		leave_dead(i, 4096, i);
	start(1, 0, false);
	CHECK(map_state_of(getpid()));
	CHECK(!is_left(4) && is_left(1));
	CHECK(umount2(root, MNT_DETACH) == 0);
}

static void the_dead_have_a_quarter_at_most(void) {
	if (!mount_small("size=4m"))
		return;
	CHECK(mkdir(state_directory(), 0700) == 0);
	for (int i = 1; i <= 6; i++)
		leave_dead(i, 300u << 10, i);
	start(1, 0, false);
	for (int i = 1; i <= 6; i++)
		CHECK_EQ(is_left(i), i <= 3);
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

int main(void) {
	RUN_IN_CHILD(sections_can_be_mapped_alone);
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
	RUN_IN_CHILD(a_full_file_system_truncates_the_published_copy);
	RUN_IN_CHILD(a_moment_without_room_is_made_up_for);
	RUN_IN_CHILD(room_is_left_for_the_program);
	RUN_IN_CHILD(without_room_for_the_program_there_is_no_named_file);
	RUN_IN_CHILD(the_oldest_dead_make_room_for_a_new_file);
	RUN_IN_CHILD(the_oldest_dead_make_room_for_growth);
	RUN_IN_CHILD(dead_files_make_room_for_a_name);
	RUN_IN_CHILD(the_dead_have_a_quarter_at_most);
	RUN_IN_CHILD(any_amount_of_room);
	RUN_IN_CHILD(a_read_only_file_system);
	return 0;
}
