/* SPDX-License-Identifier: MIT
 * zeros.c SEED [always] -- random calls of jemalloc's functions against a shadow of every byte that
 * the program may use: a resized block keeps the bytes that were usable before and after the call,
 * and with MALLOCX_ZERO what it gained is zero.  always: the option `zero` is set, so that each new
 * byte is zero without the flag, too.  The program passes on jemalloc as well, which keeps fewer
 * bytes of a block that it moves for the sake of its alignment: TEST_REFERENCE names it. */
#include <jemalloc/jemalloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "test.h"

enum { BLOCKS = 64, CALLS = 20000, MOST_BYTES = 200000 };

typedef struct {
	unsigned char *block, *shadow;
	size_t bytes; /* what sallocx() said last; 0: no block */
} place_t;

static place_t places[BLOCKS];
static uint64_t random_state;
static bool always_zero, is_reference;
static unsigned arena;

static unsigned draw(unsigned below) {
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % below;
}

/* Sizes of each order of magnitude alike. */
static size_t draw_size(void) {
	size_t most = (size_t)1 << (1 + draw(17));
	return 1 + draw((unsigned)(most < MOST_BYTES ? most : MOST_BYTES));
}

static int draw_flags(void) {
	int flags = draw(2) ? MALLOCX_ZERO : 0;
	if (draw(3) == 0)
		flags |= MALLOCX_LG_ALIGN((int)draw(13));
	if (draw(4) == 0)
		flags |= MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
	return flags;
}

/* What a block has gained: zero if that was promised, else anything.  The program then writes all
 * of it, or leaves some zeros as they are. */
static void gained(place_t *place, size_t before, bool zero) {
	for (size_t i = before; zero && i < place->bytes; i++)
		if (place->block[i] != 0) {
			fprintf(stderr, "byte %zu of %zu, gained from %zu on, is %#x\n", i,
				place->bytes, before, place->block[i]);
			exit(1);
		}
	bool leave = zero && draw(2);
	for (size_t i = before; i < place->bytes; i++) {
		if (!leave)
			place->block[i] = (unsigned char)(1 + draw(255));
		place->shadow[i] = place->block[i];
	}
}

static void check_kept(const place_t *place, size_t before) {
	size_t kept = before < place->bytes ? before : place->bytes;
	for (size_t i = 0; i < kept; i++)
		if (place->block[i] != place->shadow[i]) {
			fprintf(stderr, "byte %zu of %zu, of %zu before, is %#x instead of %#x\n",
				i, place->bytes, before, place->block[i], place->shadow[i]);
			exit(1);
		}
}

static void call_mallocx(place_t *place) {
	int flags = draw_flags();
	size_t size = draw_size();
	place->block = mallocx(size, flags);
	CHECK(place->block != NULL);
	place->bytes = sallocx(place->block, 0);
	CHECK(place->bytes >= size);
	place->shadow = malloc(place->bytes);
	gained(place, 0, always_zero || (flags & MALLOCX_ZERO));
}

/* size: what was requested.  jemalloc leaves zeros behind it, or what it likes without the flag. */
static void resized(place_t *place, size_t before, size_t size, int flags) {
	place->bytes = sallocx(place->block, 0);
	place->shadow = realloc(place->shadow, place->bytes > before ? place->bytes : before);
	for (size_t i = size; is_reference && i < before && i < place->bytes; i++)
		if (place->block[i] == 0 || !(flags & MALLOCX_ZERO))
			place->shadow[i] = place->block[i];
	check_kept(place, before);
	if (place->bytes > before)
		gained(place, before, always_zero || (flags & MALLOCX_ZERO));
}

static size_t draw_new_size(const place_t *place) {
	switch (draw(4)) {
	case 0:
		return draw_size();
	case 1:
		return 1 + draw((unsigned)place->bytes);
	default:
		return place->bytes + draw(3) * (1 + draw(16));
	}
}

static void call_rallocx(place_t *place) {
	size_t before = place->bytes, size = draw_new_size(place);
	int flags = draw_flags();
	place->block = rallocx(place->block, size, flags);
	CHECK(place->block != NULL && sallocx(place->block, 0) >= size);
	resized(place, before, size, flags);
}

static void call_xallocx(place_t *place) {
	size_t before = place->bytes;
	int flags = draw(2) ? MALLOCX_ZERO : 0;
	xallocx(place->block, draw_new_size(place), draw(100), flags);
	resized(place, before, before, flags);
}

static void call_realloc(place_t *place) {
	size_t before = place->bytes, size = draw_new_size(place);
	place->block = realloc(place->block, size);
	CHECK(place->block != NULL);
	resized(place, before, size, 0);
}

static void release(place_t *place) {
	check_kept(place, place->bytes);
	memset(place->block, 0xd5, place->bytes);
	dallocx(place->block, 0);
	free(place->shadow);
	*place = (place_t){0};
}

static void one_call(place_t *place) {
	if (!place->block) {
		call_mallocx(place);
		return;
	}
	switch (draw(8)) {
	case 0:
		release(place);
		break;
	case 1:
		call_xallocx(place);
		break;
	case 2:
		call_realloc(place);
		break;
	default:
		call_rallocx(place);
	}
}

int main(int argc, char **argv) {
	CHECK(argc >= 2);
	random_state = strtoul(argv[1], NULL, 10);
	always_zero = argc > 2;
	is_reference = getenv("TEST_REFERENCE") != NULL;
	size_t length = sizeof arena;
	CHECK_EQ(mallctl("arenas.create", &arena, &length, NULL, 0), 0);
	for (int i = 0; i < CALLS; i++)
		one_call(&places[draw(BLOCKS)]);
	for (int i = 0; i < BLOCKS; i++)
		if (places[i].block)
			release(&places[i]);
	return 0;
}
