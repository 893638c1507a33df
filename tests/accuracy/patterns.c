/* SPDX-License-Identifier: MIT
 * patterns.c -- ways programs use malloc, each with its true sums beside what the state file says:
 * ping-pong, LIFO, random lifetimes, frees by another thread, realloc up and down, aligned, calloc,
 * short threads, the rate changed and sampling switched off and on underway, heaps that end as a
 * whole, the child of a fork.
 *
 * An estimate's distance from the truth, in its standard deviations (from the sizes and T: see
 * doc/internals/sampling.md), is a standard normal number if the method is right.  Over the seeds
 * its mean must be 0 and its squares' mean 1, within what so many can tell.  Usage: patterns
 * LIBRARY */
#include <malloc.h>
#include <math.h>
#include <mimalloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch.h"
#include "own_state.h"
#include "state_entry.h"
#include "test.h"

/* Of the library that is preloaded. */
#pragma weak mi_heap_new
#pragma weak mi_heap_malloc
#pragma weak mi_heap_destroy

enum { SEEDS = 24, COUNT = 60000, HELD = 4000 };
#define MEAN_BYTES 16384.0

enum {
	PING_PONG,
	LIFO,
	RANDOM,
	ACROSS,
	GROWN,
	SHRUNK,
	ALIGNED,
	ZEROED,
	THREADS,
	RATES,
	SWITCHED,
	HEAPS,
	FORKED,
	PATTERNS
};
static const char *const names[PATTERNS] = {
	"ping-pong",
	"lifo",
	"random lifetimes",
	"freed elsewhere",
	"realloc up",
	"realloc down",
	"aligned",
	"calloc",
	"short threads",
	"changed rates",
	"stopped and started",
	"heaps of mimalloc",
	"forked",
};
enum { OBJECTS, BYTES, REQUESTED, SUMS };

/* ---- what is true ---- */

typedef struct sums {
	double values[SUMS], variances[SUMS];
} sums_t;

static double mean_bytes = MEAN_BYTES;
static __thread uint64_t state = 1;

static uint64_t below(uint64_t limit) {
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % limit;
}

/* Most small, some to 64 KiB. */
static size_t some_size(void) {
	return below(8) ? 1 + below(600) : 1 + below(60000);
}

static void count(sums_t *sums, const void *block, size_t requested, double sign) {
	double usable = (double)malloc_usable_size((void *)(uintptr_t)block);
	double chance = -expm1(-usable / mean_bytes), spread = (1 - chance) / chance;
	const double amounts[SUMS] = {1, usable, (double)requested};
	for (int k = 0; k < SUMS; k++) {
		sums->values[k] += sign * amounts[k];
		sums->variances[k] += sign * spread * amounts[k] * amounts[k];
	}
}

/* ---- what the file says ---- */

static char *base;

static void *section(mw_state_section_id_t id) {
	return state_entry(base, id, 0);
}

static void read_sums(double allocated[SUMS], double live[SUMS]) {
	const mw_state_live_t *page = section(MW_SECTION_LIVE);
	for (int k = 0; k < SUMS; k++)
		allocated[k] = live[k] = 0;
	for (uint64_t i = 0; i < page->stacks_used; i++) {
		const mw_state_stack_t *stack = state_entry(base, MW_SECTION_STACKS, i);
		allocated[OBJECTS] += (double)stack->alloc_objects_q16 / 65536;
		allocated[BYTES] += (double)stack->alloc_bytes;
		allocated[REQUESTED] += (double)stack->alloc_requested_bytes;
		live[OBJECTS] += (double)stack->live_objects_q16 / 65536;
		live[BYTES] += (double)stack->live_bytes;
		live[REQUESTED] += (double)stack->live_requested_bytes;
	}
}

/* As a tool's request: a large block checks for requests at each call and is drawn at the new rate.
 */
static void request(sums_t *sums, bool active, double mean) {
	static bool was_active = true;
	mw_state_control_t *words = section(MW_SECTION_CONTROL);
	const mw_state_live_t *page = section(MW_SECTION_LIVE);
	words->want_active = active;
	words->want_mean_bytes = (uint64_t)mean;
	uint32_t sequence = atomic_fetch_add(&words->sequence, 1) + 1;
	for (bool seen = false; !seen;) {
		void *block = malloc(100000);
		seen = atomic_load(&page->sequence_seen) == sequence;
		if (seen)
			mean_bytes = mean;
		if (seen ? active : was_active)
			count(sums, block, 100000, 1);
		free(block);
	}
	was_active = active;
}

