/* SPDX-License-Identifier: MIT
 * lifetimes.c MODE -- one thread, small blocks, the order in which they die: churn (a random one of
 * many is replaced), lifo, fifo, random (a whole set is made, then freed shuffled). */
#include "workload.h"

enum { CHURN_SLOTS = 8192, CHURN_TURNS = 16000000, SET = 20000, SETS = 800 };

static unsigned char *slots[SET];
static uint64_t seed = 1;

static size_t small_size(void) {
	return 8 + wl_below(&seed, 248);
}

static uint64_t churn(void) {
	uint64_t sum = 0;
	for (unsigned i = 0; i < CHURN_TURNS; i++) {
		unsigned slot = wl_below(&seed, CHURN_SLOTS);
		if (slots[slot])
			sum += wl_drop(slots[slot]);
		slots[slot] = wl_make(small_size(), i);
	}
	return sum;
}

static void make_set(void) {
	for (unsigned i = 0; i < SET; i++)
		slots[i] = wl_make(small_size(), i);
}

static uint64_t lifo(void) {
	uint64_t sum = 0;
	for (unsigned set = 0; set < SETS; set++) {
		make_set();
		for (unsigned i = SET; i-- > 0;)
			sum += wl_drop(slots[i]) * (i & 15);
	}
	return sum;
}

/* A queue of a constant length: what is oldest goes first. */
static uint64_t fifo(void) {
	uint64_t sum = 0;
	make_set();
	for (unsigned set = 0; set < SETS; set++)
		for (unsigned i = 0; i < SET; i++) {
			sum += wl_drop(slots[i]) * (i & 15);
			slots[i] = wl_make(small_size(), i);
		}
	return sum;
}

static uint64_t shuffled(void) {
	uint64_t sum = 0;
	for (unsigned set = 0; set < SETS / 2; set++) {
		make_set();
		for (unsigned i = SET; i > 1; i--) {
			unsigned other = wl_below(&seed, i);
			unsigned char *block = slots[i - 1];
			slots[i - 1] = slots[other];
			slots[other] = block;
		}
		for (unsigned i = 0; i < SET; i++)
			sum += wl_drop(slots[i]) * (i & 15);
	}
	return sum;
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "churn";
	if (!strcmp(mode, "churn"))
		return wl_finish(churn());
	if (!strcmp(mode, "lifo"))
		return wl_finish(lifo());
	if (!strcmp(mode, "fifo"))
		return wl_finish(fifo());
	if (!strcmp(mode, "random"))
		return wl_finish(shuffled());
	wl_die("modes: churn, lifo, fifo, random");
}
