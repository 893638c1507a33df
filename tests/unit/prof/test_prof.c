/* SPDX-License-Identifier: MIT
 * test_prof.c -- the profiler as a whole, driven by a heap of the test's: samples, frees, orders
 * of tools, the state file, fork and exit. */
#include "prof/prof.h"
#include "state/stats.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap/layout/record.h"
#include "heap/memory/limit.h"
#include "os/platform/kernel_calls.h"
#include "prof/store/published.h"
#include "prof/store/store.h"
#include "prof_fixture.h"
#include "test.h"

/* All counters of the profile table and, when there is one, of the file. */
static void check_live_zero(char *base) {
	mw_state_live_t *live = section_of(base, MW_SECTION_LIVE);
	CHECK_EQ(live->live_bytes, 0);
	CHECK_EQ(live->live_objects_q16, 0);
	for (uint64_t i = 0; i < live->stacks_used; i++) {
		CHECK_EQ(stack_entry(base, i)->live_objects_q16, 0);
		CHECK_EQ(stack_entry(base, i)->live_bytes, 0);
		CHECK_EQ(stack_entry(base, i)->live_requested_bytes, 0);
		CHECK_EQ(stack_entry(base, i)->live_zero_objects_q16, 0);
		CHECK_EQ(stack_entry(base, i)->live_samples, 0);
	}
}

static void exact_counts_return_to_zero(void) {
	start(1, 0, false);
	enum { BLOCKS = 5000 };
	static mw_record_id_t records[BLOCKS];
	int64_t bytes = 0, requested = 0;
	for (uintptr_t i = 0; i < BLOCKS; i++) {
		bool sampled;
		records[i] = fake_small(&thread, i % 7, (void *)(i + 1), i % 100, 16 * (i % 7 + 1),
					&sampled);
		CHECK(sampled && records[i]);
		bytes += (int64_t)(16 * (i % 7 + 1));
		requested += (int64_t)(i % 100);
	}
	char *file = map_state_of(getpid());
	CHECK(file);
	char *bases[] = {store_base(), file};
	for (int k = 0; k < 2; k++) {
		mw_state_live_t *live = section_of(bases[k], MW_SECTION_LIVE);
		CHECK_EQ(live->live_bytes, bytes);
		CHECK_EQ(live->alloc_bytes, bytes);
		CHECK_EQ(live->live_objects_q16, BLOCKS * 65536ll);
		CHECK_EQ(live->samples, BLOCKS);
		int64_t stack_bytes = 0, stack_requested = 0, zeros = 0;
		for (uint64_t i = 0; i < live->stacks_used; i++) {
			stack_bytes += stack_entry(bases[k], i)->live_bytes;
			stack_requested += stack_entry(bases[k], i)->live_requested_bytes;
			zeros += stack_entry(bases[k], i)->live_zero_objects_q16;
		}
		CHECK_EQ(stack_bytes, bytes);
		CHECK_EQ(stack_requested, requested);
		CHECK_EQ(zeros, BLOCKS / 100 * 65536ll);
		CHECK_EQ(record_entry(bases[k], records[77])->address, 78);
		CHECK_EQ(record_entry(bases[k], records[77])->requested_bytes, 77);
		CHECK_EQ(record_entry(bases[k], records[77])->weight_q16, 65536);
		CHECK_EQ(record_entry(bases[k], records[77])->sequence % 2, 0);
	}
	for (int i = 0; i < BLOCKS; i++)
		fake_hooks->sample_freed(&thread.hook, records[i], false);
	check_live_zero(store_base());
	check_live_zero(file);
	/* Freed records are used again. */
	bool sampled;
	CHECK(fake_small(&thread, 0, &thread, 1, 16, &sampled) <= BLOCKS);
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	CHECK_EQ(live->records_used, BLOCKS + 1);
}

