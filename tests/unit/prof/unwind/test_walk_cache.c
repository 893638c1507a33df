/* SPDX-License-Identifier: MIT
 * test_walk_cache.c -- random programs: a walk along the thread's walk_cache gives what one without
 * gives, and what was noted with a walk comes back with one just the same, and with no other.  A
 * machine with a link register has no walk caches: there two walks are one, and both are whole. */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/rng.h"
#include "frames.h"
#include "os/platform/arch.h"
#include "prof/unwind/unwind.h"
#include "prof/unwind/walk_cache.h"
#include "test.h"

enum { CAPTURES = 30000 / TEST_SLOWNESS, THREADS = 3, STACK_BYTES = 256 << 10 };

/* What a thread's random program is doing. */
typedef struct run {
	mw_rng_t rng;
	unsigned captures, depth, deepest, along, recognised;
	bool recognises;
	unsigned shared;           /* frames with notes of an earlier walk */
	unsigned known;            /* without a walk, */
	unsigned from_stack_cache; /* stacks that the stack cache found */
} run_t;

static __thread run_t run;

static unsigned pick(unsigned count) {
	return (unsigned)(mw_rng_next(&run.rng) >> 33) % count;
}

/* Of the PCs and what else the walk says. */
static uint64_t digest(const uint64_t *pcs, const mw_unwind_result_t *result) {
	uint64_t hash = result->depth * 2 + result->truncated + 1;
	for (unsigned i = 0; i < result->depth; i++)
		hash = (hash ^ pcs[i]) * 0x9e3779b97f4a7c15u;
	return hash | 1;
}

/* What the walk shares with the thread's last one has notes: they are those of its own frames. */
static void check_sums(const uint64_t *pcs, const mw_unwind_result_t *result) {
	mw_frame_sums_t *known = mw_unwind_take_sums(result->generation);
	CHECK_EQ(known == NULL, result->generation == 0);
	if (!known)
		return;
	CHECK(mw_walk_cache_hold.is_taken);
	CHECK(known->count <= result->depth);
	run.shared += known->count;
	uint64_t sum = 0;
	for (unsigned i = 0; i < result->depth; i++) {
		uint64_t pc = pcs[result->depth - 1 - i];
		sum = (sum ^ pc) * 0x9e3779b97f4a7c15u;
		CHECK(i >= known->count || (known->frames[i] == pc && known->sums[i] == sum));
		known->frames[i] = pc;
		known->sums[i] = sum;
	}
	known->count = result->depth;
	mw_unwind_let_sums_go();
	CHECK(!mw_walk_cache_hold.is_taken);
	CHECK(mw_unwind_take_sums(result->generation + 1) == NULL);
	CHECK(!mw_walk_cache_hold.is_taken);
}

/* Twice from the same place: along the walk_cache, and as if another walk were on it. */
static NOINLINE void capture(void) {
	static const unsigned depths[] = {MW_UNWIND_DEPTH_MAX, MW_UNWIND_DEPTH_MAX, 128, 17, 3};
	uint64_t pcs[2][MW_UNWIND_DEPTH_MAX];
	mw_unwind_result_t results[2];
	unsigned max_depth = depths[pick(5)];
	/* Volatile: one call, not two of an unrolled loop. */
	for (volatile unsigned i = 0; i < 2; i++) {
		mw_walk_cache_hold.is_taken = i == 1;
		results[i] = mw_unwind_capture(pcs[i], max_depth);
	}
	mw_walk_cache_hold.is_taken = false;
	CHECK_EQ(results[0].depth, results[1].depth);
	CHECK_EQ(results[0].truncated, results[1].truncated);
	CHECK(!results[0].truncated || results[0].depth == max_depth);
	CHECK(memcmp(pcs[0], pcs[1], results[0].depth * sizeof(pcs[0][0])) == 0);
	CHECK_EQ(results[1].generation, 0);
	CHECK_EQ(results[1].cached_value, 0);
	uint64_t now = digest(pcs[1], &results[1]);
	CHECK(results[0].cached_value == 0 || results[0].cached_value == now);
	if (pick(4))
		check_sums(pcs[0], &results[0]);
	run.along += results[0].generation != 0;
	run.recognised += results[0].cached_value != 0;
	if (results[0].generation && pick(2))
		mw_unwind_remember(results[0].generation, now, 0);
	run.captures++;
}

/* What is noted for a stack with a key: another number for each key. */
static uint64_t noted(uint64_t stack, uint64_t key) {
	return stack + 2 * key;
}

/* A stack that is known without a walk is the one that a walk gives, and was noted with this key.
 * Then there is none, as a rule, and the walk_cache stays that of another. */
