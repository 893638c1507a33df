/* SPDX-License-Identifier: MIT
 * test_triggers.c -- dumps by themselves: when they are written, what they are called, which stay;
 * and what is in them. */
#include "prof/control/triggers.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "heap/layout/record.h"
#include "heap/sample/hooks.h"
#include "os/platform/kernel_calls.h"
#include "os/time/clock.h"
#include "prof/dump/dump.h"
#include "prof/prof.h"
#include "prof_fixture.h"
#include "test.h"

enum { KIB = 1024, MIB = 1024 * KIB };

static uint64_t settings[MW_SETTING_COUNT];
static char pattern[200];

/* Exact, dumps into the test's directory; settings[] holds what is switched on. */
static void begin_named(const char *name) {
	mw_state_file_set_root(root);
	unsetenv("XDG_RUNTIME_DIR");
	snprintf(pattern, sizeof pattern, "%s/%s", root, name);
	mw_prof_start(&(mw_prof_config_t){.active = true,
					  .mean_bytes = 1,
					  .depth_max = 64,
					  .settings = settings,
					  .dump_name = pattern,
					  .read_stats = read_stats});
	fake_thread_start(&thread);
}

static void begin(void) {
	begin_named("d.%n.%r");
}

static mw_record_id_t take(size_t bytes) {
	static uintptr_t address = 4096;
	bool sampled;
	mw_record_id_t record =
		fake_large(&thread, (void *)(address += 4096), bytes, bytes, &sampled);
	CHECK(sampled);
	return record;
}

static bool is_dump(const char *name) {
	return strncmp(name, "d.", 2) == 0;
}

/* Names of the dumps, sorted, with blanks between. */
static const char *dumps(void) {
	static char names[8192];
	struct dirent **entries;
	int count = scandir(root, &entries, NULL, alphasort);
	names[0] = '\0';
	for (int i = 0; i < count; i++) {
		if (is_dump(entries[i]->d_name)) {
			strcat(names, *names ? " " : "");
			strcat(names, entries[i]->d_name);
		}
		free(entries[i]);
	}
	free(entries);
	return names;
}

static void every_so_many_bytes(void) {
	settings[MW_SETTING_prof_interval] = 1000;
	begin();
	take(999);
	CHECK_STR(dumps(), "");
	take(1);
	CHECK_STR(dumps(), "d.0001.allocated");
	take(999);
	take(5000);
	CHECK_STR(dumps(), "d.0001.allocated d.0002.allocated");
	/* A reset begins anew, without a dump for the counters' way down. */
	mw_prof_reset();
	take(999);
	CHECK_STR(dumps(), "d.0001.allocated d.0002.allocated");
	take(1);
	CHECK_STR(dumps(), "d.0001.allocated d.0002.allocated d.0003.allocated");
}

static void every_so_many_bytes_freed(void) {
	settings[MW_SETTING_dump_freed] = 3000;
	begin();
	take(10000);
	fake_hooks->sample_freed(&thread.hook, take(2999), false);
	CHECK_STR(dumps(), "");
	fake_hooks->sample_freed(&thread.hook, take(1), false);
	CHECK_STR(dumps(), "d.0001.freed");
	fake_hooks->sample_freed(&thread.hook, take(8999), false);
	CHECK_STR(dumps(), "d.0001.freed d.0002.freed");
	fake_hooks->sample_freed(&thread.hook, take(1), false);
	CHECK_STR(dumps(), "d.0001.freed d.0002.freed d.0003.freed");
}