static void sampled_counts_return_to_zero(void) {
	start(4096, 0, false);
	enum { BLOCKS = 200000 };
	static mw_record_id_t records[BLOCKS];
	int taken = 0;
	for (uintptr_t i = 0; i < BLOCKS; i++) {
		bool sampled;
		mw_record_id_t record = fake_small(&thread, i % 9, (void *)(i + 1), 10 * (i % 9),
						   48 * (i % 9 + 1), &sampled);
		if (sampled)
			records[taken++] = record;
	}
	CHECK(taken > 1000);
	for (int i = 0; i < taken; i++)
		fake_hooks->sample_freed(&thread.hook, records[i], false);
	check_live_zero(store_base());
	check_live_zero(map_state_of(getpid()));
}

static void header_describes_the_process(void) {
	start(65536, 0, false);
	mw_state_header_t *header = (mw_state_header_t *)(void *)map_state_of(getpid());
	CHECK(header && memcmp(header->magic, MW_STATE_MAGIC, 8) == 0);
	CHECK_EQ(header->layout_version, MW_STATE_VERSION);
	CHECK_EQ(header->pid, getpid());
	CHECK_EQ(header->uid, geteuid());
	CHECK(header->start_ticks > 0);
	CHECK_STR(header->session, "a test");
	CHECK_STR(header->program, "unit_prof_test_prof");
	CHECK_STR(header->library_version, MALLOW_VERSION);
	CHECK(strstr(header->exe, "/unit_prof_test_prof"));
	CHECK(strstr(header->args, "unit_prof_test_prof"));
	mw_state_live_t *live = section_of((char *)header, MW_SECTION_LIVE);
	CHECK_EQ(live->active, 1);
	CHECK_EQ(live->mean_bytes, 65536);
	CHECK_EQ(live->stat_count, MW_STAT_COUNT);
	CHECK_EQ(live->events_written, 1);
	CHECK_EQ(event_entry((char *)header, 0)->kind, MW_EVENT_START);
	CHECK_EQ(event_entry((char *)header, 0)->a, 65536);
}

/* A limit of the heap's was passed: logged at once, also before the first sample. */
static void pressure_is_logged(void) {
	start(65536, 0, false);
	char *state = map_state_of(getpid());
	mw_state_live_t *live = section_of(state, MW_SECTION_LIVE);
	errno = 4711;
	fake_hooks->pressed(MW_PRESSURE_SOFT, 1000, 900);
	fake_hooks->pressed(MW_PRESSURE_HARD, 3000, 2000);
	CHECK_EQ(errno, 4711);
	CHECK_EQ(live->events_written, 3);
	CHECK(event_entry(state, 1)->kind == MW_EVENT_SOFT_LIMIT &&
	      event_entry(state, 1)->a == 1000 && event_entry(state, 1)->b == 900);
	CHECK(event_entry(state, 2)->kind == MW_EVENT_HARD_LIMIT &&
	      event_entry(state, 2)->a == 3000 && event_entry(state, 2)->b == 2000);
	CHECK_EQ(live->stats[0], 1000); /* with the figures of that moment */
}

static void publishes_lazily_and_cleans_up(void) {
	start(1, 1 << 20, false);
	bool sampled;
	fake_small(&thread, 0, &thread, 100, 112, &sampled);
	fake_hooks->grew(&thread.hook, 100000);
	CHECK(!map_state_of(getpid()));
	fake_hooks->grew(&thread.hook, 1 << 20);
	char *file = map_state_of(getpid());
	CHECK(file);
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	CHECK_EQ(live->live_bytes, 112);
	CHECK_EQ(live->samples, 1);
	/* No descriptor is kept: the next number is the lowest free one. */
	int before = dup(0);
	CHECK(before >= 0 && before < 10);
	mw_prof_exit();
	CHECK(live->flags & MW_STATE_ENDED);
	CHECK_EQ(live->stats[2], 1002);
	CHECK(!map_state_of(getpid()));
}

