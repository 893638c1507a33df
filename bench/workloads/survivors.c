/* SPDX-License-Identifier: MIT
 * survivors.c MODE -- memory that is hard to give back.  Modes: mixed (few long-lived blocks made
 * among many short-lived ones, in phases of different sizes; resident memory at the end of the
 * phases and after all is freed), idle (200 MiB of small blocks freed, then two seconds of little
 * work), one (a process with one small block). */
#include "workload.h"

#include <time.h>

enum { PHASES = 12, PHASE_BLOCKS = 120000, SURVIVE_ONE_IN = 100, IDLE_BLOCKS = 800000 };

static unsigned char *blocks[IDLE_BLOCKS];
static unsigned char *survivors[PHASES * (PHASE_BLOCKS / SURVIVE_ONE_IN + 1)];

static uint64_t mixed_mode(void) {
	uint64_t seed = 17, sum = 0;
	unsigned survived = 0;
	for (unsigned phase = 0; phase < PHASES; phase++) {
		size_t span = (size_t)64 << (phase % 6);
		for (unsigned i = 0; i < PHASE_BLOCKS; i++) {
			size_t bytes = span / 2 + wl_below(&seed, (uint32_t)span);
			blocks[i] = wl_malloc(bytes);
			memset(blocks[i], (int)i, bytes);
		}
		for (unsigned i = 0; i < PHASE_BLOCKS; i++)
			if (wl_below(&seed, SURVIVE_ONE_IN) == 0 &&
			    survived < sizeof(survivors) / sizeof(survivors[0]))
				survivors[survived++] = blocks[i];
			else
				sum += wl_drop(blocks[i]);
	}
	wl_note("survivors_kib", wl_resident_kib());
	for (unsigned i = 0; i < survived; i++)
		sum += wl_drop(survivors[i]);
	wl_note("after_free_kib", wl_resident_kib());
	return sum;
}

/* Two seconds in which a program does a little: an allocator that purges when it is called can. */
static uint64_t idle_mode(void) {
	uint64_t seed = 19, sum = 0;
	uint64_t start_kib = wl_resident_kib();
	for (unsigned i = 0; i < IDLE_BLOCKS; i++) {
		size_t bytes = 16 + wl_below(&seed, 480);
		blocks[i] = wl_malloc(bytes);
		memset(blocks[i], (int)i, bytes);
	}
	uint64_t full_kib = wl_resident_kib();
	for (unsigned i = 0; i < IDLE_BLOCKS; i++)
		sum += wl_drop(blocks[i]);
	for (unsigned i = 0; i < 20; i++) {
		struct timespec tenth = {0, 100000000};
		nanosleep(&tenth, NULL);
		for (unsigned k = 0; k < 1000; k++)
			sum += wl_drop(wl_make(16 + wl_below(&seed, 480), i));
	}
	wl_note("filled_kib", full_kib - start_kib);
	wl_note("after_free_kib", wl_resident_kib());
	return sum;
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "mixed";
	if (!strcmp(mode, "idle"))
		return wl_finish(idle_mode());
	if (!strcmp(mode, "mixed"))
		return wl_finish(mixed_mode());
	uint64_t sum = wl_drop(wl_make(64, 1));
	wl_note("after_free_kib", wl_resident_kib());
	return wl_finish(sum);
}