/* A step of one byte: what no sample saw counts as well, and what one saw counts once. */
static void each_new_height(void) {
	settings[MW_SETTING_dump_peak] = 1;
	begin();
	fake_hooks->grew(&thread.hook, 65536);
	CHECK_STR(dumps(), "d.0001.peak");
	fake_hooks->grew(&thread.hook, 65536);
	CHECK_STR(dumps(), "d.0001.peak");
	take(1000);
	CHECK_STR(dumps(), "d.0001.peak d.0002.peak");
	fake_hooks->grew(&thread.hook, 131072); /* for that block */
	CHECK_STR(dumps(), "d.0001.peak d.0002.peak");
	fake_hooks->grew(&thread.hook, 131072 - 65536);
	CHECK_STR(dumps(), "d.0001.peak d.0002.peak");
	fake_hooks->grew(&thread.hook, 131072 + 65536);
	CHECK_STR(dumps(), "d.0001.peak d.0002.peak d.0003.peak");
}

/* A step of any other length goes by estimates alone. */
static void heights_have_no_steps(void) {
	settings[MW_SETTING_dump_peak] = 2;
	begin();
	fake_hooks->grew(&thread.hook, 65536);
	CHECK_STR(dumps(), "");
}

static void peaks_by_steps(void) {
	settings[MW_SETTING_dump_peak] = 1000;
	settings[MW_SETTING_dump_peak_percent] = 50;
	begin();
	take(1000);
	CHECK_STR(dumps(), "d.0001.peak");
	mw_record_id_t record = take(999);
	CHECK_STR(dumps(), "d.0001.peak");
	take(1);
	CHECK_STR(dumps(), "d.0001.peak d.0002.peak");
	fake_hooks->sample_freed(&thread.hook, record, false);
	take(999); /* as high as it was */
	take(999); /* 999 above */
	CHECK_STR(dumps(), "d.0001.peak d.0002.peak");
	take(1);
	CHECK_STR(dumps(), "d.0001.peak d.0002.peak d.0003.peak");
	take(1499); /* less than half of 3000 */
	CHECK_STR(dumps(), "d.0001.peak d.0002.peak d.0003.peak");
	take(1);
	CHECK(strstr(dumps(), "d.0004.peak"));
}

static void a_limit_is_passed_once(void) {
	settings[MW_SETTING_dump_live] = 10000;
	begin();
	take(9999);
	CHECK_STR(dumps(), "");
	mw_record_id_t swing = take(500);
	CHECK_STR(dumps(), "d.0001.live");
	for (int i = 0; i < 10; i++) {
		fake_hooks->sample_freed(&thread.hook, swing, false);
		swing = take(500);
	}
	mw_record_id_t more = take(5000);
	CHECK_STR(dumps(), "d.0001.live");
	fake_hooks->sample_freed(&thread.hook, swing, false);
	fake_hooks->sample_freed(&thread.hook, more, false);
	mw_record_id_t low = take(1);
	fake_hooks->sample_freed(&thread.hook, low, false);
	CHECK_STR(dumps(), "d.0001.live");
	take(5000);
	CHECK_STR(dumps(), "d.0001.live");
}

static uint64_t test_now_ns = (uint64_t)1000000000 * 1700000000;
static uint64_t test_clock(void) {
	return test_now_ns;
}

static void pass_ms(uint64_t ms) {
	test_now_ns += ms * 1000000u;
}

static void time_cap_and_interval(void) {
	mw_os_clock_set_source(test_clock);
	settings[MW_SETTING_prof_interval] = 100;
	settings[MW_SETTING_dump_min_ms] = 5000;
	settings[MW_SETTING_dump_max] = 3;
	settings[MW_SETTING_dump_seconds] = 60;
	begin();
	take(100);
	take(100); /* too soon: due, but not yet written */
	CHECK_STR(dumps(), "d.0001.allocated");
	pass_ms(5000);
	fake_hooks->grew(&thread.hook, 1000); /* a tick: what was due is written */
	CHECK_STR(dumps(), "d.0001.allocated d.0002.allocated");
	pass_ms(55000);
	fake_hooks->grew(&thread.hook, 1000);
	CHECK_STR(dumps(), "d.0001.allocated d.0002.allocated d.0003.time");
	take(100);
	CHECK(strstr(dumps(), "d.0004.allocated"));
	pass_ms(60000);
	take(100); /* the fourth */
	CHECK(!strstr(dumps(), "d.0005.allocated") && strstr(dumps(), "d.0005.time"));
	mw_os_clock_set_source(NULL);
}

