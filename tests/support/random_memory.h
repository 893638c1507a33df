/* SPDX-License-Identifier: MIT
 * random_memory.h -- pages of random words for readers of other programs' structures: pointers into
 * the pages, to the ends of pages, to pages that cannot be read, and anything else. */
#ifndef MW_TEST_RANDOM_MEMORY_H
#define MW_TEST_RANDOM_MEMORY_H

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/rng.h"
#include "test.h"

enum { RANDOM_PAGES = 8, RANDOM_PAGE = 4096 };

typedef struct random_memory {
	char *pages;
	mw_rng_t rng;
	uint64_t special[4]; /* words that occur more often than others */
} random_memory_t;

static inline unsigned random_pick(random_memory_t *m, unsigned count) {
	return (unsigned)(mw_rng_next(&m->rng) >> 33) % count;
}

/* Pages that cannot be read. */
static inline bool random_is_hole(unsigned page) {
	return page == 0 || page == 3 || page == RANDOM_PAGES - 1;
}

static inline void random_memory_start(random_memory_t *m, uint64_t seed) {
	mw_rng_init(&m->rng, seed);
	m->pages = mmap(NULL, RANDOM_PAGES * RANDOM_PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(m->pages != MAP_FAILED);
	for (unsigned page = 0; page < RANDOM_PAGES; page++)
		if (random_is_hole(page))
			CHECK(mprotect(m->pages + page * RANDOM_PAGE, RANDOM_PAGE, PROT_NONE) == 0);
}

static inline uint64_t random_word(random_memory_t *m) {
	uintptr_t base = (uintptr_t)m->pages;
	switch (random_pick(m, 12)) {
	case 0:
	case 1:
		return m->special[random_pick(m, 4)];
	case 2:
		return mw_rng_next(&m->rng);
	case 3:
		return random_pick(m, 64);
	case 4:
		return base + random_pick(m, RANDOM_PAGES) * RANDOM_PAGE + RANDOM_PAGE -
		       random_pick(m, 64);
	case 5:
		return 0;
	default:
		return base + 16 * random_pick(m, RANDOM_PAGES * RANDOM_PAGE / 16);
	}
}

/* Writes new words to a part of the places of all pages. */
static inline void random_memory_fill(random_memory_t *m) {
	for (unsigned page = 0; page < RANDOM_PAGES; page++)
		for (unsigned i = 0; !random_is_hole(page) && i < RANDOM_PAGE / 8;
		     i += 1 + random_pick(m, 8)) {
			uint64_t word = random_word(m);
			memcpy(m->pages + page * RANDOM_PAGE + 8 * i, &word, sizeof word);
		}
}

#endif
