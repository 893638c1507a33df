/* SPDX-License-Identifier: MIT
 * unwind_bench.c -- time of one capture of a stack of 26 frames: mallow's unwinder, libunwind's
 * cached trace (unw_backtrace, if built with it) and libgcc's (glibc's backtrace()), in turns.
 * warm: the same call sites again.  cold: call sites never seen before, one capture each, made by
 * calling fresh copies of a function; the figure is nanoseconds for each first-seen pc. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "prof/unwind/unwind.h"

#ifdef BENCH_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#define NOINLINE __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

enum { FRAMES = 26, CAPTURES = 20000, TURNS = 15, DEPTH_MAX = 128 };

typedef unsigned capture_fn(void **frames);

static NOINLINE unsigned by_mallow(void **frames) {
	return mw_unwind_capture((uint64_t *)frames, DEPTH_MAX).depth;
}

/* libunwind puts a backtrace() of its own before libc's, which calls libgcc's unwinder. */
static int (*libc_backtrace)(void **frames, int depth_max);

static NOINLINE unsigned by_libgcc(void **frames) {
	return (unsigned)libc_backtrace(frames, DEPTH_MAX);
}

#ifdef BENCH_LIBUNWIND
static NOINLINE unsigned by_libunwind(void **frames) {
	return (unsigned)unw_backtrace(frames, DEPTH_MAX);
}
#endif

static double now_ns(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double elapsed_ns; /* of the last leaf */
static unsigned depth_seen;

static NOINLINE void leaf(capture_fn *capture, unsigned captures) {
	void *frames[DEPTH_MAX];
	double start = now_ns();
	for (unsigned i = 0; i < captures; i++)
		depth_seen = capture(frames);
	elapsed_ns = (now_ns() - start) / captures;
}

/* Frames of three sizes, as a program has. */
static NOINLINE void descend(capture_fn *capture, unsigned captures, unsigned depth);

static NOINLINE void descend_small(capture_fn *capture, unsigned captures, unsigned depth) {
	descend(capture, captures, depth);
	KEEP_FRAME();
}

static NOINLINE void descend_large(capture_fn *capture, unsigned captures, unsigned depth) {
	char room[700];
	__asm__ volatile("" ::"r"(room) : "memory");
	descend(capture, captures, depth);
	KEEP_FRAME();
}

static NOINLINE void descend(capture_fn *capture, unsigned captures, unsigned depth) {
	if (depth == 0)
		leaf(capture, captures);
	else if (depth % 3)
		descend_small(capture, captures, depth - 1);
	else
		descend_large(capture, captures, depth - 1);
	KEEP_FRAME();
}

/* A hundred and twenty-five functions, each with a call site of its own: the first call of one
 * makes one new address on the stack. */
#define COLD_1(name)                                                                               \
	static NOINLINE void cold_##name(capture_fn *capture) {                                    \
		char room[sizeof(#name) * 8];                                                      \
		__asm__ volatile("" ::"r"(room) : "memory");                                       \
		void *frames[DEPTH_MAX];                                                           \
		depth_seen = capture(frames);                                                      \
		KEEP_FRAME();                                                                      \
	}
#define COLD_5(name) COLD_1(name##0) COLD_1(name##1) COLD_1(name##2) COLD_1(name##3) COLD_1(name##4)
#define COLD_25(name)                                                                              \
	COLD_5(name##0) COLD_5(name##1) COLD_5(name##2) COLD_5(name##3) COLD_5(name##4)
#define COLD_125(name)                                                                             \
	COLD_25(name##0) COLD_25(name##1) COLD_25(name##2) COLD_25(name##3) COLD_25(name##4)
COLD_125(a)

#define NAME_1(name) cold_##name,
#define NAME_5(name) NAME_1(name##0) NAME_1(name##1) NAME_1(name##2) NAME_1(name##3) NAME_1(name##4)
#define NAME_25(name)                                                                              \
	NAME_5(name##0) NAME_5(name##1) NAME_5(name##2) NAME_5(name##3) NAME_5(name##4)
#define NAME_125(name)                                                                             \
	NAME_25(name##0) NAME_25(name##1) NAME_25(name##2) NAME_25(name##3) NAME_25(name##4)
static void (*const cold_functions[])(capture_fn *) = {NAME_125(a)};
enum { COLD_COUNT = sizeof(cold_functions) / sizeof(cold_functions[0]) };

static int compare_doubles(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, unsigned count) {
	qsort(values, count, sizeof(*values), compare_doubles);
	return values[count / 2];
}

/* What a first-seen pc adds to a capture whose other frames are warm. */
static NOINLINE double measure_cold(capture_fn *capture) {
	double first[COLD_COUNT], again[COLD_COUNT];
	for (unsigned turn = 0; turn < 2; turn++)
		for (unsigned i = 0; i < COLD_COUNT; i++) {
			double start = now_ns();
			cold_functions[i](capture);
			(turn == 0 ? first : again)[i] = now_ns() - start;
		}
	return median(first, COLD_COUNT) - median(again, COLD_COUNT);
}

int main(void) {
	static const struct {
		const char *name;
		capture_fn *capture;
	} unwinders[] = {
		{"mallow", by_mallow},
#ifdef BENCH_LIBUNWIND
		{"libunwind", by_libunwind},
#endif
		{"libgcc", by_libgcc},
	};
	enum { UNWINDERS = sizeof(unwinders) / sizeof(unwinders[0]) };
	double warm[UNWINDERS][TURNS];
	mw_unwind_start();
	void *libc = dlopen("libc.so.6", RTLD_LAZY);
	*(void **)&libc_backtrace = libc ? dlsym(libc, "backtrace") : NULL;
	if (!libc_backtrace) {
		fprintf(stderr, "unwind_bench: no backtrace() in libc.so.6\n");
		return 2;
	}
	for (unsigned turn = 0; turn < TURNS; turn++)
		for (unsigned i = 0; i < UNWINDERS; i++) {
			descend(unwinders[i].capture, CAPTURES, (FRAMES - 6) / 2);
			warm[i][turn] = elapsed_ns;
		}
	for (unsigned i = 0; i < UNWINDERS; i++) {
		descend(unwinders[i].capture, 1, (FRAMES - 6) / 2);
		unsigned depth = depth_seen;
		double cold = measure_cold(unwinders[i].capture);
		printf("%-10s %2u frames: warm %8.1f ns a capture, cold %8.1f ns a first-seen pc\n",
		       unwinders[i].name, depth, median(warm[i], TURNS), cold);
	}
	return 0;
}