static void newest_and_largest_stay(void) {
	settings[MW_SETTING_prof_interval] = 100;
	settings[MW_SETTING_dump_keep] = 2;
	begin();
	take(100);
	fake_hooks->sample_freed(&thread.hook, take(9900), false); /* 2: the largest */
	for (int i = 0; i < 4; i++)
		fake_hooks->sample_freed(&thread.hook, take(100), false);
	CHECK_STR(dumps(), "d.0002.allocated d.0005.allocated d.0006.allocated");
	take(20000); /* 7: larger */
	CHECK_STR(dumps(), "d.0006.allocated d.0007.allocated");
	take(100);
	take(100);
	CHECK_STR(dumps(), "d.0008.allocated d.0009.allocated");
}

static void names_are_never_taken_from_others(void) {
	settings[MW_SETTING_prof_interval] = 100;
	begin_named("d.same");
	take(100);
	take(100);
	take(100);
	CHECK_STR(dumps(), "d.same d.same.1 d.same.2");
}

static void patterns(void) {
	setenv("TZ", "UTC", 1);
	begin();
	take(100);
	mw_dump_moment_t moment = {.reason = MW_DUMP_peak,
				   .number = 7,
				   .realtime_ns = 1700000000123456789u,
				   .live_bytes = 4711};
	char name[512], want[512], host[65];
	mw_state_file_describe();
	gethostname(host, sizeof host);
	CHECK(mw_dump_expand("%e.%p/%n-%r-%u%%%h%x%", &moment, name, sizeof name) < sizeof name);
	snprintf(want, sizeof want, "unit_prof_control_test_triggers.%d/0007-peak-4711%%%s%%x%%",
		 getpid(), host);
	CHECK_STR(name, want);
	CHECK_EQ(mw_dump_expand("%P.%n", &moment, name, sizeof name), 5);
	CHECK_STR(name, ".0007");
	mw_dump_set_prefix("a/%n");
	CHECK_EQ(mw_dump_expand("%P.%n", &moment, name, sizeof name), 9);
	CHECK_STR(name, "a/%n.0007");
	mw_dump_expand("%t", &moment, name, sizeof name);
	CHECK(strlen(name) == 19 && strcmp(name + 15, ".123") == 0);
	CHECK_EQ(mw_dump_expand("%t%t", &moment, name, 10), 38);
	CHECK_EQ(strlen(name), 9);
}

static void failures_cost_a_dump_only(void) {
	settings[MW_SETTING_prof_interval] = 100;
	begin_named("none/d");
	take(100);
	CHECK_STR(dumps(), "");
	CHECK_EQ(mw_store_live()->dumps_failed, 1);
	snprintf(pattern, sizeof pattern, "%s/d.x", root);
	mw_dump_set_name(pattern);
	/* SIGXFSZ would end us. */
	struct rlimit limit = {100, 100};
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	take(100);
	CHECK_STR(dumps(), "");
	CHECK_EQ(mw_store_live()->dumps_failed, 2);
	CHECK_EQ(mw_store_live()->dumps_written, 0);
}

static bool no_write(mw_os_call_t call) {
	return call == MW_OS_WRITE;
}

static void a_full_disk_leaves_nothing(void) {
	settings[MW_SETTING_prof_interval] = 100;
	begin();
	mw_os_fault_hook = no_write;
	take(100);
	mw_os_fault_hook = NULL;
	CHECK_STR(dumps(), "");
	take(100);
	CHECK_STR(dumps(), "d.0002.allocated");
}

