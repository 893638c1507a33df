/* SPDX-License-Identifier: MIT
 * test_slow_disk.c -- while a dump waits for its disk, nobody waits for the dump: not fork, not
 * start and stop, not settings, not the next order. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "os/platform/kernel_calls.h"
#include "prof/control/control.h"
#include "prof/control/triggers.h"
#include "prof/dump/dump.h"
#include "prof/prof.h"
#include "prof_fixture.h"
#include "test.h"

static atomic_bool is_slow, is_writing;

/* The disk: a write sleeps until the test lets it go on. */
static bool wait_for_disk(mw_os_call_t call) {
	if (call != MW_OS_WRITE || !atomic_load(&is_slow))
		return false;
	atomic_store(&is_writing, true);
	while (atomic_load(&is_slow))
		usleep(1000);
	return false;
}

static mw_state_control_t *words;
static mw_state_live_t *live;

static void begin(void) {
	start(1, 0, false);
	bool sampled;
	fake_large(&thread, (void *)4096, 70000, 70000, &sampled);
	CHECK(sampled);
	mw_control_publish();
	char *file = map_state_of(getpid());
	CHECK(file != NULL);
	words = section_of(file, MW_SECTION_CONTROL);
	live = section_of(file, MW_SECTION_LIVE);
	char name[128];
	snprintf(name, sizeof name, "%s/d.%%n", root);
	CHECK_EQ(mw_prof_set_dump_name(name), MW_OK);
	memcpy(words->want_dump_name, live->dump_name, sizeof words->want_dump_name);
	mw_os_fault_hook = wait_for_disk;
}

/* As the command does. */
static uint32_t order(uint32_t dumps) {
	words->want_dumps = dumps;
	return atomic_fetch_add(&words->sequence, 1) + 1;
}

static void *poll_once(void *unused) {
	(void)unused;
	mw_control_poll();
	return NULL;
}

static void *write_own(void *path) {
	CHECK_EQ(mw_prof_dump(path), MW_OK);
	return NULL;
}

/* Starts a dump that stays at its first write. */
static pthread_t begin_dump(void *(*body)(void *), void *argument) {
	pthread_t dumper;
	atomic_store(&is_writing, false);
	atomic_store(&is_slow, true);
	CHECK(pthread_create(&dumper, NULL, body, argument) == 0);
	while (!atomic_load(&is_writing))
		usleep(1000);
	return dumper;
}

static void end_dump(pthread_t dumper) {
	atomic_store(&is_slow, false);
	CHECK(pthread_join(dumper, NULL) == 0);
}

/* All that a program or a tool may want meanwhile; the process's alarm ends a test that hangs. */
static void go_on(const char *new_name) {
	mw_prof_set_active(false);
	CHECK(!mw_prof_is_active());
	mw_prof_set_active(true);
	CHECK(mw_prof_is_active());
	CHECK_EQ(mw_prof_set_mean_bytes(2), MW_OK);
	CHECK_EQ(mw_prof_set(MW_SETTING_dump_keep, 5), MW_OK);
	CHECK_EQ(mw_prof_set_dump_name(new_name), MW_OK);
	mw_dump_set_prefix("other");
	mw_prof_reset();
	mw_prof_fork_prepare();
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		mw_prof_fork_child();
		atomic_store(&is_slow, false);
		/* The parent's dump is none of the child's. */
		char path[128];
		snprintf(path, sizeof path, "%s/child", root);
		CHECK_EQ(mw_prof_dump(path), MW_OK);
		_exit(0);
	}
	mw_prof_fork_parent();
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static bool exists(const char *name) {
	char path[256];
	snprintf(path, sizeof path, "%s/%s", root, name);
	return access(path, F_OK) == 0;
}

static void an_ordered_dump(void) {
	begin();
	uint32_t dumps = live->dumps_done, first = order(dumps + 1);
	pthread_t dumper = begin_dump(poll_once, NULL);
	CHECK_EQ(live->sequence_seen, first);
	CHECK_EQ(live->dumps_done, dumps);
	char name[128];
	snprintf(name, sizeof name, "%s/e.%%n", root);
	go_on(name);
	CHECK(exists("child"));
	/* An order that has nothing to do with dumps, and one for the next dump. */
	memcpy(words->want_dump_name, name, sizeof name);
	words->want_active = 0;
	uint32_t second = order(dumps + 1);
	mw_control_poll();
	CHECK_EQ(live->sequence_seen, second);
	CHECK(!mw_prof_is_active());
	uint32_t third = order(dumps + 2);
	mw_control_poll();
	CHECK_EQ(live->sequence_seen, third);
	CHECK_EQ(live->dumps_done, dumps);
	CHECK(!exists("d.0001"));
	end_dump(dumper);
	CHECK_EQ(live->dumps_done, dumps + 2);
	CHECK_EQ(live->dumps_written, 2);
	CHECK(exists("d.0001") && exists("e.0002"));
}

static void a_dump_of_the_program(void) {
	begin();
	char path[128], name[128];
	snprintf(path, sizeof path, "%s/own", root);
	snprintf(name, sizeof name, "%s/e.%%n", root);
	pthread_t dumper = begin_dump(write_own, path);
	go_on(name);
	uint32_t dumps = live->dumps_done, sequence;
	memcpy(words->want_dump_name, name, sizeof name);
	sequence = order(dumps + 1);
	mw_control_poll();
	CHECK_EQ(live->sequence_seen, sequence);
	CHECK_EQ(live->dumps_done, dumps);
	end_dump(dumper);
	/* Whoever was writing serves what came meanwhile. */
	CHECK_EQ(live->dumps_done, dumps + 1);
	CHECK(exists("own") && exists("e.0002"));
}

int main(void) {
	RUN_IN_CHILD(an_ordered_dump);
	RUN_IN_CHILD(a_dump_of_the_program);
	return 0;
}