static void keeps_the_file_when_asked(void) {
	start(524288, 1 << 20, true);
	CHECK(!map_state_of(getpid()));
	mw_prof_exit();
	char *file = map_state_of(getpid());
	CHECK(file);
	CHECK(((mw_state_live_t *)section_of(file, MW_SECTION_LIVE))->flags & MW_STATE_ENDED);
}

static void order(mw_state_control_t *words) {
	atomic_fetch_add(&words->sequence, 1);
}

/* Refills of one class until the request is seen. */
static void work(void) {
	bool sampled;
	for (int i = 0; i < 1000; i++)
		fake_small(&thread, 1, &thread, 32, 32, &sampled);
}

static void requests_are_served(void) {
	start(1 << 30, 0, false);
	char *file = map_state_of(getpid());
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	mw_state_control_t *words = section_of(file, MW_SECTION_CONTROL);
	CHECK_EQ(words->want_active, 1);
	CHECK_EQ(words->want_mean_bytes, 1 << 30);
	words->want_mean_bytes = 1;
	order(words);
	work();
	CHECK_EQ(live->sequence_seen, 1);
	CHECK_EQ(live->mean_bytes, 1);
	uint64_t samples = live->samples;
	CHECK(samples > 800);
	words->want_active = 0;
	order(words);
	/* Exact mode polls at each allocation here; one list may still be on its way. */
	work();
	CHECK_EQ(live->active, 0);
	CHECK(live->samples <= samples + 2);
	samples = live->samples;
	work();
	CHECK_EQ(live->samples, samples);
	words->want_resets++;
	order(words);
	work();
	CHECK_EQ(live->resets_done, 1);
	CHECK_EQ(live->generation, 1);
	CHECK_EQ(live->alloc_bytes, 0);
	check_live_zero(file);
	/* What was live before the reset does not count when it is freed. */
	fake_hooks->sample_freed(&thread.hook, 1, false);
	check_live_zero(file);
	words->want_active = 1;
	order(words);
	work();
	work();
	CHECK_EQ(live->active, 1);
	CHECK(live->samples > 500);
	static const uint64_t kinds[] = {MW_EVENT_START, MW_EVENT_RATE, MW_EVENT_STOP,
					 MW_EVENT_RESET, MW_EVENT_START};
	CHECK_EQ(live->events_written, 5);
	for (uint64_t i = 0; i < 5; i++)
		CHECK_EQ(event_entry(file, i)->kind, kinds[i]);
	CHECK_EQ(event_entry(file, 1)->a, 1 << 30);
	CHECK_EQ(event_entry(file, 1)->b, 1);
}

static void bad_requests_are_rejected(void) {
	start(65536, 0, false);
	char *file = map_state_of(getpid());
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	mw_state_control_t *words = section_of(file, MW_SECTION_CONTROL);
	words->want_mean_bytes = 0;
	words->want_active = 7;
	order(words);
	work();
	CHECK_EQ(live->sequence_seen, 1);
	CHECK_EQ(live->rejected_sequence, 1);
	CHECK_EQ(live->mean_bytes, 65536);
	CHECK_EQ(live->active, 1);
	words->want_mean_bytes = MW_STATE_MEAN_BYTES_MAX + 1;
	words->want_active = 0;
	order(words);
	work();
	CHECK_EQ(live->rejected_sequence, 2);
	CHECK_EQ(live->mean_bytes, 65536);
	CHECK_EQ(live->active, 0); /* the sound part is done */
	CHECK_EQ(mw_prof_set_mean_bytes(0), MW_ERR_BAD_VALUE);
	CHECK_EQ(mw_prof_set_mean_bytes(MW_STATE_MEAN_BYTES_MAX), MW_OK);
	/* The rest of the file is the process's own: scribbling changes nothing it does. */
	memset(live, 0xff, sizeof *live);
	memset(section_of(file, MW_SECTION_STACKS), 0xff, 4096);
	mw_prof_set_active(true);
	mw_prof_set_mean_bytes(1);
	work();
	CHECK(mw_store_live()->samples > 500);
}