static NOINLINE void recognise(void) {
	uint64_t pcs[2][MW_UNWIND_DEPTH_MAX];
	mw_unwind_result_t results[2] = {{.generation = 0}};
	uint64_t key = pick(8) ? 0 : pick(3);
	mw_unwind_entry = __builtin_frame_address(0);
	uint64_t known = mw_unwind_recognise(key);
	mw_os_regs_t regs = mw_os_caller_regs(mw_unwind_entry);
	const mw_walk_cache_t *walk_cache = mw_walk_cache_hold.walk_cache;
	run.from_stack_cache += known != 0 && mw_walk_cache_recognise(walk_cache, &regs, key) == 0;
	bool is_left = known != 0 && pick(4) != 0;
	for (volatile unsigned i = is_left; i < 2; i++) {
		mw_walk_cache_hold.is_taken = i == 1;
		results[i] = mw_unwind_capture_caller(pcs[i], NULL, MW_UNWIND_DEPTH_MAX);
	}
	mw_walk_cache_hold.is_taken = false;
	mw_unwind_entry = NULL;
	uint64_t now = digest(pcs[1], &results[1]);
	CHECK(known == 0 || known == noted(now, key));
	CHECK(is_left || results[0].cached_value == 0 ||
	      results[0].cached_value == noted(now, results[0].cached_key));
	CHECK(is_left || digest(pcs[0], &results[0]) == now);
	if (!is_left && pick(4))
		check_sums(pcs[0], &results[0]);
	if (results[0].generation && pick(4))
		mw_unwind_remember(results[0].generation, noted(now, key), key);
	run.known += known != 0;
	run.captures++;
}

static NOINLINE void recognise_further_in(void) {
	recognise();
	KEEP_FRAME();
}

/* In turns, from a few places. */
static void look(void) {
	for (unsigned times = pick(run.recognises ? 6 : 3); times > 0; times--)
		if (!run.recognises)
			capture();
		else if (pick(2))
			recognise();
		else
			recognise_further_in();
}

typedef void part_t(void);
static part_t *const parts[];
static NOINLINE void go_on(void);

/* The frame pointer is a general register here, as a rule. */
static NOINLINE void plain(void) {
	go_on();
	KEEP_FRAME();
}

static NOINLINE void plain_too(void) {
	char room[48];
	KEEP(room);
	go_on();
	KEEP(room);
	go_on();
	KEEP(room);
}

/* Frames found by the frame pointer, of several sizes that add up to the same in many ways. */
static NOINLINE void varying(void) {
	char *room = alloca(16 * (1 + pick(4)));
	KEEP(room);
	if (run.recognises)
		recognise();
	go_on();
	KEEP(room);
}

static NOINLINE void varying_too(void) {
	char *room = alloca(16 * (1 + pick(4)));
	KEEP(room);
	if (run.recognises)
		recognise();
	go_on();
	KEEP(room);
	go_on();
	KEEP(room);
}

static NOINLINE void realigned(void) {
	_Alignas(64) char room[64];
	KEEP(room);
	go_on();
	KEEP(room);
}

static NOINLINE void large(void) {
	char room[9000];
	KEEP(room);
	go_on();
	KEEP(room);
}

static NOINLINE int compare(const void *a, const void *b) {
	int order = *(const int *)a - *(const int *)b;
	if (order == 1)
		go_on();
	KEEP_FRAME();
	return order;
}

static NOINLINE void through_libc(void) {
	int numbers[] = {3, 1, 2};
	qsort(numbers, 3, sizeof numbers[0], compare);
	KEEP_FRAME();
}

static void handler(int number) {
	(void)number;
	capture();
	KEEP_FRAME();
}

static NOINLINE void interrupted(void) {
	CHECK(raise(SIGUSR1) == 0);
	go_on();
	KEEP_FRAME();
}

static __thread ucontext_t outside, inside;
static __thread char *coroutine_stack; /* freed by run_program() */

static void in_coroutine(void) {
	go_on();
	capture();
	KEEP_FRAME();
}

static NOINLINE void through_coroutine(void) {
	static __thread bool is_busy;
	if (is_busy)
		return;
	is_busy = true;
	if (!coroutine_stack)
		CHECK((coroutine_stack = malloc(STACK_BYTES)) != NULL);
	CHECK(getcontext(&inside) == 0);
	inside.uc_stack.ss_sp = coroutine_stack;
	inside.uc_stack.ss_size = STACK_BYTES;
	inside.uc_link = &outside;
	makecontext(&inside, in_coroutine, 0);
	CHECK(swapcontext(&outside, &inside) == 0);
	is_busy = false;
}

static part_t *const parts[] = {plain,     plain,   plain_too,   plain_too,
				varying,   varying, varying_too, varying_too,
				realigned, large,   through_libc};
/* No walk_cache leads through these. */
static part_t *const others[] = {interrupted, through_coroutine};

