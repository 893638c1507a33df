/* SPDX-License-Identifier: MIT
 * prof.c -- jemalloc's controls of the profile as programs use them: prefix, dumps, log, recent
 * allocations, hooks, threads.  Written for both libraries, run with prof:true,lg_prof_sample:0,
 * prof_stats:true in a directory of its own; names that 5.3.0 does not have yet are looked at where
 * they exist. */
#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static int set_text(const char *name, const char *text) {
	return mallctl(name, NULL, NULL, (void *)&text, sizeof text);
}

static int set_flag(const char *name, bool flag) {
	return mallctl(name, NULL, NULL, &flag, sizeof flag);
}

static bool flag(const char *name) {
	bool value = false;
	size_t length = sizeof value;
	CHECK_EQ(mallctl(name, &value, &length, NULL, 0), 0);
	return value;
}

/* The file's text; "" when there is none. */
static const char *text_of(const char *path) {
	static char text[262144];
	FILE *file = fopen(path, "r");
	text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
	if (file)
		fclose(file);
	return text;
}

static const char *dump(void) {
	CHECK_EQ(set_text("prof.dump", "now.heap"), 0);
	return text_of("now.heap");
}

static bool has(const char *text, const char *part) {
	return strstr(text, part) != NULL;
}

static unsigned occurrences(const char *text, const char *part) {
	unsigned count = 0;
	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

/* ---- threads ---- */

static void *(*thread_work)(void);

static void *run_work(void *unused) {
	(void)unused;
	return thread_work();
}

static void *in_thread(void *(*work)(void)) {
	pthread_t thread;
	void *result;
	thread_work = work;
	CHECK_EQ(pthread_create(&thread, NULL, run_work, NULL), 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	return result;
}

static void *make_one(void) {
	CHECK_EQ(set_text("thread.prof.name", "worker"), 0);
	return malloc(123456);
}

static void lines_of_each_thread(void) {
	void *block = in_thread(make_one);
	const char *text = dump();
	char line[80];
	/* jemalloc's class of 123456 is 128 KiB, ours the next 4 KiB. */
	snprintf(line, sizeof line, ": 1: %zu [", nallocx(123456, 0));
	CHECK(strncmp(text, "heap_v2/", 8) == 0);
	CHECK(has(text, " worker\n"));
	CHECK_EQ(occurrences(text, line), 3); /* of the thread, and twice of its stack */
	CHECK(has(text, "\nMAPPED_LIBRARIES:\n"));
	free(block);
	CHECK_EQ(occurrences(dump(), line), 0);
}

static void *make_inactive(void) {
	CHECK(!flag("thread.prof.active"));
	void *block = malloc(222222);
	CHECK_EQ(set_flag("thread.prof.active", true), 0);
	free(malloc(10));
	return block;
}

static void threads_can_begin_unsampled(void) {
	char line[80];
	snprintf(line, sizeof line, ": 1: %zu [", nallocx(222222, 0));
	CHECK(flag("prof.thread_active_init"));
	CHECK_EQ(set_flag("prof.thread_active_init", false), 0);
	CHECK(flag("thread.prof.active"));
	void *block = in_thread(make_inactive);
	CHECK_EQ(set_flag("prof.thread_active_init", true), 0);
	CHECK(!has(dump(), line));
	free(block);
	CHECK_EQ(set_flag("thread.prof.active", false), 0);
	block = malloc(222222);
	CHECK_EQ(set_flag("thread.prof.active", true), 0);
	CHECK(!has(dump(), line));
	free(block);
}

static void names_of_threads(void) {
	const char *name = NULL;
	size_t length = sizeof name;
	const char *version = NULL;
	CHECK_EQ(mallctl("version", (void *)&version, &length, NULL, 0), 0);
	/* EFAULT until 5.3.1. */
	CHECK_EQ(set_text("thread.prof.name", "a\nb"),
		 strstr(version, "gmallow") ? EINVAL : EFAULT);
	CHECK_EQ(set_text("thread.prof.name", "main one"), 0);
	CHECK_EQ(mallctl("thread.prof.name", (void *)&name, &length, NULL, 0), 0);
	CHECK_STR(name, "main one");
	void *block = malloc(5);
	CHECK(has(dump(), " main one\n"));
	free(block);
}

/* ---- dumps ---- */

static void prefixes_and_numbers(void) {
	char path[64];
	CHECK_EQ(set_text("prof.prefix", "one"), 0);
	CHECK_EQ(mallctl("prof.dump", NULL, NULL, NULL, 0), 0);
	snprintf(path, sizeof path, "one.%d.0.m0.heap", (int)getpid());
	CHECK(has(text_of(path), "heap_v2/"));
	CHECK_EQ(set_text("prof.prefix", "two"), 0);
	CHECK_EQ(mallctl("prof.dump", NULL, NULL, NULL, 0), 0);
	snprintf(path, sizeof path, "two.%d.1.m1.heap", (int)getpid());
	CHECK(has(text_of(path), "heap_v2/"));
	CHECK_EQ(set_text("prof.dump", "/no/such/folder/x.heap"), EFAULT);
	CHECK_EQ(mallctl("prof.dump", &path, &(size_t){8}, NULL, 0), EPERM);
}

static void resets(void) {
	size_t lg = 0, length = sizeof lg;
	char line[80];
	void *block = malloc(333333);
	snprintf(line, sizeof line, ": 1: %zu [", nallocx(333333, 0));
	CHECK(has(dump(), line));
	CHECK_EQ(mallctl("prof.reset", NULL, NULL, NULL, 0), 0);
	CHECK(!has(dump(), line));
	free(block);
	size_t wanted = 12;
	CHECK_EQ(mallctl("prof.reset", NULL, NULL, &wanted, sizeof wanted), 0);
	CHECK_EQ(mallctl("prof.lg_sample", &lg, &length, NULL, 0), 0);
	CHECK_EQ(lg, 12);
	wanted = 0;
	CHECK_EQ(mallctl("prof.reset", NULL, NULL, &wanted, sizeof wanted), 0);
	CHECK_EQ(mallctl("prof.reset", NULL, NULL, &wanted, 4), EINVAL);
}

/* ---- log ---- */

static void logs(void) {
	CHECK_EQ(mallctl("prof.log_stop", NULL, NULL, NULL, 0), EFAULT);
	CHECK_EQ(set_text("prof.log_start", "log.json"), 0);
	CHECK_EQ(set_text("prof.log_start", "other.json"), EFAULT);
	void *live = malloc(77777);
	free(in_thread(make_one));
	for (int i = 0; i < 1000; i++) {
		void *volatile block = malloc(44444);
		free(block);
	}
	CHECK_EQ(mallctl("prof.log_stop", NULL, NULL, NULL, 0), 0);
	CHECK_EQ(mallctl("prof.log_stop", NULL, NULL, NULL, 0), EFAULT);
	CHECK(text_of("other.json")[0] == '\0');
	char entry[64];
	snprintf(entry, sizeof entry, "\"usize\":%zu}", nallocx(44444, 0));
	CHECK_EQ(occurrences(text_of("log.json"), entry), 1000);
	snprintf(entry, sizeof entry, "\"usize\":%zu}", nallocx(77777, 0));
	CHECK_EQ(occurrences(text_of("log.json"), entry), 0);
	CHECK_EQ(mallctl("prof.log_start", NULL, NULL, NULL, 0), 0);
	CHECK_EQ(mallctl("prof.log_stop", NULL, NULL, NULL, 0), 0);
	snprintf(entry, sizeof entry, "%s.%d.0.json", "two", (int)getpid());
	CHECK(has(text_of(entry), "\"allocations\":["));
	free(live);
}

/* A child's log is its own. */
static void log_and_fork(void) {
	CHECK_EQ(set_text("prof.log_start", "parent.json"), 0);
	pid_t child = fork();
	if (child == 0) {
		free(malloc(100));
		_exit(mallctl("prof.log_stop", NULL, NULL, NULL, 0) == EFAULT ? 0 : 9);
	}
	int status;
	CHECK_EQ(waitpid(child, &status, 0), child);
	/* jemalloc's child goes on with its parent's. */
	CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || getenv("TEST_REFERENCE")));
	CHECK_EQ(mallctl("prof.log_stop", NULL, NULL, NULL, 0), 0);
}