static void a_child_has_a_file_of_its_own(void) {
	start(1, 0, false);
	work();
	char *file = map_state_of(getpid());
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	int64_t bytes = live->alloc_bytes;
	CHECK(bytes > 30000);
	pid_t parent = getpid();
	mw_prof_fork_prepare();
	pid_t child = fork();
	if (child == 0) {
		mw_prof_fork_child();
		CHECK(!mw_published_exists());
		CHECK(!map_state_of(getpid()));
		fake_hooks->sample_freed(&thread.hook, 1, false);
		CHECK(!map_state_of(getpid()));
		work();
		char *own = map_state_of(getpid());
		CHECK(own);
		mw_state_header_t *header = (mw_state_header_t *)(void *)own;
		CHECK_EQ(header->pid, getpid());
		CHECK_EQ(header->parent_pid, parent);
		mw_state_live_t *own_live = section_of(own, MW_SECTION_LIVE);
		CHECK_EQ(own_live->alloc_bytes, mw_store_live()->alloc_bytes);
		CHECK(own_live->alloc_bytes > bytes);
		for (uint64_t i = 0; i < own_live->stacks_used; i++)
			CHECK(memcmp(stack_entry(own, i), stack_entry(store_base(), i),
				     sizeof(mw_state_stack_t)) == 0);
		CHECK_EQ(event_entry(own, 1)->kind, MW_EVENT_FORK);
		CHECK_EQ(event_entry(own, 1)->a, parent);
		mw_prof_exit();
		CHECK(!map_state_of(getpid()));
		_exit(0);
	}
	mw_prof_fork_parent();
	int status;
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_EQ(live->alloc_bytes, bytes);
	CHECK(map_state_of(parent));
	work();
	CHECK(live->alloc_bytes > bytes);
}

/* Does the kernel, or what stands for it, wipe such a page in a child? */
static bool wipes_on_fork(void) {
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	page[0] = 1;
	bool done = madvise(page, 4096, MADV_WIPEONFORK) == 0;
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0)
		_exit(page[0]);
	int status;
	CHECK(waitpid(child, &status, 0) == child);
	munmap(page, 4096);
	return done && status == 0;
}

static void a_child_without_handlers_leaves_the_file_alone(void) {
	bool is_wiped = wipes_on_fork();
	CHECK(is_wiped || TEST_SLOWNESS > 1);
	if (!is_wiped) {
		printf("# skipped: this emulator does not know MADV_WIPEONFORK\n");
		return;
	}
	start(1, 0, false);
	work();
	mw_state_live_t *live = section_of(map_state_of(getpid()), MW_SECTION_LIVE);
	int64_t bytes = live->alloc_bytes;
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		work();
		mw_prof_exit();
		_exit(0);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_EQ(live->alloc_bytes, bytes);
	CHECK(map_state_of(getpid()));
}

static void vfork_is_harmless(void) {
	start(1, 0, false);
	work();
	for (int i = 0; i < 20; i++) {
		pid_t child = vfork();
		if (child == 0)
			_exit(0);
		int status;
		CHECK(waitpid(child, &status, 0) == child);
	}
	mw_state_live_t *live = section_of(map_state_of(getpid()), MW_SECTION_LIVE);
	int64_t bytes = live->alloc_bytes;
	work();
	CHECK(live->alloc_bytes > bytes);
}

static void nothing_for_set_uid_programs(void) {
	mw_state_file_set_root(root);
	mw_prof_start(&(mw_prof_config_t){.active = true,
					  .mean_bytes = 1,
					  .state_min_bytes = 0,
					  .keep_state = true,
					  .secure = true,
					  .depth_max = 64});
	fake_thread_start(&thread);
	work();
	fake_hooks->grew(&thread.hook, 1 << 30);
	mw_prof_set_active(true);
	work();
	mw_prof_exit();
	CHECK(rmdir(root) == 0 && mkdir(root, 0700) == 0);
}