static void on_a_signal(void) {
	settings[MW_SETTING_dump_signal] = SIGUSR1;
	begin();
	take(100);
	CHECK(raise(SIGUSR1) == 0);
	CHECK_STR(dumps(), "d.0001.signal");
	signal(SIGUSR2, SIG_IGN);
	CHECK(!mw_triggers_set(MW_SETTING_dump_signal, SIGUSR2));
	CHECK(!mw_triggers_set(MW_SETTING_dump_signal, SIGKILL));
	CHECK(!mw_triggers_set(MW_SETTING_dump_signal, 65));
	CHECK_EQ(mw_triggers_value(MW_SETTING_dump_signal), SIGUSR1);
	CHECK(mw_triggers_set(MW_SETTING_dump_signal, 0));
	CHECK(signal(SIGUSR1, SIG_IGN) == SIG_DFL);
}

static void large_requests_are_certain(void) {
	settings[MW_SETTING_request_limit] = MIB;
	settings[MW_SETTING_request_dump] = 1;
	begin();
	CHECK_EQ(mw_heap_certain_bytes, MIB);
	mw_prof_set_mean_bytes(1 << 30);
	mw_sample_request_t request = {.block = (void *)4096,
				       .requested_bytes = MIB,
				       .usable_bytes = MIB + 4096,
				       .trial_bytes = MIB + 4096,
				       .draw_generation =
					       mw_draw_generation(mw_heap_rate_generation, 0),
				       .certain = true};
	mw_record_id_t record = fake_hooks->sampled(&thread.hook, &request);
	CHECK(record != 0);
	CHECK_EQ(mw_store_live()->live_bytes, MIB + 4096);
	CHECK_EQ(mw_store_live()->live_objects_q16, 65536);
	CHECK_STR(dumps(), "d.0001.request");
	/* Switched off, they are logged and not counted. */
	mw_prof_set_active(false);
	uint64_t events = mw_store_live()->events_written;
	CHECK_EQ(fake_hooks->sampled(&thread.hook, &request), 0);
	CHECK_EQ(mw_store_live()->live_objects_q16, 65536);
	CHECK(mw_store_live()->events_written > events);
	CHECK(mw_triggers_set(MW_SETTING_request_limit, 1));
	CHECK_EQ(mw_heap_certain_bytes, MW_HEAP_CERTAIN_MIN_BYTES);
	CHECK(mw_triggers_set(MW_SETTING_request_limit, 0));
	CHECK(mw_heap_certain_bytes == UINT64_MAX);
}

/* ---- what is in them ---- */

static char text[1 << 20];
static size_t text_length;

static bool collect(void *context, const void *bytes, size_t length) {
	(void)context;
	CHECK(text_length + length < sizeof text);
	memcpy(text + text_length, bytes, length);
	text_length += length;
	return true;
}

static void heap_v2_adds_up(void) {
	begin();
	take(1000);
	take(3000);
	fake_hooks->sample_freed(&thread.hook, take(5000), false);
	CHECK_EQ(mw_dump_to_function(MW_DUMP_HEAP_V2, collect, NULL), MW_OK);
	text[text_length] = '\0';
	CHECK(strstr(text, "heap_v2/1\n  t*: 2: 4000 [3: 9000]\n  t0: 2: 4000 [0: 0] ") == text);
	CHECK(strstr(text, "\n  t*: 2: 4000 [3: 9000]\n  t0: 2: 4000 [0: 0]\n") ||
	      strstr(text, "\n  t*: 1: 1000 [1: 1000]\n  t0: 1: 1000 [0: 0]\n"));
	CHECK(strstr(text, "\nMAPPED_LIBRARIES:\n"));
	CHECK(strstr(text, "/unit_prof_control_test_triggers\n"));
}

static bool refuse(void *context, const void *bytes, size_t length) {
	(void)bytes;
	(void)length;
	++*(int *)context;
	return false;
}

static void a_callback_may_refuse(void) {
	begin();
	take(1000);
	int calls = 0;
	CHECK_EQ(mw_dump_to_function(MW_DUMP_PROTO, refuse, &calls), MW_ERR_IO);
	CHECK_EQ(calls, 1);
	CHECK_EQ(mw_dump_to_function(MW_DUMP_PROTO, collect, NULL), MW_OK);
	CHECK(text_length > 100 && memmem(text, text_length, "inuse_space", 11));
}

