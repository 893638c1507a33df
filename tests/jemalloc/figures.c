/* SPDX-License-Identifier: MIT
 * figures.c -- which control names change their value.
 *
 * Reads lines of a type and a name from stdin.  "print" writes each name with a number made of its
 * values, those of all indices.  "move" lets happen what statistics count and prints the names
 * whose values were the same before, in between and after. */
#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test.h"

enum { NAMES = 512, NAME_BYTES = 128, INDICES = 256 };

static struct {
	char name[NAME_BYTES];
	bool text, moved;
	uint64_t first;
} names[NAMES];
static size_t count;

static void read_names(void) {
	char type[32];
	while (count < NAMES && scanf("%31s %127s", type, names[count].name) == 2)
		names[count++].text = strcmp(type, "text") == 0;
	CHECK(count > 0 && count < NAMES);
}

/* FNV-1a, of whatever the name gives. */
static int add_value(const char *name, bool text, uint64_t *sum) {
	uint64_t value = 0;
	size_t length = sizeof value;
	int result = mallctl(name, &value, &length, NULL, 0);
	/* EINVAL says the length. */
	if (result == EINVAL)
		result = mallctl(name, &value, &length, NULL, 0);
	if (result != 0)
		return result;
	const char *bytes = text ? (const char *)(uintptr_t)value : (const char *)&value;
	length = text ? strlen(bytes) : length;
	for (size_t i = 0; i < length; i++)
		*sum = (*sum ^ (unsigned char)bytes[i]) * 0x100000001b3;
	return 0;
}

/* For each index of the last table, and the first arenas. */
static uint64_t sum_of(const char *pattern, bool text) {
	uint64_t sum = 0xcbf29ce484222325;
	char name[2 * NAME_BYTES];
	const char *index = strstr(pattern, "<i>");
	if (!index) {
		CHECK_EQ(add_value(pattern, text, &sum), 0);
		return sum;
	}
	const char *second = strstr(index + 3, "<i>");
	bool of_arena = strncmp(index - 6, "arena", 5) == 0 || strncmp(index - 7, "arenas", 6) == 0;
	for (unsigned arena = 0; arena < 4; arena++)
		for (unsigned i = 0; i < INDICES; i++) {
			unsigned outer = of_arena ? arena : i;
			snprintf(name, sizeof name, "%.*s%u%s", (int)(index - pattern), pattern,
				 outer, index + 3);
			if (second)
				snprintf(name, sizeof name, "%.*s%u%.*s%u%s",
					 (int)(index - pattern), pattern, outer,
					 (int)(second - index - 3), index + 3, i, second + 3);
			if (add_value(name, text, &sum) != 0 || (of_arena && !second))
				break;
		}
	return sum;
}

static void look(bool first) {
	uint64_t epoch = 1;
	CHECK_EQ(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
	for (size_t i = 0; i < count; i++) {
		uint64_t sum = sum_of(names[i].name, names[i].text);
		if (first)
			names[i].first = sum;
		names[i].moved |= sum != names[i].first;
	}
}

/* ---- what statistics count ---- */

enum { BLOCKS = 4000 };
static void *blocks[BLOCKS];

static size_t size_of(unsigned i) {
	return i % 40 == 0 ? 100000 + i * 500 : 16 + i * 37 % 20000;
}

static void *make(void *unused) {
	(void)unused;
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i] = memset(malloc(size_of(i)), 1, size_of(i));
	return NULL;
}

static void *unmake(void *step) {
	for (size_t i = 0; i < BLOCKS; i += (size_t)step) {
		free(blocks[i]);
		blocks[i] = NULL;
	}
	return NULL;
}

static void in_thread(void *(*run)(void *argument), void *argument) {
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, run, argument), 0);
	pthread_join(thread, NULL);
}

static void set(const char *name, void *value, size_t bytes) {
	CHECK_EQ(mallctl(name, NULL, NULL, value, bytes), 0);
}

/* Its hooks purge nothing. */
static void use_arena(void) {
	unsigned arena;
	static extent_hooks_t hooks;
	extent_hooks_t *standard, *own = &hooks;
	size_t length = sizeof standard;
	CHECK_EQ(mallctl("arena.0.extent_hooks", (void *)&standard, &length, NULL, 0), 0);
	hooks = *standard;
	hooks.decommit = NULL;
	hooks.purge_lazy = hooks.purge_forced = NULL;
	length = sizeof arena;
	CHECK_EQ(mallctl("arenas.create", &arena, &length, (void *)&own, sizeof own), 0);
	set("thread.arena", &arena, sizeof arena);
	for (unsigned i = 0; i < BLOCKS; i += 4)
		dallocx(mallocx(size_of(i), MALLOCX_ARENA(arena)), 0);
	CHECK_EQ(mallctl("arena.1.purge", NULL, NULL, NULL, 0), 0);
	look(false);
	arena = 0;
	set("thread.arena", &arena, sizeof arena);
}