static void errno_is_kept(void) {
	start(1, 100000, false);
	errno = 4711;
	for (int i = 0; i < 100; i++)
		work();
	fake_hooks->grew(&thread.hook, 1 << 30);
	fake_hooks->sample_freed(&thread.hook, 1, false);
	mw_prof_set_active(false);
	mw_prof_reset();
	mw_prof_exit();
	CHECK_EQ(errno, 4711);
}

enum { THREADS = 8, ROUNDS = 20000 };

static void *churn(void *unused) {
	(void)unused;
	fake_thread_t mine;
	fake_thread_start(&mine);
	mw_record_id_t held[64] = {0};
	for (uintptr_t i = 0; i < ROUNDS; i++) {
		mw_record_id_t *slot = &held[i * 31 % 64];
		if (*slot)
			fake_hooks->sample_freed(&mine.hook, *slot, false);
		bool sampled;
		*slot = fake_small(&mine, i % 3, (void *)(i + 1), i % 5, 16 * (i % 3 + 1),
				   &sampled);
	}
	for (int i = 0; i < 64; i++)
		if (held[i])
			fake_hooks->sample_freed(&mine.hook, held[i], false);
	return NULL;
}

static void threads_resets_and_forks(void) {
	start(1, 50000, false);
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, churn, NULL) == 0);
	for (int i = 0; i < 30; i++) {
		mw_prof_reset();
		mw_prof_fork_prepare();
		pid_t child = fork();
		if (child == 0) {
			mw_prof_fork_child();
			/* The tables came over whole: no record is half written. */
			int64_t live = 0;
			for (uint64_t k = 1; k < mw_store_live()->records_used; k++) {
				CHECK_EQ(record_entry(store_base(), k)->sequence % 2, 0);
				const mw_state_record_t *record = record_entry(store_base(), k);
				if (record->address && record->stack != MW_RECORD_FREE &&
				    record->generation == mw_store_live()->generation)
					live += (int64_t)record->usable_bytes;
			}
			CHECK_EQ(mw_store_live()->live_bytes, live);
			_exit(0);
		}
		mw_prof_fork_parent();
		int status;
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	check_live_zero(store_base());
	char *file = map_state_of(getpid());
	CHECK(file);
	check_live_zero(file);
	mw_state_live_t *live = section_of(file, MW_SECTION_LIVE);
	CHECK_EQ(live->generation, 30);
	/* That one counts the requests of tools. */
	CHECK_EQ(live->resets_done, 0);
}

/* A million live samples, and a fork on the way: all is there, in both processes, in the profile
 * table and in the file, whose segments were mapped one by one. */
static void fill_and_check(void) {
	enum { BLOCKS = 1000000 / TEST_SLOWNESS };
	start(1, 0, false);
	static mw_record_id_t records[BLOCKS];
	for (uintptr_t i = 0; i < BLOCKS; i++) {
		bool sampled;
		records[i] = fake_small(&thread, i % 7, (void *)(i + 1), i % 100, 16, &sampled);
		CHECK(records[i]);
		if (i == 30000) {
			mw_prof_fork_prepare();
			pid_t child = fork();
			if (child == 0)
				mw_prof_fork_child();
			else
				mw_prof_fork_parent();
			int status;
			if (child && waitpid(child, &status, 0) == child) {
				CHECK_EQ(status, 0);
				alarm(240 * TEST_SLOWNESS);
			}
		}
	}
	char *file = map_state_of(getpid());
	char *bases[] = {store_base(), file};
	for (int k = 0; k < 2; k++) {
		mw_state_live_t *live = section_of(bases[k], MW_SECTION_LIVE);
		CHECK_EQ(live->flags, 0);
		CHECK_EQ(live->live_bytes, BLOCKS * 16);
		CHECK_EQ(live->records_used, BLOCKS + 1);
		for (uintptr_t i = 0; i < BLOCKS; i++)
			CHECK(record_entry(bases[k], records[i])->address == i + 1 &&
			      record_entry(bases[k], records[i])->requested_bytes == i % 100);
	}
	for (uintptr_t i = 0; i < BLOCKS; i++)
		fake_hooks->sample_freed(&thread.hook, records[i], false);
	check_live_zero(file);
	mw_prof_exit();
}

