/* SPDX-License-Identifier: MIT
 * test_collect_children.c -- which state files of a run are removed while its program runs. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/run/collect_children.h"
#include "fake_state.h"
#include "test.h"

/* Larger than any pid: these processes have ended. */
enum { PROGRAM_PID = 1 << 22 | 1, CHILD_PID };

static char root[] = "/tmp/mallow-children-XXXXXX";
static char directory[64];

static const char *path_of(int pid) {
	static char path[128];
	snprintf(path, sizeof(path), "%s/%d.5.1", directory, pid);
	return path;
}

/* Writes the state file of an ended process of the session. `samples`: how many it took. */
static void leave_file(int pid, uint64_t samples) {
	fake_state_t state;
	fake_state_init(&state);
	state.header->pid = (uint32_t)pid;
	state.header->start_ticks = 5;
	state.live->samples = samples;
	strcpy(state.header->session, "run-of-this-test");
	fake_state_save(&state, path_of(pid));
	fake_state_release(&state);
}

static bool exists(int pid) {
	return access(path_of(pid), F_OK) == 0;
}

static mw_children_t begin(void) {
	return (mw_children_t){
		.session = "run-of-this-test", .directory = ".", .program = "demo", .held_fd = -1};
}

static void test_ended_children_without_samples_leave_no_file(void) {
	mw_children_t children = begin();
	leave_file(CHILD_PID, 0);
	leave_file(CHILD_PID + 1, 3);
	mw_children_poll(&children, PROGRAM_PID);
	CHECK(!exists(CHILD_PID));
	CHECK(exists(CHILD_PID + 1));
	unlink(path_of(CHILD_PID + 1));
}

/* A program may end just before it is looked at. Its file says why there is no profile, and what a
 * check for leaks has found. */
static void test_the_file_of_the_program_stays_until_it_was_read(void) {
	mw_children_t children = begin();
	leave_file(PROGRAM_PID, 0);
	mw_children_poll(&children, PROGRAM_PID);
	CHECK(exists(PROGRAM_PID));
	mw_launch_t launch = {.pid = PROGRAM_PID, .start_ticks = 5};
	children.launch = &launch;
	mw_children_collect(&children);
	CHECK(!exists(PROGRAM_PID));
}

int main(void) {
	CHECK(mkdtemp(root) != NULL && setenv("XDG_RUNTIME_DIR", root, 1) == 0);
	snprintf(directory, sizeof(directory), "%s/mallow-%u", root, (unsigned)geteuid());
	CHECK(mkdir(directory, 0700) == 0);
	RUN(test_ended_children_without_samples_leave_no_file);
	RUN(test_the_file_of_the_program_stays_until_it_was_read);
	CHECK(rmdir(directory) == 0 && rmdir(root) == 0);
	return 0;
}