/* ---- recent allocations ---- */

static char collected[262144];
static void collect(void *context, const char *text) {
	CHECK(context == collected);
	CHECK(strlen(collected) + strlen(text) < sizeof collected);
	strcat(collected, text);
}

static const char *recent(void) {
	struct {
		void (*write)(void *, const char *);
		void *context;
	} to = {collect, collected};
	collected[0] = '\0';
	CHECK_EQ(mallctl("experimental.prof_recent.alloc_dump", NULL, NULL, &to, sizeof to), 0);
	return collected;
}

static void recent_allocations(void) {
	ssize_t max = 3, before = -5;
	size_t length = sizeof before;
	CHECK_EQ(mallctl("experimental.prof_recent.alloc_max", &before, &length, &max, sizeof max),
		 0);
	CHECK_EQ(before, 0);
	void *live = malloc(1001);
	for (size_t size = 1002; size <= 1010; size++) {
		void *volatile block = malloc(size);
		free(block);
	}
	CHECK_EQ(occurrences(recent(), "\"size\":"), 3);
	CHECK(has(collected, "\"recent_alloc_max\":3,"));
	CHECK(has(collected, "\"size\":1010,") && has(collected, "\"size\":1008,"));
	CHECK_EQ(occurrences(collected, "\"released\":true"), 3);
	CHECK_EQ(occurrences(collected, "\"dalloc_trace\":[\"0x"), 3);
	max = 2;
	CHECK_EQ(mallctl("experimental.prof_recent.alloc_max", NULL, NULL, &max, sizeof max), 0);
	free(live);
	live = malloc(1011);
	CHECK_EQ(occurrences(recent(), "\"size\":"), 2);
	CHECK(has(collected, "\"size\":1011,"));
	CHECK_EQ(occurrences(collected, "\"released\":false"), 1);
	max = -2;
	CHECK_EQ(mallctl("experimental.prof_recent.alloc_max", NULL, NULL, &max, sizeof max),
		 EINVAL);
	max = 0;
	CHECK_EQ(mallctl("experimental.prof_recent.alloc_max", NULL, NULL, &max, sizeof max), 0);
	CHECK_EQ(occurrences(recent(), "\"size\":"), 0);
	free(live);
}

