/* SPDX-License-Identifier: MIT
 * test_target.c -- finding state files: by pid, by path, of processes that live and that do not. */
#include <signal.h>

#include "fake_process.h"
#include "live/control.h"
#include "live/process/process.h"
#include "live/state_places.h"
#include "live/target.h"

static char runtime_directory[64];
static char state_directory[128];

/* A runtime directory of our own, so that no other process's files are in the way. */
static void setup(void) {
	snprintf(runtime_directory, sizeof(runtime_directory), "/tmp/mallow-test-target.%d",
		 getpid());
	snprintf(state_directory, sizeof(state_directory), "%s/mallow-%u", runtime_directory,
		 geteuid());
	CHECK(mkdir(runtime_directory, 0700) == 0 && mkdir(state_directory, 0700) == 0);
	setenv("XDG_RUNTIME_DIR", runtime_directory, 1);
}

static void cleanup(void) {
	CHECK(rmdir(state_directory) == 0 && rmdir(runtime_directory) == 0);
}

static fake_state_t make_state(int pid, uint64_t start_ticks) {
	char path[256];
	snprintf(path, sizeof(path), "%s/%d.%llu.%lu", state_directory, pid,
		 (unsigned long long)start_ticks, fake_state_namespace());
	return fake_state_create(path, (uint32_t)pid, start_ticks);
}

static uint64_t start_ticks_of(int pid) {
	mw_process_t process;
	CHECK(mw_process_read(pid, &process));
	return process.start_ticks;
}

/* The path of the file that the sleeper maps, "" = none yet. */
static char *path_of_sleeper;