static bool refuse_remap(mw_os_call_t call) {
	return call == MW_OS_REMAP;
}

static void tables_grow(void) {
	fill_and_check();
}

/* The profile table goes on; the file has its first segments, and is "full". */
static void a_mapping_that_cannot_grow(void) {
	mw_os_fault_hook = refuse_remap;
	start(1, 0, false);
	bool sampled;
	for (uintptr_t i = 1; i <= 200000; i++)
		CHECK_EQ(fake_small(&thread, 1, (void *)i, 1, 16, &sampled), i);
	CHECK_EQ(mw_store_live()->flags, MW_STATE_FILE_FULL);
	CHECK_EQ(mw_store_live()->live_bytes, 200000 * 16);
	for (uintptr_t i = 1; i <= 200000; i++)
		CHECK_EQ(record_entry(store_base(), i)->address, i);
	mw_state_live_t *live = section_of(map_state_of(getpid()), MW_SECTION_LIVE);
	CHECK_EQ(live->live_bytes, 200000 * 16);
}

/* Of each of the threads: several segments all the same. */
#define MANY (100000u / TEST_SLOWNESS)

static void *take_many(void *argument) {
	fake_thread_t mine;
	fake_thread_start(&mine);
	uintptr_t first = (uintptr_t)argument * 1000000;
	bool sampled;
	for (uintptr_t i = 1; i <= MANY; i++)
		CHECK(fake_small(&mine, 1, (void *)(first + i), 1, 16, &sampled));
	return NULL;
}

static void tables_grow_under_threads(void) {
	start(1, 0, false);
	pthread_t threads[4];
	for (uintptr_t i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, take_many, (void *)i) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK_EQ(mw_store_live()->flags, 0);
	static char seen[4000000];
	char *file = map_state_of(getpid());
	for (unsigned i = 1; i <= 4 * MANY; i++) {
		CHECK(record_entry(file, i)->address && !seen[record_entry(file, i)->address]);
		CHECK_EQ(record_entry(file, i)->sequence, 2);
		seen[record_entry(file, i)->address] = 1;
	}
	CHECK_EQ(((mw_state_live_t *)section_of(file, MW_SECTION_LIVE))->records_used,
		 4 * MANY + 1);
}

int main(void) {
	RUN_IN_CHILD(exact_counts_return_to_zero);
	RUN_IN_CHILD(sampled_counts_return_to_zero);
	RUN_IN_CHILD(header_describes_the_process);
	RUN_IN_CHILD(pressure_is_logged);
	RUN_IN_CHILD(publishes_lazily_and_cleans_up);
	RUN_IN_CHILD(keeps_the_file_when_asked);
	RUN_IN_CHILD(requests_are_served);
	RUN_IN_CHILD(bad_requests_are_rejected);
	RUN_IN_CHILD(a_child_has_a_file_of_its_own);
	RUN_IN_CHILD(a_child_without_handlers_leaves_the_file_alone);
	RUN_IN_CHILD(vfork_is_harmless);
	RUN_IN_CHILD(nothing_for_set_uid_programs);
	RUN_IN_CHILD(errno_is_kept);
	RUN_IN_CHILD(threads_resets_and_forks);
	RUN_IN_CHILD(tables_grow);
	RUN_IN_CHILD(a_mapping_that_cannot_grow);
	RUN_IN_CHILD(tables_grow_under_threads);
	return 0;
}
