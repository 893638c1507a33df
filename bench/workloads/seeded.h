/* SPDX-License-Identifier: MIT
 * seeded.h -- what the workloads with ranges share: options, points, checked blocks.
 *
 * A run of such a workload visits K points with blocks of 8 to 64 bytes, K with blocks of 8 to
 * 1,000 bytes and K with blocks of 64 to 8,000 bytes.  A point is one choice of every other
 * parameter, each drawn from a range by the seed: an allocator cannot be fitted to one of them.
 * Draws are logarithmic (a doubling is as likely everywhere in the range) and stratified: the K
 * points of a range of sizes take one K-th of a parameter's range each, in shuffled order.
 *
 * Options of all: --threads N, --seed S, --points K, --percent P (of the operations of a full
 * run), --sized (operator new and sized delete instead of malloc and free), --fill (write and
 * compare every byte of a block, not only its ends).
 *
 * Besides "sum N" a run prints for each range of sizes the notes NAME_operations, NAME_cpu_us and
 * NAME_peak_kib (NAME: small, mixed, large), and a line "point ..." for each point.  One operation
 * is one block made and freed.  The peak is that of the process until the range ends: larger blocks
 * come later. */
#ifndef BENCH_SEEDED_H
#define BENCH_SEEDED_H

#include "workload.h"

#include <math.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

enum { WL_THREADS_MAX = 64, WL_POINTS_MAX = 64, WL_RANGES = 3 };

/* Makes a second number of a random one: its low bits do not depend on the first's high bits. */
#define WL_ODD UINT64_C(0x9e3779b97f4a7c15)

/* The blocks of a point take at most so much: workloads make their sets smaller to keep to it. */
#define WL_LIVE_BYTES_MAX (UINT64_C(96) << 20)

typedef struct wl_options {
	unsigned threads, points, percent;
	uint64_t seed;
	bool sized, fill;
	const char *mode;
} wl_options_t;

typedef struct wl_range {
	const char *name;
	uint32_t low, high; /* bytes of a block, all sizes alike */
	unsigned percent;   /* of a workload's operations: larger blocks take longer */
} wl_range_t;

static const wl_range_t wl_ranges[WL_RANGES] = {
	{"small", 8, 64, 150}, {"mixed", 8, 1000, 100}, {"large", 64, 8000, 30}};

typedef struct wl_point {
	const wl_options_t *options;
	unsigned range, index; /* index: among the points of the range */
	uint32_t size_low, size_high;
	double start_cpu_ns;
} wl_point_t;

/* Sums over the marks of blocks, whoever made and freed them: equal in the end, or blocks were
 * lost, mixed up or handed out twice. */
typedef struct wl_sums {
	uint64_t made, dropped, operations;
} wl_sums_t;

