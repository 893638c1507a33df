/* SPDX-License-Identifier: MIT
 * huge_replace.c -- blocks of 5 to 25 MiB replace each other at random: the memory of freed blocks
 * serves the next ones, and goes back when all are freed, the last of it after the option's
 * dirty_decay_ms.  Page faults are counted, not time. */
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include "programs.h"

enum { SLOTS = 20, TURNS = 300, PAGE = 4096, KEPT_KIB_MAX = 80 * 1024 };
#define LEAST ((size_t)5 << 20)
#define MOST ((size_t)25 << 20)

static uint64_t random_state = 11;

static size_t below(size_t limit) {
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(random_state >> 33) % limit;
}

static size_t page_faults(void) {
	struct rusage usage;
	MUST(getrusage(RUSAGE_SELF, &usage) == 0);
	return (size_t)usage.ru_minflt;
}

static size_t peak_resident_kib(void) {
	struct rusage usage;
	MUST(getrusage(RUSAGE_SELF, &usage) == 0);
	return (size_t)usage.ru_maxrss;
}

int main(void) {
	must_be_mallow();
	static char *blocks[SLOTS];
	static size_t sizes[SLOTS];
	size_t live = 0, most = 0, before = page_faults();
	for (int turn = 0; turn < TURNS; turn++) {
		size_t slot = below(SLOTS), bytes = LEAST + below(MOST - LEAST);
		char *block = malloc(bytes);
		MUST(block != NULL);
		for (size_t i = 0; i < bytes; i += PAGE)
			block[i] = (char)turn;
		live += bytes;
		most = live > most ? live : most;
		free(blocks[slot]);
		live -= sizes[slot];
		blocks[slot] = block;
		sizes[slot] = bytes;
	}
	size_t faults = page_faults() - before, needed = most / PAGE;
	size_t peak_kib = peak_resident_kib();
	for (int slot = 0; slot < SLOTS; slot++)
		free(blocks[slot]);
	/* How much is kept until its time is over, the turns before have decided, and how long they
	 * took. */
	long at_once_kib = resident_kib();
	for (int i = 0; i < 6000 && resident_kib() >= KEPT_KIB_MAX; i++) {
		usleep(10000);
		free(malloc(LEAST));
	}
	printf("%zu faults where %zu are needed; peak of %zu KiB for %zu KiB; then %ld, %ld KiB\n",
	       faults, needed, peak_kib, most / 1024, at_once_kib, resident_kib());
	/* gperftools 2.10: 1.9 and 1.5. */
	MUST(faults < needed + needed * 6 / 10);
	MUST(peak_kib < most / 1024 * 3 / 2);
	MUST(at_once_kib < (long)peak_kib && resident_kib() < KEPT_KIB_MAX);
	return 0;
}
