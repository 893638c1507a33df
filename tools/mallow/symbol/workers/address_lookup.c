/* SPDX-License-Identifier: MIT
 * address_lookup.c -- looks up one unit of the debug information at a time.
 * The first lookup in a unit reads all its lines and functions, which is most of the work.  The
 * linker spreads a unit's functions over the file (cold parts, start-up, the rest).  Addresses
 * are therefore ordered by unit: each unit is read once, by one process, and its memory can be
 * released afterwards. */
#include "symbol/workers/address_lookup.h"

#include <stdbool.h>
#include <stdlib.h>

#include "model/memory.h"
#include "symbol/workers/confine.h"

/* Growth of memory after which a file is closed and opened anew.  The limit doubles each time,
 * because compressed debug information is unpacked again.  4 MiB is half of the memory that the
 * process has before it opens a file; smaller limits saved nothing. */
#define GROWTH_BYTES ((size_t)4 << 20)

/* Most addresses whose pages are kept.  Names are spread over their section, and the kernel maps
 * 64 KiB around each.  The first address of a unit is looked up alone, because the unit's
 * functions are listed for it. */
#define ADDRESSES_KEPT 48

static int compare_places(const void *a, const void *b) {
	const mw_place_t *x = a, *y = b;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Opens the debug information, too, so that unpacked sections do not count as growth. */
static mw_object_t *open_again(const mw_lookup_t *l) {
	mw_object_t *object = mw_object_open(l->profile, l->mapping, l->options, NULL);
	if (object != NULL)
		mw_object_has_debug(object);
	return object;
}

static void expect(mw_object_t *object, const mw_place_t *places, size_t count) {
	uint64_t *addresses = mw_xcalloc(count, sizeof(uint64_t));
	for (size_t i = 0; i < count; i++)
		addresses[i] = places[i].address;
	mw_object_expect(object, addresses, count);
	free(addresses);
}

/* Looks up places of the queue.  Another process may have written them, so they are checked. */
static void look_up(const mw_lookup_t *l, mw_object_t *object, const mw_place_t *places,
		    size_t count) {
	mw_line_t lines[MW_OBJECT_INLINE_MAX];
	uint64_t address = 0;
	size_t line_count = 0, looked_up = 0;
	for (size_t i = 0; i < count; i++) {
		const mw_place_t place = places[i];
		if (i == 0 || place.address != address) {
			mw_symbol_frame_t frames[MW_OBJECT_INLINE_MAX];
			address = place.address;
			line_count = mw_object_lookup(object, address, frames);
			for (size_t k = 0; k < line_count; k++)
				lines[k] = (mw_line_t){mw_found_add(l->names, &frames[k]),
						       frames[k].line};
			if (looked_up++ % ADDRESSES_KEPT == 0)
				mw_object_drop_pages(object);
		}
		l->found(l->context, place.location, lines, line_count);
	}
}

void mw_lookup_list(const mw_lookup_t *l, mw_object_t *object, const uint32_t *locations,
		    size_t count) {
	mw_place_t *places = mw_queue_places(l->queue);
	for (size_t i = 0; i < count; i++) {
		uint64_t address = l->profile->locations[locations[i]].address - l->bias;
		places[i] = (mw_place_t){mw_object_unit(object, address), address, locations[i]};
	}
	qsort(places, count, sizeof(mw_place_t), compare_places);
	mw_queue_open(l->queue, count);
}

void mw_lookup_all(const mw_lookup_t *l, mw_object_t **object) {
	size_t resident_bytes = mw_resident_bytes(), growth_bytes = GROWTH_BYTES, count;
	const mw_place_t *places;
	while (*object != NULL && (count = mw_queue_take(l->queue, &places)) > 0) {
		l->before_unit(l->context);
		mw_object_read_lines(*object, places[0].address);
		expect(*object, places, count);
		look_up(l, *object, places, count);
		mw_object_drop_pages(*object);
		/* libdw keeps everything that it has read until its handle is closed. */
		if (mw_resident_bytes() < resident_bytes + growth_bytes)
			continue;
		mw_found_forget_places(l->names);
		mw_object_close(*object);
		*object = open_again(l);
		resident_bytes = mw_resident_bytes();
		growth_bytes *= 2;
	}
	mw_found_forget_places(l->names);
}