static void stop_at(void **stack, unsigned *depth, unsigned most) {
	(void)stack;
	(void)most;
	*depth = 0;
}

typedef struct order {
	void (*write)(void *context, const char *text);
	void *context;
} order_t;

static void again(void *context, const char *text) {
	(void)text;
	order_t order = {again, NULL};
	/* While it is written it cannot be written once more. */
	if (context)
		CHECK(mallctl("experimental.prof_recent.alloc_dump", NULL, NULL, &order,
			      sizeof order) != 0);
}

static void *use_profile(void *directory) {
	char path[256], *dump = path;
	int64_t some = 100;
	order_t order = {again, &order};
	snprintf(path, sizeof path, "%s/dump.heap", (const char *)directory);
	set("prof.dump", &dump, sizeof dump);
	uint64_t epoch = 1;
	set("epoch", &epoch, sizeof epoch);
	set("experimental.prof_recent.alloc_max", &some, sizeof some);
	set("experimental.prof_recent.alloc_dump", &order, sizeof order);
	return NULL;
}

/* What can be set is set to something else. */
static void set_other(void) {
	static const char *const flags[] = {
		"prof.gdump",         "prof.active",           "prof.thread_active_init",
		"thread.prof.active", "thread.tcache.enabled", "background_thread"};
	static const char *const hooks[] = {"prof_dump", "prof_sample", "prof_sample_free",
					    "safety_check_abort"};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		bool flag;
		size_t length = sizeof flag;
		CHECK_EQ(mallctl(flags[i], &flag, &length, NULL, 0), 0);
		flag = !flag;
		set(flags[i], &flag, sizeof flag);
	}
	int64_t ms = 123;
	uint64_t most = 4096;
	set("thread.tcache.max", &most, sizeof most);
	set("arenas.dirty_decay_ms", &ms, sizeof ms);
	set("arenas.muzzy_decay_ms", &ms, sizeof ms);
	void (*function)(void **, unsigned *, unsigned) = stop_at;
	set("experimental.hooks.prof_backtrace", &function, sizeof function);
	for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
		char name[NAME_BYTES];
		snprintf(name, sizeof name, "experimental.hooks.%s", hooks[i]);
		set(name, &function, sizeof function);
		look(false);
		function = NULL;
		set(name, &function, sizeof function);
		function = stop_at;
	}
}

/* From now on the kernel refuses huge pages; then the heap grows. */
static void refuse_huge_pages(void) {
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_HUGEPAGE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(60000);
	unmake((void *)1);
}

static uint64_t of_background(const char *name) {
	char whole[NAME_BYTES];
	uint64_t value;
	size_t length = sizeof value;
	snprintf(whole, sizeof whole, "stats.background_thread.%s", name);
	CHECK_EQ(mallctl(whole, &value, &length, NULL, 0), 0);
	return value;
}

/* It begins when the heap grows; by then it has something to wait for.  Its sleep counts once it is
 * over, and dumps (prof.gdump) wake it without one. */
static void wait_for_background(void) {
	uint64_t epoch = 1;
	bool slept = false;
	for (unsigned turn = 0; turn < 2000 && !slept; turn++) {
		free(memset(malloc(8 << 20), 1, 8 << 20));
		usleep(10000);
		set("epoch", &epoch, sizeof epoch);
		slept = of_background("num_runs") >= 2 && of_background("run_interval") > 0;
	}
	CHECK(slept);
}

static void move(char *directory) {
	look(true);
	in_thread(make, NULL);
	look(false);
	in_thread(unmake, (void *)3);
	look(false);
	in_thread(make, NULL);
	unmake((void *)1);
	CHECK_EQ(mallctl("arena.0.purge", NULL, NULL, NULL, 0), 0);
	look(false);
	void *volatile block = malloc(10);
	block = realloc(block, 0);
	use_profile(directory);
	in_thread(use_profile, directory);
	use_arena();
	look(false);
	set_other();
	refuse_huge_pages();
	wait_for_background();
	look(false);
	for (size_t i = 0; i < count; i++)
		if (!names[i].moved)
			printf("%s\n", names[i].name);
}

int main(int argc, char **argv) {
	CHECK(argc == 3);
	read_names();
	if (strcmp(argv[1], "move") == 0) {
		move(argv[2]);
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		printf("%s %lx\n", names[i].name,
		       (unsigned long)sum_of(names[i].name, names[i].text));
	return 0;
}
