/* SPDX-License-Identifier: MIT
 * peaks.c -- what the profile says was in use at the peak, against a program that counts: a spike
 * on a steady heap, a ramp whose last part is another stack's, rising waves, and two threads.
 *
 * Exact mode must be right to the byte, in the total and in each stack.  Sampled, the mean over the
 * seeds must be right within four of its standard errors.
 * Usage: peaks LIBRARY [SEEDS [table]]; "table" prints the rows of doc/measurements/peak.md. */
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch.h"
#include "own_state.h"
#include "state_entry.h"
#include "test.h"

enum { SPIKE, RAMP, WAVES, THREADS, SHAPES };
static const char *const names[SHAPES] = {"spike of 4 % on a steady heap",
					  "ramp, its end another stack's", "rising waves",
					  "two threads, a spike in each"};
/* Two stacks, which are told apart by the size of their blocks. */
enum { STEADY, SPIKED, STACKS };
static const size_t sizes[STACKS] = {1024, 2048};
#define MEAN_BYTES 65536
#define EXACT_SEEDS(seeds) ((seeds) / 2)

/* ---- the program that is measured ---- */

enum { BLOCKS_MAX = 60000 };
typedef struct pile {
	void *blocks[BLOCKS_MAX];
	int count;
} pile_t;

static pile_t *piles; /* two a thread */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double live[STACKS], at_peak[STACKS], peak;
static __thread uint64_t state = 1;
static bool in_threads;
static pthread_barrier_t barrier;

static uint64_t below(uint64_t limit) {
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % limit;
}

/* Under the lock, so that the true maximum is known where there are two threads. */
static void push(pile_t *pile, int stack, void *block) {
	CHECK(block && pile->count < BLOCKS_MAX);
	pile->blocks[pile->count++] = block;
	live[stack] += (double)malloc_usable_size(block);
	if (live[STEADY] + live[SPIKED] > peak) {
		peak = live[STEADY] + live[SPIKED];
		memcpy(at_peak, live, sizeof live);
	}
}

static __attribute__((noinline)) void add_steady(pile_t *pile) {
	pthread_mutex_lock(&lock);
	push(pile, STEADY, malloc(sizes[STEADY]));
	pthread_mutex_unlock(&lock);
}

static __attribute__((noinline)) void add_spiked(pile_t *pile) {
	pthread_mutex_lock(&lock);
	push(pile, SPIKED, malloc(sizes[SPIKED]));
	pthread_mutex_unlock(&lock);
}

static void take(pile_t *pile, int stack) {
	pthread_mutex_lock(&lock);
	int i = (int)below((uint64_t)pile->count);
	void *block = pile->blocks[i];
	pile->blocks[i] = pile->blocks[--pile->count];
	live[stack] -= (double)malloc_usable_size(block);
	free(block);
	pthread_mutex_unlock(&lock);
}

/* Up or down to so many blocks; every third step the other way. */
static void go_to(pile_t *pile, int stack, int count) {
	void (*add)(pile_t *) = stack == STEADY ? add_steady : add_spiked;
	for (int step = 0; pile->count != count; step++) {
		bool up = (pile->count < count) != (step % 3 == 2);
		if (up)
			add(pile);
		else if (pile->count > 0)
			take(pile, stack);
	}
}

static void spike(pile_t *own) {
	go_to(&own[STEADY], STEADY, 24000);
	for (int round = 0; round < 5000; round++) {
		take(&own[STEADY], STEADY);
		add_steady(&own[STEADY]);
	}
	/* Both threads are at their highest together. */
	if (in_threads)
		pthread_barrier_wait(&barrier);
	go_to(&own[SPIKED], SPIKED, 500 + (int)below(50));
	if (in_threads)
		pthread_barrier_wait(&barrier);
	go_to(&own[SPIKED], SPIKED, 0);
	go_to(&own[STEADY], STEADY, 9000);
}

static void ramp(pile_t *own) {
	go_to(&own[STEADY], STEADY, 30000);
	go_to(&own[SPIKED], SPIKED, 3000 + (int)below(500));
	go_to(&own[STEADY], STEADY, 0);
}

static void waves(pile_t *own) {
	for (int wave = 0; wave < 8; wave++) {
		go_to(&own[STEADY], STEADY, 10000 + wave * 300);
		go_to(&own[SPIKED], SPIKED, 2000 + wave * 60);
		go_to(&own[STEADY], STEADY, 3000);
		go_to(&own[SPIKED], SPIKED, 100);
	}
}

static void *one_thread(void *own) {
	state = (uint64_t)(uintptr_t)own;
	spike(own);
	return NULL;
}

static void run(int shape) {
	static void (*const shapes[SHAPES])(pile_t *) = {spike, ramp, waves, NULL};
	pthread_t threads[2];
	if (shapes[shape]) {
		shapes[shape](piles);
		return;
	}
	in_threads = true;
	CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[i], NULL, one_thread, &piles[i * STACKS]) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