/* ---- beside others ---- */

static _Atomic bool ending;

static void *churn(void *context) {
	(void)context;
	fake_thread_t own;
	fake_thread_start(&own);
	while (!ending) {
		bool sampled;
		mw_record_id_t record = fake_large(&own, (void *)8192, 5000, 5000, &sampled);
		if (record)
			fake_hooks->sample_freed(&own.hook, record, false);
	}
	return NULL;
}

static void dumps_beside_allocations(void) {
	settings[MW_SETTING_prof_interval] = 500000;
	settings[MW_SETTING_dump_signal] = SIGUSR1;
	settings[MW_SETTING_dump_keep] = 3;
	begin();
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, churn, NULL) == 0);
	for (int i = 0; i < 200; i++) {
		pthread_kill(threads[i % 4], SIGUSR1);
		usleep(1000);
	}
	ending = true;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK(mw_store_live()->dumps_written > 10);
	CHECK_EQ(mw_store_live()->dumps_failed, 0);
	CHECK_EQ(mw_store_live()->live_bytes, 0);
}

static void a_child_counts_its_own(void) {
	settings[MW_SETTING_prof_interval] = 1000;
	begin_named("d.%n");
	take(1000);
	mw_prof_fork_prepare();
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		mw_prof_fork_child();
		take(999);
		CHECK_STR(dumps(), "d.0001");
		take(1);
		CHECK_STR(dumps(), "d.0001 d.0001.1");
		_exit(0);
	}
	mw_prof_fork_parent();
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	take(1000);
	CHECK_STR(dumps(), "d.0001 d.0001.1 d.0002");
}

static void heap_limits_are_passed_on(void) {
	settings[MW_SETTING_soft_limit] = 3 * MIB;
	begin();
	CHECK_EQ(fake_soft_bytes, 3 * MIB);
	CHECK_EQ(fake_hard_bytes, SIZE_MAX);
	CHECK_EQ(mw_prof_set(MW_SETTING_hard_limit, 7 * MIB), MW_OK);
	CHECK_EQ(fake_soft_bytes, 3 * MIB);
	CHECK_EQ(fake_hard_bytes, 7 * MIB);
	CHECK_EQ(mw_prof_set(MW_SETTING_soft_limit, 0), MW_OK);
	CHECK_EQ(fake_soft_bytes, SIZE_MAX);
	CHECK(mw_prof_set(MW_SETTING_hard_limit_percent, 101) != MW_OK);
	CHECK_EQ(fake_hard_bytes, 7 * MIB);
}

int main(void) {
	RUN_IN_CHILD(heap_limits_are_passed_on);
	RUN_IN_CHILD(every_so_many_bytes);
	RUN_IN_CHILD(every_so_many_bytes_freed);
	RUN_IN_CHILD(peaks_by_steps);
	RUN_IN_CHILD(each_new_height);
	RUN_IN_CHILD(heights_have_no_steps);
	RUN_IN_CHILD(a_limit_is_passed_once);
	RUN_IN_CHILD(time_cap_and_interval);
	RUN_IN_CHILD(newest_and_largest_stay);
	RUN_IN_CHILD(names_are_never_taken_from_others);
	RUN_IN_CHILD(patterns);
	RUN_IN_CHILD(failures_cost_a_dump_only);
	RUN_IN_CHILD(a_full_disk_leaves_nothing);
	RUN_IN_CHILD(on_a_signal);
	RUN_IN_CHILD(large_requests_are_certain);
	RUN_IN_CHILD(heap_v2_adds_up);
	RUN_IN_CHILD(a_callback_may_refuse);
	RUN_IN_CHILD(dumps_beside_allocations);
	RUN_IN_CHILD(a_child_counts_its_own);
	return 0;
}