/* ---- sums by size class ---- */

typedef struct sums {
	uint64_t requested, count;
} sums_t;

static sums_t sums_of(const char *kind, const char *which, unsigned i) {
	char name[64];
	sums_t sums = {0};
	size_t length = sizeof sums;
	snprintf(name, sizeof name, "prof.stats.%s.%u.%s", kind, i, which);
	CHECK_EQ(mallctl(name, &sums, &length, NULL, 0), 0);
	return sums;
}

static void sums_by_size(void) {
	unsigned bin = 0, bins = 0;
	size_t length = sizeof bins, size = 0;
	CHECK_EQ(mallctl("arenas.nbins", &bins, &length, NULL, 0), 0);
	for (; bin < bins && size < 9000; bin++) {
		char name[64];
		length = sizeof size;
		snprintf(name, sizeof name, "arenas.bin.%u.size", bin);
		CHECK_EQ(mallctl(name, &size, &length, NULL, 0), 0);
	}
	bin--;
	sums_t live = sums_of("bins", "live", bin), all = sums_of("bins", "accum", bin);
	void *block = malloc(9000);
	CHECK_EQ(sums_of("bins", "live", bin).requested, live.requested + 9000);
	CHECK_EQ(sums_of("bins", "accum", bin).count, all.count + 1);
	free(block);
	CHECK_EQ(sums_of("bins", "live", bin).requested, live.requested);
	CHECK_EQ(sums_of("bins", "live", bin).count, live.count);
	CHECK_EQ(sums_of("bins", "accum", bin).requested, all.requested + 9000);
	CHECK_EQ(mallctl("prof.stats.bins.9999.live", &live, &(size_t){sizeof live}, NULL, 0),
		 ENOENT);
	CHECK_EQ(mallctl("prof.stats.lextents.0.live", &live, &(size_t){8}, NULL, 0), EINVAL);
}