/* ---- what the file says ---- */

typedef struct result {
	double truth[STACKS], said[STACKS], other; /* of other stacks, which are the C library's */
	double said_total;
} result_t;

static void read_peak(result_t *out) {
	const char *base = own_state_map();
	const mw_state_live_t *page = state_entry(base, MW_SECTION_LIVE, 0);
	out->said_total = (double)page->peak_bytes;
	for (uint64_t i = 0; i < page->stacks_used; i++) {
		const mw_state_stack_t *stack = state_entry(base, MW_SECTION_STACKS, i);
		double bytes = stack->peak_number == page->peak_number ? (double)stack->peak_bytes
								       : (double)stack->live_bytes;
		double *sum = &out->other;
		for (int k = 0; k < STACKS; k++)
			if (stack->first_size_bytes >= sizes[k] &&
			    stack->first_size_bytes < sizes[k] + 64)
				sum = &out->said[k];
		*sum += bytes;
	}
}

static void measure(int output, int seed) {
	result_t result = {{0}, {0}, 0, 0};
	state = (uint64_t)seed * 7919;
	piles = mmap(NULL, sizeof(pile_t) * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	CHECK(piles != MAP_FAILED);
	run(seed % SHAPES);
	memcpy(result.truth, at_peak, sizeof at_peak);
	read_peak(&result);
	CHECK(write(output, &result, sizeof result) == sizeof result);
}

/* ---- the judge ---- */

enum { TOTAL = STACKS, RATIOS };

typedef struct sums {
	double ratio[RATIOS], square[RATIOS], largest_gap;
	int runs;
} sums_t;

static void one_run(const char *library, int seed, bool exact, sums_t *sums) {
	int output, status;
	char options[64];
	snprintf(options, sizeof options, ",prof_sample:%d", exact ? 1 : MEAN_BYTES);
	pid_t child = launch(library, seed, options, &output);
	result_t r;
	CHECK(read(output, &r, sizeof r) == sizeof r);
	close(output);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	double truth = r.truth[STEADY] + r.truth[SPIKED];
	/* The rows add up to the total. */
	CHECK(r.said[STEADY] + r.said[SPIKED] + r.other == r.said_total);
	double ratios[RATIOS] = {r.said[STEADY] / r.truth[STEADY], r.said[SPIKED] / r.truth[SPIKED],
				 (r.said_total - r.other) / truth};
	for (int k = 0; k < RATIOS; k++) {
		sums->ratio[k] += ratios[k];
		sums->square[k] += ratios[k] * ratios[k];
		double gap = fabs(ratios[k] - 1);
		sums->largest_gap = gap > sums->largest_gap ? gap : sums->largest_gap;
	}
	sums->runs++;
}

static double mean_of(const sums_t *s, int k) {
	return s->ratio[k] / s->runs;
}

/* Standard error of the mean. */
static double error_of(const sums_t *s, int k) {
	double variance = s->square[k] / s->runs - mean_of(s, k) * mean_of(s, k);
	return sqrt((variance > 0 ? variance : 0) / (s->runs > 1 ? s->runs - 1 : 1));
}

static void print_row(const char *name, bool exact, const sums_t *s) {
	printf("| %s | %s | %d |", name, exact ? "1" : "64 KiB", s->runs);
	for (int k = 0; k < RATIOS; k++)
		printf(exact ? " %.6f |" : " %.3f ± %.3f |", mean_of(s, k), error_of(s, k));
	printf("\n");
}

int main(int argc, char **argv) {
	if (argc == 4 && strcmp(argv[1], "--measure") == 0) {
		measure(atoi(argv[2]), atoi(argv[3]));
		return 0;
	}
	CHECK(argc >= 2);
	int seeds = argc > 2 ? atoi(argv[2]) : 6;
	bool table = argc > 3;
	if (table)
		printf("| shape | T | runs | steady stack | stack of the spike | total |\n"
		       "|---|---|---|---|---|---|\n");
	for (int exact = 1; exact >= 0; exact--)
		for (int shape = 0; shape < SHAPES; shape++) {
			sums_t sums = {.runs = 0};
			int runs = exact ? EXACT_SEEDS(seeds) : seeds;
			for (int i = 0; i < runs; i++)
				one_run(argv[1], (i + 1) * SHAPES + shape, exact, &sums);
			if (table)
				print_row(names[shape], exact, &sums);
			if (exact)
				CHECK_EQ(sums.largest_gap * 1e12, 0);
			/* Of several maxima of nearly one height the one is found that the samples
			 * overstate most. */
			double slack = shape == WAVES ? 0.05 : 0.005;
			for (int k = 0; k < RATIOS && !exact; k++)
				CHECK_NEAR(mean_of(&sums, k), 1, 4 * error_of(&sums, k) + slack);
		}
	if (!table)
		printf("ok peaks\n");
	return 0;
}