/* ---- the patterns ---- */

static void *held[HELD];

static void *make(sums_t *sums, size_t bytes) {
	void *block = malloc(bytes);
	CHECK(block);
	count(sums, block, bytes, 1);
	return block;
}

static void ping_pong(sums_t *sums) {
	for (int i = 0; i < COUNT; i++)
		free(make(sums, some_size()));
}

static void lifo(sums_t *sums) {
	for (int round = 0; round < COUNT / HELD; round++) {
		for (int i = 0; i < HELD; i++)
			held[i] = make(sums, some_size());
		for (int i = HELD; i-- > 0;)
			free(held[i]);
	}
}

static void random_lifetimes(sums_t *sums) {
	memset(held, 0, sizeof held);
	for (int i = 0; i < COUNT; i++) {
		void **slot = &held[below(HELD)];
		free(*slot);
		*slot = make(sums, some_size());
	}
	for (int i = 0; i < HELD; i++)
		free(held[i]);
}

static void *free_all(void *unused) {
	for (int i = 0; i < HELD; i++)
		free(held[i]);
	return unused;
}

static void across(sums_t *sums) {
	for (int round = 0; round < COUNT / HELD; round++) {
		pthread_t thread;
		for (int i = 0; i < HELD; i++)
			held[i] = make(sums, some_size());
		CHECK(pthread_create(&thread, NULL, free_all, NULL) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
}

/* What is live after many changes of size; requests are those of the last trial. */
static void resized(sums_t *sums, bool up) {
	for (int i = 0; i < HELD; i++) {
		size_t bytes = up ? 16 : 3000 + below(60000);
		held[i] = malloc(bytes);
		for (int turn = 0; turn < 6; turn++) {
			bytes = up ? bytes + bytes / 2 + below(bytes * 4)
				   : bytes / 4 + 1 + below(bytes / 2 + 1);
			held[i] = realloc(held[i], bytes);
			CHECK(held[i]);
		}
		count(sums, held[i], 0, 1);
	}
}

static void aligned(sums_t *sums) {
	for (int i = 0; i < COUNT; i++) {
		size_t bytes = some_size(), align = (size_t)16 << below(9);
		void *block = NULL;
		CHECK(posix_memalign(&block, align, bytes) == 0 && (uintptr_t)block % align == 0);
		count(sums, block, bytes, 1);
		free(block);
	}
}

static void zeroed(sums_t *sums) {
	for (int i = 0; i < COUNT; i++) {
		size_t bytes = some_size();
		char *block = calloc(1, bytes);
		CHECK(block && block[0] == 0 && block[bytes - 1] == 0);
		count(sums, block, bytes, 1);
		free(block);
	}
}

/* Threads that end long before their lists do. */
static void *make_few(void *argument) {
	sums_t *sums = argument;
	state = below(1000000) + (uint64_t)(uintptr_t)pthread_self();
	for (int i = 0; i < 40; i++)
		free(make(sums, some_size()));
	return NULL;
}

static void short_threads(sums_t *sums) {
	for (int i = 0; i < COUNT / 40 / 4; i++) {
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, make_few, sums) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
}

/* A size a phase, so that each list is of one rate but for its first. */
static void changed_rates(sums_t *sums) {
	for (int phase = 0; phase < 30; phase++) {
		request(sums, true, MEAN_BYTES / (1 << phase % 4));
		for (int i = 0; i < COUNT / 30; i++)
			free(make(sums, some_size()));
	}
	request(sums, true, MEAN_BYTES);
}

static void switched(sums_t *sums) {
	sums_t unseen = {0};
	for (int phase = 0; phase < 20; phase++) {
		request(sums, phase % 2 == 0, MEAN_BYTES);
		/* Lists handed out while sampling was off hold no sample: away with them. */
		malloc_trim(0);
		for (int i = 0; i < COUNT / 10; i++)
			free(make(phase % 2 == 0 ? sums : &unseen, some_size()));
	}
	request(sums, true, MEAN_BYTES);
}

/* Heaps end with full lists, and some of their blocks are freed before. */
static void heaps(sums_t *sums) {
	for (int round = 0; round < 10 * COUNT / HELD; round++) {
		mi_heap_t *heap = mi_heap_new();
		for (int i = 0; i < HELD / 10; i++) {
			size_t bytes = some_size();
			void *block = mi_heap_malloc(heap, bytes);
			CHECK(block);
			count(sums, block, bytes, 1);
			if (below(2))
				free(block);
		}
		mi_heap_destroy(heap);
	}
}

/* ---- measuring ---- */

static void (*const patterns[PATTERNS])(sums_t *) = {
	[PING_PONG] = ping_pong,     [LIFO] = lifo,
	[RANDOM] = random_lifetimes, [ACROSS] = across,
	[ALIGNED] = aligned,         [ZEROED] = zeroed,
	[THREADS] = short_threads,   [RATES] = changed_rates,
	[SWITCHED] = switched,       [HEAPS] = heaps,
	[FORKED] = random_lifetimes,
};

/* Distances in standard deviations. */
static void measure(int pattern, double z[SUMS]) {
	double before[SUMS], after[SUMS], live_before[SUMS], live_after[SUMS];
	sums_t sums = {0};
	bool of_live = pattern == GROWN || pattern == SHRUNK;
	read_sums(before, live_before);
	if (of_live)
		resized(&sums, pattern == GROWN);
	else
		patterns[pattern](&sums);
	read_sums(after, live_after);
	for (int k = 0; k < SUMS; k++) {
		double estimate = of_live ? live_after[k] - live_before[k] : after[k] - before[k];
		z[k] = (estimate - sums.values[k]) / sqrt(sums.variances[k]);
	}
	if (of_live) {
		z[REQUESTED] = 0;
		for (int i = 0; i < HELD; i++)
			free(held[i]);
		read_sums(after, live_after);
	}
	/* Frees take back exactly what was added. */
	for (int k = 0; k < SUMS; k++)
		CHECK(live_after[k] == live_before[k]);
}

static void measure_in_child(int output) {
	double z[SUMS];
	fflush(NULL);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		/* Its own file comes with its first sample. */
		for (int i = 0; i < 4000; i++)
			free(malloc(1000));
		base = own_state_map();
		measure(FORKED, z);
		CHECK(write(output, z, sizeof z) == sizeof z);
		_exit(0);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void *do_nothing(void *unused) {
	return unused;
}

static void measure_all(int output, uint64_t seed) {
	double z[SUMS];
	pthread_t thread;
	base = own_state_map();
	/* The C library keeps a block for the threads to come, which may be a sample. */
	CHECK(pthread_create(&thread, NULL, do_nothing, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	state = seed * 7919;
	for (int pattern = 0; pattern < FORKED; pattern++) {
		measure(pattern, z);
		CHECK(write(output, z, sizeof z) == sizeof z);
	}
	measure_in_child(output);
}

int main(int argc, char **argv) {
	static double sums[PATTERNS][SUMS], squares[PATTERNS][SUMS];
	static const char *const kinds[SUMS] = {"objects", "bytes", "requested"};
	if (argc == 4) {
		measure_all(atoi(argv[2]), (uint64_t)atoi(argv[3]));
		return 0;
	}
	CHECK(argc == 2);
	char options[64];
	snprintf(options, sizeof options, ",prof_sample:%.0f", MEAN_BYTES);
	for (int seed = 1; seed <= SEEDS; seed++) {
		int output, status;
		pid_t child = launch(argv[1], seed, options, &output);
		for (int pattern = 0; pattern < PATTERNS; pattern++) {
			double z[SUMS];
			CHECK(read(output, z, sizeof z) == sizeof z);
			for (int k = 0; k < SUMS; k++) {
				sums[pattern][k] += z[k];
				squares[pattern][k] += z[k] * z[k];
			}
		}
		close(output);
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	for (int pattern = 0; pattern < PATTERNS; pattern++)
		for (int k = 0; k < SUMS; k++) {
			double mean = sums[pattern][k] / SEEDS;
			double square = squares[pattern][k] / SEEDS;
			printf("# %-19s %-9s mean %+.2f, mean square %.2f\n", names[pattern],
			       kinds[k], mean, square);
			if (k == REQUESTED && (pattern == GROWN || pattern == SHRUNK))
				continue;
			/* Of 24 normal numbers: passed once in 10,000 each. */
			CHECK_NEAR(mean, 0, 3.9 / sqrt(SEEDS));
			CHECK(square > 0.2 && square < 2.6);
		}
	printf("ok patterns\n");
	return 0;
}