/* ---- functions of the program ---- */

static unsigned walks, dumps, samples, frees;
static const void *sampled_block;
static char dumped[4096];

static void walk(void **pcs, unsigned *depth, unsigned max) {
	CHECK(max >= 2);
	walks++;
	free(malloc(3)); /* it may allocate */
	pcs[0] = (char *)(uintptr_t)walk + 1;
	pcs[1] = (char *)(uintptr_t)walk + 2;
	*depth = 2;
}

static void on_dump(const char *path) {
	dumps++;
	snprintf(dumped, sizeof dumped, "%s", path);
}

static void on_sample(const void *block, size_t size, void **pcs, unsigned depth, size_t usable) {
	if (size != 6543)
		return;
	samples++;
	sampled_block = block;
	CHECK(depth > 0 && pcs[0] != NULL);
	CHECK_EQ(usable, nallocx(6543, 0));
	free(malloc(6543)); /* is not told of again */
}

static void on_free(const void *block, size_t usable) {
	if (block != sampled_block)
		return;
	frees++;
	CHECK_EQ(usable, nallocx(6543, 0));
}

static int set_hook(const char *name, void *hook, void **before) {
	size_t length = sizeof *before;
	return mallctl(name, before, before ? &length : NULL, &hook, sizeof hook);
}

static void hooks(void) {
	void *own = NULL, *none = &own;
	CHECK_EQ(set_hook("experimental.hooks.prof_backtrace", NULL, NULL), EINVAL);
	CHECK_EQ(set_hook("experimental.hooks.prof_backtrace", (void *)(uintptr_t)walk, &own), 0);
	CHECK(own != NULL && own != (void *)(uintptr_t)walk);
	void *block = malloc(100);
	CHECK(walks > 0);
	char frames[64];
	snprintf(frames, sizeof frames, "%zx", (size_t)(uintptr_t)walk + 2);
	CHECK(has(dump(), frames));
	CHECK_EQ(set_hook("experimental.hooks.prof_backtrace", own, NULL), 0);
	free(block);
	unsigned walks_before = walks;
	free(malloc(100));
	CHECK_EQ(walks, walks_before);

	CHECK_EQ(set_hook("experimental.hooks.prof_dump", (void *)(uintptr_t)on_dump, &none), 0);
	CHECK(none == NULL);
	dump();
	CHECK_EQ(dumps, 1);
	CHECK_STR(dumped, "now.heap");
	CHECK_EQ(mallctl("prof.dump", NULL, NULL, NULL, 0), 0);
	CHECK(has(dumped, ".heap") && text_of(dumped)[0]);
	CHECK_EQ(set_hook("experimental.hooks.prof_dump", NULL, NULL), 0);

	size_t mib[4], parts = 4;
	if (mallctlnametomib("experimental.hooks.prof_sample", mib, &parts) != 0)
		return;
	CHECK_EQ(set_hook("experimental.hooks.prof_sample", (void *)(uintptr_t)on_sample, NULL), 0);
	CHECK_EQ(set_hook("experimental.hooks.prof_sample_free", (void *)(uintptr_t)on_free, NULL),
		 0);
	block = malloc(6543);
	CHECK(samples == 1 && sampled_block == block);
	free(block);
	CHECK_EQ(frees, 1);
	CHECK_EQ(set_hook("experimental.hooks.prof_sample", NULL, NULL), 0);
	CHECK_EQ(set_hook("experimental.hooks.prof_sample_free", NULL, NULL), 0);
	free(malloc(6543));
	CHECK_EQ(samples, 1);
}

int main(void) {
	RUN(lines_of_each_thread);
	RUN(threads_can_begin_unsampled);
	RUN(names_of_threads);
	RUN(prefixes_and_numbers);
	RUN(resets);
	RUN(logs);
	RUN(log_and_fork);
	RUN(recent_allocations);
	RUN(sums_by_size);
	RUN(hooks);
	return 0;
}