static inline double wl_cpu_ns(void) {
	struct timespec time;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static inline uint64_t wl_number(const char *word, const char *name, uint64_t low, uint64_t high) {
	char *end = NULL;
	uint64_t value = word && word[0] != '-' ? strtoull(word, &end, 10) : 0;
	if (!end || end == word || *end || value < low || value > high) {
		fprintf(stderr, "workload: %s takes a number from %" PRIu64 " to %" PRIu64 "\n",
			name, low, high);
		exit(2);
	}
	return value;
}

/* `modes` lists the words that the first argument may be, NULL last; a workload with one mode
 * has "" there and takes no such argument. */
static inline wl_options_t wl_options(int argc, char **argv, const char *const *modes) {
	wl_options_t options = {.threads = 1, .points = 2, .percent = 100, .seed = 1};
	int i = 1;
	options.mode = modes[0][0] == 0 ? "" : argc > 1 ? argv[i++] : modes[0];
	while (*modes && strcmp(*modes, options.mode) != 0)
		modes++;
	if (!*modes)
		wl_die("no such mode");
	for (; i < argc; i++) {
		const char *name = argv[i];
		if (!strcmp(name, "--sized"))
			options.sized = true;
		else if (!strcmp(name, "--fill"))
			options.fill = true;
		else if (!strcmp(name, "--threads"))
			options.threads = (unsigned)wl_number(argv[++i], name, 1, WL_THREADS_MAX);
		else if (!strcmp(name, "--points"))
			options.points = (unsigned)wl_number(argv[++i], name, 1, WL_POINTS_MAX);
		else if (!strcmp(name, "--percent"))
			options.percent = (unsigned)wl_number(argv[++i], name, 1, 10000);
		else if (!strcmp(name, "--seed"))
			options.seed = wl_number(argv[++i], name, 0, UINT64_MAX);
		else
			wl_die("options: --threads N, --seed S, --points K, --percent P, --sized, "
			       "--fill");
	}
	return options;
}

/* The stratum of a point for a parameter: its place in a shuffled list of its range's points. */
static inline unsigned wl_stratum(const wl_point_t *point, uint64_t *state) {
	unsigned order[WL_POINTS_MAX], points = point->options->points;
	for (unsigned i = 0; i < points; i++) {
		unsigned other = wl_below(state, i + 1);
		order[i] = order[other];
		order[other] = i;
	}
	return order[point->index];
}

/* A number of `low` to `high`.  `parameter`, below 16, tells the draws of one point apart. */
static inline uint32_t wl_draw(const wl_point_t *point, unsigned parameter, uint32_t low,
			       uint32_t high) {
	uint64_t state = (point->options->seed * WL_RANGES + point->range) * 16 + parameter;
	unsigned stratum = wl_stratum(point, &state);
	state += point->index;
	double within = (double)wl_below(&state, 1u << 30) / (1u << 30);
	double place = (stratum + within) / point->options->points;
	return (uint32_t)(low * pow((double)high / low, place) + 0.5);
}

/* The seed of a thread's own random numbers. */
static inline uint64_t wl_thread_seed(const wl_point_t *point, unsigned thread) {
	uint64_t state = (point->options->seed * WL_RANGES + point->range) * WL_POINTS_MAX;
	state = (state + point->index) * WL_THREADS_MAX * 2 + thread;
	return wl_random(&state);
}

static inline uint32_t wl_percent(const wl_options_t *options, uint32_t count) {
	uint64_t part = (uint64_t)count * options->percent / 100;
	return part ? (uint32_t)part : 1;
}

/* The operations of this point, shared by `threads`: each one's part of `full`. */
static inline uint32_t wl_operations(const wl_point_t *point, uint32_t full, unsigned threads) {
	return wl_percent(point->options, full / 100 * wl_ranges[point->range].percent / threads);
}

/* How many blocks each of `holders` may hold at a time of the `wanted`. */
static inline uint32_t wl_bounded(const wl_point_t *point, uint32_t wanted, uint32_t holders) {
	uint64_t most = WL_LIVE_BYTES_MAX / (point->size_low + point->size_high) * 2 / holders;
	return wanted < most ? wanted : (uint32_t)most;
}

/* Ends a point: what it took, for people. */
static inline void wl_point_end(const wl_point_t *point, uint64_t operations, const char *text) {
	double cpu_ns = wl_cpu_ns() - point->start_cpu_ns;
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("point %u: %" PRIu32 "..%" PRIu32 " bytes, %s: %" PRIu64
	       " operations, %.1f ns each, "
	       "peak %ld KiB\n",
	       point->index, point->size_low, point->size_high, text, operations,
	       cpu_ns / (double)(operations ? operations : 1), usage.ru_maxrss);
}

/* operator new and the sized delete: the allocator's where it has them, else libstdc++'s. */
void *wl_cxx_new(size_t bytes) __asm__("_Znwm");
void wl_cxx_delete(void *block, size_t bytes) __asm__("_ZdlPvm");

/* Of a block, the first 8 bytes hold its mark: the size in the low 16 bits, random bits above. The
 * last byte (with --fill all others) repeats 8 of the random bits. */
static inline unsigned char *wl_block_make(const wl_point_t *point, wl_sums_t *sums,
					   uint64_t random) {
	const wl_options_t *options = point->options;
	uint64_t span = point->size_high - point->size_low + 1;
	size_t bytes = point->size_low + (size_t)(((random & 0xffffffff) * span) >> 32);
	uint64_t mark = random << 16 | bytes;
	unsigned char *block = options->sized ? wl_cxx_new(bytes) : wl_malloc(bytes);
	memcpy(block, &mark, sizeof(mark));
	if (options->fill)
		memset(block + sizeof(mark), (int)(mark >> 16 & 0xff), bytes - sizeof(mark));
	else if (bytes > sizeof(mark))
		block[bytes - 1] = (unsigned char)(mark >> 16);
	sums->made += mark;
	return block;
}

static inline void wl_block_drop(const wl_point_t *point, wl_sums_t *sums, unsigned char *block) {
	uint64_t mark;
	memcpy(&mark, block, sizeof(mark));
	size_t bytes = mark & 0xffff;
	if (bytes < point->size_low || bytes > point->size_high)
		wl_die("a block lost its first bytes");
	for (size_t i = point->options->fill ? sizeof(mark) : bytes - 1; i < bytes; i++)
		if (i >= sizeof(mark) && block[i] != (unsigned char)(mark >> 16))
			wl_die("a block lost its contents");
	sums->dropped += mark;
	sums->operations++;
	if (point->options->sized)
		wl_cxx_delete(block, bytes);
	else
		free(block);
}

static inline void wl_sums_add(wl_sums_t *all, const wl_sums_t *more) {
	all->made += more->made;
	all->dropped += more->dropped;
	all->operations += more->operations;
}

static inline void wl_range_note(const char *range, const char *what, uint64_t value) {
	char name[40];
	snprintf(name, sizeof(name), "%s_%s", range, what);
	wl_note(name, value);
}

/* Runs `visit` at the points of a range, and compares what was made with what was freed. */
static inline uint64_t wl_visit_range(const wl_options_t *options, unsigned range,
				      void (*visit)(wl_point_t *point, wl_sums_t *sums)) {
	const wl_range_t *sizes = &wl_ranges[range];
	wl_sums_t all = {0};
	double start_ns = wl_cpu_ns();
	for (unsigned i = 0; i < options->points; i++) {
		wl_point_t point = {options, range, i, sizes->low, sizes->high, wl_cpu_ns()};
		wl_sums_t sums = {0};
		visit(&point, &sums);
		if (sums.made != sums.dropped)
			wl_die("what was freed is not what was made");
		wl_sums_add(&all, &sums);
	}
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	wl_range_note(sizes->name, "operations", all.operations);
	wl_range_note(sizes->name, "cpu_us", (uint64_t)((wl_cpu_ns() - start_ns) / 1000));
	wl_range_note(sizes->name, "peak_kib", (uint64_t)usage.ru_maxrss);
	return all.made;
}

static inline int wl_visit(const wl_options_t *options,
			   void (*visit)(wl_point_t *point, wl_sums_t *sums)) {
	uint64_t sum = 0;
	for (unsigned range = 0; range < WL_RANGES; range++)
		sum += wl_visit_range(options, range, visit);
	return wl_finish(sum);
}

#endif