static pid_t start_sleeper(void) {
	path_of_sleeper = mmap(NULL, MW_STATE_PAGE_BYTES, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	while (pid == 0) {
		int fd = path_of_sleeper[0] ? open(path_of_sleeper, O_RDWR) : -1;
		if (fd >= 0 && mmap(NULL, MW_STATE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
				    fd, 0) != MAP_FAILED)
			path_of_sleeper[0] = '\0';
		usleep(1000);
	}
	return pid;
}

/* The file becomes that of the sleeper, as it would if the library were in it. */
static void have_mapped(fake_state_t *state) {
	fake_state_hold(state);
	strcpy(path_of_sleeper + 1, state->path + 1);
	path_of_sleeper[0] = '/';
	while (*(volatile char *)path_of_sleeper)
		usleep(1000);
}

static const char *fail_to_resolve(const char *text) {
	static mw_error_t error;
	mw_target_t target;
	CHECK_EQ(mw_target_resolve(text, &target, &error), -1);
	return error.text;
}

static const char *pid_text(int pid) {
	static char text[16];
	snprintf(text, sizeof(text), "%d", pid);
	return text;
}

static void test_process_facts(void) {
	mw_process_t process;
	CHECK(mw_process_read(getpid(), &process));
	CHECK_EQ(process.pid, getpid());
	CHECK_EQ(process.uid, getuid());
	CHECK_EQ(process.euid, geteuid());
	CHECK(!process.zombie && process.inner_pid > 0 && process.start_ticks > 0);
	CHECK(mw_process_is_alive(getpid(), process.start_ticks));
	CHECK(!mw_process_is_alive(getpid(), process.start_ticks + 1));
	CHECK(!mw_process_read(-1, &process));
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	siginfo_t info;
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	CHECK(mw_process_read(pid, &process) && process.zombie);
	CHECK(!mw_process_is_alive(pid, process.start_ticks));
	waitpid(pid, NULL, 0);
	CHECK(!mw_process_read(pid, &process));
}

static void test_live_pid(void) {
	setup();
	pid_t pid = start_sleeper();
	fake_state_t state = make_state(pid, start_ticks_of(pid));
	/* Of a process that had the number before. */
	fake_state_t old = make_state(pid, 3);
	have_mapped(&state);
	mw_target_t target;
	mw_error_t error;
	CHECK_EQ(mw_target_resolve(pid_text(pid), &target, &error), 0);
	CHECK_STR(target.path, state.path);
	CHECK(target.is_state && target.alive && target.is_pid);
	CHECK_EQ(target.pid, pid);
	CHECK_STR(target.note, "");
	mw_target_release(&target);
	fake_process_end(pid);
	fake_state_remove(&state);
	fake_state_remove(&old);
	cleanup();
}

static void test_killed_pid_takes_the_newest(void) {
	setup();
	pid_t pid = start_sleeper();
	fake_process_end(pid);
	fake_state_t old = make_state(pid, 100);
	fake_state_t new = make_state(pid, 99);
	struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	CHECK(utimensat(AT_FDCWD, old.path, times, 0) == 0);
	mw_target_t target;
	mw_error_t error;
	CHECK_EQ(mw_target_resolve(pid_text(pid), &target, &error), 0);
	CHECK_STR(target.path, new.path);
	CHECK(!target.alive && strstr(target.note, "2 ended processes"));
	mw_target_release(&target);
	fake_state_remove(&new);
	CHECK_EQ(mw_target_resolve(pid_text(pid), &target, &error), 0);
	CHECK_STR(target.path, old.path);
	CHECK_STR(target.note, "");
	mw_target_release(&target);
	fake_state_remove(&old);
	CHECK(strstr(fail_to_resolve(pid_text(pid)), "no such process"));
	cleanup();
}

static void test_reused_pid_is_said(void) {
	setup();
	pid_t pid = start_sleeper();
	fake_state_t state = make_state(pid, 7);
	mw_target_t target;
	mw_error_t error;
	CHECK_EQ(mw_target_resolve(pid_text(pid), &target, &error), 0);
	CHECK(!target.alive && strstr(target.note, "now belongs to another process"));
	mw_target_release(&target);
	fake_process_end(pid);
	fake_state_remove(&state);
	cleanup();
}

static void test_pid_without_mallow(void) {
	setup();
	pid_t pid = start_sleeper();
	CHECK(strstr(fail_to_resolve(pid_text(pid)), "does not run mallow"));
	CHECK(strstr(fail_to_resolve(pid_text(pid)), "mallow run"));
	fake_process_end(pid);
	CHECK(strstr(fail_to_resolve("0"), "not a pid"));
	CHECK(strstr(fail_to_resolve("99999999999999999999"), "not a pid"));
	CHECK(strstr(fail_to_resolve(""), "give a pid"));
	cleanup();
}

/* Of thousands of files only those of the pid are opened. */
static void test_files_of_one_pid(void) {
	setup();
	fake_state_t states[] = {make_state(70001, 1), make_state(70002, 2), make_state(70001, 3),
				 make_state(7000, 4), make_state(70003, 5)};
	size_t found = 0;
	mw_places_t places = {.wanted = {70001, 70003}};
	mw_places_add_directories(&places);
	for (size_t i = 0; i < places.count; i++) {
		CHECK(places.items[i].pid == 70001 || places.items[i].pid == 70003);
		found += strncmp(places.items[i].path, state_directory, strlen(state_directory)) ==
			 0;
	}
	CHECK_EQ(found, 3);
	mw_places_release(&places);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		fake_state_remove(&states[i]);
	cleanup();
}

/* Symlinks, foreign names and directories are not state files. */
static void test_odd_entries_are_passed_over(void) {
	setup();
	pid_t pid = start_sleeper();
	char link[256], odd[256], good[256];
	snprintf(good, sizeof(good), "%s/target", runtime_directory);
	snprintf(link, sizeof(link), "%s/%d.5.7", state_directory, pid);
	snprintf(odd, sizeof(odd), "%s/%d.5.7x", state_directory, pid);
	fake_state_t state = fake_state_create(good, (uint32_t)pid, 5);
	CHECK(symlink(good, link) == 0 && mkdir(odd, 0700) == 0);
	mw_places_t places = {0};
	mw_places_add_directories(&places);
	for (size_t i = 0; i < places.count; i++)
		CHECK(strncmp(places.items[i].path, state_directory, strlen(state_directory)) != 0);
	mw_places_release(&places);
	CHECK(unlink(link) == 0 && rmdir(odd) == 0);
	fake_process_end(pid);
	fake_state_remove(&state);
	cleanup();
}

static void test_paths(void) {
	setup();
	fake_state_t state = make_state(getpid(), start_ticks_of(getpid()));
	mw_target_t target;
	mw_error_t error;
	CHECK_EQ(mw_target_resolve(state.path, &target, &error), 0);
	CHECK(target.is_state && !target.alive && !mw_target_is_alive(&target));
	mw_target_release(&target);
	fake_state_hold(&state);
	CHECK_EQ(mw_target_resolve(state.path, &target, &error), 0);
	CHECK(target.is_state && target.alive && !target.is_pid);
	CHECK_EQ(target.pid, getpid());
	CHECK(!target.is_elsewhere && mw_target_is_alive(&target));
	mw_target_release(&target);
	state.header->layout_version = 99;
	CHECK(strstr(fail_to_resolve(state.path), "99"));
	state.header->magic[0] = 'x';
	CHECK_EQ(mw_target_resolve(state.path, &target, &error), 0);
	CHECK(!target.is_state);
	mw_target_release(&target);
	CHECK(strstr(fail_to_resolve("/nonexistent/file"), "No such file"));
	CHECK(strstr(fail_to_resolve("/tmp"), "directory"));
	fake_state_remove(&state);
	cleanup();
}

/* Another file at the path of the one that was found: nothing is read from it or written to it. */
static void test_replaced_file(void) {
	setup();
	pid_t pid = start_sleeper();
	fake_state_t state = make_state(pid, start_ticks_of(pid));
	have_mapped(&state);
	mw_target_t target;
	mw_error_t error = {""};
	mw_snapshot_t *snapshot;
	CHECK_EQ(mw_target_resolve(pid_text(pid), &target, &error), 0);
	CHECK(mw_target_is_alive(&target));
	CHECK_EQ(mw_target_read(&target, 0, &snapshot, &error), 0);
	mw_snapshot_free(snapshot);
	CHECK(unlink(state.path) == 0);
	fake_state_t other = make_state(pid, start_ticks_of(pid));
	fake_state_hold(&other);
	CHECK(!mw_target_is_alive(&target));
	CHECK_EQ(mw_target_read(&target, 0, &snapshot, &error), -1);
	CHECK(strstr(error.text, "another file"));
	const mw_request_t request = {.kind = MW_REQUEST_START};
	mw_reply_t reply;
	CHECK_EQ(mw_control_send(&target, &request, 0, &reply, &error), -1);
	CHECK_EQ(other.control->sequence, 0);
	mw_target_release(&target);
	fake_process_end(pid);
	fake_state_remove(&other);
	cleanup();
}

/* A state file is of a process elsewhere if its pid namespace is another one, if another process
 * has its pid, or if the process with its pid does not map it: the pid names no process here. */
static void test_elsewhere(void) {
	setup();
	pid_t pid = start_sleeper();
	char path[256];
	snprintf(path, sizeof(path), "%s/%d.%llu.1", state_directory, pid,
		 (unsigned long long)start_ticks_of(pid));
	fake_state_t other = fake_state_create(path, (uint32_t)pid, start_ticks_of(pid));
	fake_state_t earlier = make_state(pid, 7);
	fake_state_hold(&other);
	fake_state_hold(&earlier);
	fake_state_t planted = make_state(pid, start_ticks_of(pid));
	fake_state_hold(&planted);
	CHECK(strstr(fail_to_resolve(pid_text(pid)), "does not run mallow"));
	const fake_state_t *states[] = {&other, &earlier, &planted};
	for (int i = 0; i < 3; i++) {
		mw_target_t target;
		mw_error_t error;
		CHECK_EQ(mw_target_resolve(states[i]->path, &target, &error), 0);
		CHECK(target.alive && target.is_elsewhere);
		CHECK_EQ(mw_target_process(&target), MW_PID_ELSEWHERE);
		mw_target_release(&target);
	}
	fake_process_end(pid);
	fake_state_remove(&other);
	fake_state_remove(&earlier);
	fake_state_remove(&planted);
	cleanup();
}

/* A process that ends releases its memory first: its file is held a moment longer than the process
 * maps it. */
static void test_ending(void) {
	setup();
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	siginfo_t info;
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	fake_state_t state = make_state(pid, start_ticks_of(pid));
	fake_state_hold(&state);
	mw_places_t places = {.wanted = {pid, pid}};
	mw_places_add_directories(&places);
	CHECK_EQ(places.count, 1);
	CHECK(!places.items[0].alive);
	CHECK_EQ(mw_place_process(&places.items[0]), 0);
	mw_places_release(&places);
	waitpid(pid, NULL, 0);
	fake_state_remove(&state);
	cleanup();
}

/* A state file without a name is found through the mappings of its process. */
static void test_memfd(void) {
	setup();
	int ready[2];
	CHECK(pipe(ready) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		char path[64];
		int fd = memfd_create("mallow-state", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		fake_state_t state =
			fake_state_create(path, (uint32_t)getpid(), start_ticks_of(getpid()));
		fake_state_hold(&state);
		close(fd);
		CHECK(write(ready[1], "x", 1) == 1);
		for (;;)
			pause();
	}
	char byte;
	CHECK(read(ready[0], &byte, 1) == 1);
	mw_target_t target;
	mw_error_t error = {""};
	int result = mw_target_resolve(pid_text(pid), &target, &error);
	CHECK_STR(error.text, "");
	CHECK_EQ(result, 0);
	CHECK(target.is_state && target.alive);
	CHECK(strstr(target.shown, "memfd:mallow-state"));
	if (geteuid() == 0) {
		mw_snapshot_t *snapshot;
		CHECK_EQ(mw_snapshot_read(target.path, 0, &snapshot, &error), 0);
		CHECK_EQ(snapshot->header.pid, pid);
		mw_snapshot_free(snapshot);
	}
	mw_target_release(&target);
	mw_places_t places = {0};
	mw_places_add_mapped(&places);
	bool found = false;
	for (size_t i = 0; i < places.count; i++)
		found = found || (places.items[i].pid == pid && places.items[i].by_map);
	CHECK(found);
	mw_places_release(&places);
	fake_process_end(pid);
	cleanup();
}

static void test_fate(void) {
	mw_snapshot_t snapshot = {.live = {.active = 1}};
	CHECK_STR(mw_fate_name(mw_fate_of(&snapshot, getpid())), "running");
	CHECK_STR(mw_fate_name(mw_fate_of(&snapshot, 0)), "killed");
	CHECK_STR(mw_fate_name(mw_fate_of(&snapshot, MW_PID_ELSEWHERE)), "elsewhere");
	snapshot.live.flags = MW_STATE_QUIT;
	CHECK_STR(mw_fate_name(mw_fate_of(&snapshot, getpid())), "running");
	CHECK_STR(mw_fate_name(mw_fate_of(&snapshot, 0)), "_exit");
	/* exit(3), and a handler of it that calls _exit(2). */
	snapshot.live.flags |= MW_STATE_ENDED;
	CHECK_STR(mw_fate_name(mw_fate_of(&snapshot, 0)), "exited");
	snapshot.live.active = 0;
	CHECK_STR(mw_fate_name(mw_fate_of(&snapshot, getpid())), "running");
}

int main(void) {
	RUN(test_process_facts);
	RUN(test_live_pid);
	RUN(test_killed_pid_takes_the_newest);
	RUN(test_reused_pid_is_said);
	RUN(test_pid_without_mallow);
	RUN(test_files_of_one_pid);
	RUN(test_odd_entries_are_passed_over);
	RUN(test_paths);
	RUN(test_replaced_file);
	RUN(test_elsewhere);
	RUN(test_ending);
	RUN(test_memfd);
	RUN(test_fate);
	return 0;
}
