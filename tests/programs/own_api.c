/* SPDX-License-Identifier: MIT
 * own_api.c -- the functions of <mallow/mallow.h>, found in the preloaded library. */
#define MALLOW_WEAK
#include <mallow/mallow.h>

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "programs.h"

static void *volatile sink;

__attribute__((noinline)) static void keep(size_t count, size_t bytes) {
	for (size_t i = 0; i < count; i++)
		sink = malloc(bytes);
}

static mallow_status_t status(void) {
	mallow_status_t now = {.size = sizeof now};
	MUST(mallow_status(&now) == 0);
	return now;
}

static void start_stop_reset(void) {
	MUST(mallow_set("prof_sample", "1") == 0);
	MUST(mallow_start() == 0 && mallow_start() == 0);
	MUST(status().active == 1 && status().mean_bytes == 1);
	MUST(mallow_reset() == 0);
	MUST(status().live_bytes == 0 && status().samples == 0);
	keep(100, 1000);
	mallow_status_t full = status();
	MUST(full.live_objects == 100 && full.live_bytes >= 100000);
	MUST(full.allocated_objects == 100 && full.samples == 100);
	MUST(mallow_stop() == 0);
	keep(100, 1000);
	MUST(status().allocated_objects == 100 && status().active == 0);
	MUST(mallow_start() == 0);
}

static void settings(void) {
	MUST(mallow_set("no_such_option", "1") == ENOENT);
	MUST(mallow_set("prof_seed", "1") == ENOENT);
	MUST(mallow_set("dump_live", "much") == EINVAL);
	MUST(mallow_set("dump_signal", "65") == EINVAL);
	MUST(mallow_set("dump_signal", "9") == EINVAL);
	MUST(mallow_set("prof_sample", "0") == EINVAL);
	MUST(mallow_set("dump_live", "1G") == 0);
	MUST(mallow_set("dump_live", "0") == 0);
	mallow_status_t small = {.size = 8};
	MUST(mallow_status(&small) == EINVAL);
}

static void ignored(void) {
	int64_t before = status().allocated_objects;
	mallow_ignore_begin();
	mallow_ignore_begin();
	keep(50, 100);
	mallow_ignore_end();
	keep(50, 100);
	mallow_ignore_end();
	MUST(status().allocated_objects == before);
	keep(1, 100);
	MUST(status().allocated_objects == before + 1);
}

static char collected[1 << 22];
static size_t collected_bytes;

static int collect(void *context, const void *bytes, size_t length) {
	MUST(context == collected && collected_bytes + length <= sizeof collected);
	/* It may allocate. */
	sink = malloc(length);
	memcpy(collected + collected_bytes, bytes, length);
	collected_bytes += length;
	return 0;
}

static int refuse(void *context, const void *bytes, size_t length) {
	(void)context;
	(void)bytes;
	(void)length;
	return 1;
}

static void dumps(void) {
	char path[64];
	snprintf(path, sizeof path, "/tmp/mallow-own-api.%d.pb", getpid());
	MUST(mallow_dump(path) == 0 && access(path, R_OK) == 0);
	MUST(mallow_dump("/no/such/folder/x.pb") == ENOENT);
	MUST(unlink(path) == 0);
	MUST(mallow_set("dump_name", path) == 0);
	MUST(mallow_dump(NULL) == 0 && unlink(path) == 0);
	MUST(mallow_dump_to(MALLOW_HEAP_V2, collect, collected) == 0);
	MUST(memcmp(collected, "heap_v2/", 8) == 0);
	MUST(mallow_dump_to(MALLOW_PROTO, refuse, NULL) == EIO);
	MUST(mallow_dump_to((mallow_format_t)7, collect, collected) == EINVAL);
	MUST(mallow_dump_to(MALLOW_PROTO, NULL, NULL) == EINVAL);
	MUST(status().dumps_written == 2 && status().dumps_failed == 1);
}

static void *named(void *unused) {
	char name[16];
	MUST(mallow_thread_name("api-thread") == 0);
	MUST(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
	MUST(strcmp(name, "api-thread") == 0);
	return unused;
}

int main(void) {
	pthread_t thread;
	must_be_mallow();
	MUST(mallow_version && mallow_version()[0] != '\0');
	errno = 4711;
	start_stop_reset();
	settings();
	ignored();
	MUST(errno == 4711);
	dumps();
	MUST(pthread_create(&thread, NULL, named, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	return 0;
}