/* One call site for all, so that stacks differ in frames and not in addresses only. */
static NOINLINE void go_on(void) {
	if (run.captures >= CAPTURES || run.depth >= run.deepest)
		return;
	run.depth++;
	look();
	unsigned what = pick(200);
	if (what >= 20)
		parts[what % (sizeof parts / sizeof *parts)]();
	else if (what < 3)
		others[what % 2]();
	look();
	run.depth--;
}

/* The thread samples as often as it takes. */
static void get_walk_cache(void) {
	CHECK(mw_walk_cache_hold.walk_cache == NULL);
	for (unsigned i = 1; i < 1000 && !mw_walk_cache_hold.walk_cache; i++)
		mw_unwind_sampled(1000 * i, false);
	CHECK_EQ(mw_walk_cache_hold.walk_cache != NULL, !MW_OS_HAS_LINK_REGISTER);
}

static void run_program(uint64_t seed) {
	memset(&run, 0, sizeof run);
	mw_rng_init(&run.rng, seed);
	/* Of two or three frames each.  Now and then more than a walk_cache has room for. */
	run.deepest = seed % 4 ? 20 : 60;
	run.recognises = seed % 3 == 0;
	while (run.captures < CAPTURES)
		go_on();
	free(coroutine_stack);
	coroutine_stack = NULL;
	printf("# seed %lu: %u of %u along a walk_cache, %u recognised; %u known, %u in the stack "
	       "cache\n",
	       (unsigned long)seed, run.along, run.captures, run.recognised, run.known,
	       run.from_stack_cache);
	if (MW_OS_HAS_LINK_REGISTER)
		return;
	/* Or nothing was tested.  Stacks with more frames than a walk_cache are most of the deep
	 * ones, and more still where frames are larger, as with a sanitizer's. */
	unsigned share = run.deepest > 20 ? 100 : 5;
	if (run.recognises) {
		CHECK(run.known > CAPTURES / share);
		CHECK(run.from_stack_cache > CAPTURES / share / 10);
		return;
	}
	CHECK(run.along > CAPTURES / share);
	CHECK(run.shared > run.along);
	CHECK(run.recognised > CAPTURES / share / 10);
}

static void random_programs(void) {
	uint64_t before = mw_walk_cache_memory_bytes();
	get_walk_cache();
	CHECK_EQ(mw_walk_cache_memory_bytes() > before, !MW_OS_HAS_LINK_REGISTER);
	for (uint64_t seed = 1; seed <= 12; seed++)
		run_program(seed);
	mw_unwind_thread_end();
	CHECK_EQ(mw_walk_cache_memory_bytes(), before);
	/* Not again: nobody would give it back. */
	for (unsigned i = 1; i < 1000; i++)
		mw_unwind_sampled(1000 * i, false);
	CHECK(mw_walk_cache_hold.walk_cache == NULL);
	mw_walk_cache_hold.has_ended = false;
}

static void *in_thread(void *argument) {
	get_walk_cache();
	run_program((uintptr_t)argument);
	mw_unwind_thread_end();
	return NULL;
}

static void threads(void) {
	pthread_t ids[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&ids[i], NULL, in_thread, (void *)(100 + i)) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_join(ids[i], NULL) == 0);
}

static void *fork_beside(void *argument) {
	const uint64_t *walk_cache_bytes = argument;
	get_walk_cache();
	pid_t child = fork();
	if (child == 0) {
		mw_unwind_forked();
		CHECK_EQ(mw_walk_cache_memory_bytes(), *walk_cache_bytes);
		mw_unwind_thread_end();
		CHECK_EQ(mw_walk_cache_memory_bytes(), 0);
		_exit(0);
	}
	int status;
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	mw_unwind_thread_end();
	return NULL;
}

static void *beside_a_fork(void *argument) {
	get_walk_cache();
	uint64_t *own_bytes = argument;
	*own_bytes = mw_walk_cache_memory_bytes() - *own_bytes;
	pthread_t id;
	/* The thread that forks goes on with its walk_cache, the other one is not there. */
	CHECK(pthread_create(&id, NULL, fork_beside, own_bytes) == 0);
	CHECK(pthread_join(id, NULL) == 0);
	mw_unwind_thread_end();
	return NULL;
}

/* Walk caches of threads that did not come over are not the child's. */
static void child_of_a_fork(void) {
	uint64_t bytes = mw_walk_cache_memory_bytes();
	pthread_t id;
	CHECK(pthread_create(&id, NULL, beside_a_fork, &bytes) == 0);
	CHECK(pthread_join(id, NULL) == 0);
}

/* One that samples now and then gets none. */
static void seldom(void) {
	for (uint64_t i = 1; i < 1000; i++)
		mw_unwind_sampled(200000 * i, false);
	CHECK(mw_walk_cache_hold.walk_cache == NULL);
}

int main(void) {
	struct sigaction action = {.sa_handler = handler};
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	mw_unwind_start();
	RUN(seldom);
	RUN(random_programs);
	RUN(threads);
	RUN(child_of_a_fork);
	return 0;
}
