/* SPDX-License-Identifier: MIT
 * lookup.c -- gives each thread a unit of the debug information at a time.
 *
 * A unit is read whole at its first address, lines and functions, which is most of the work.  The
 * linker spreads a unit's functions over the file (cold parts, start-up, the rest), so addresses
 * are put into the order of units: each is read once, by one thread, and may be forgotten after it.
 */
#include "symbol/lookup.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "model/alloc.h"
#include "symbol/confine.h"

/* Opening the file once more costs what some hundred look-ups do. */
#define LOCATIONS_A_THREAD_MIN 1000
/* Each may unpack the debug information for itself. */
#define THREADS_MAX 4
/* So many of one unit are worth that two threads read it. */
#define LOCATIONS_A_TURN_MAX 4096

/* How much more memory may be in use until a file is opened anew: twice as much the next time,
 * because debug information that is packed is unpacked again.  Half of what the process has before
 * it opens anything, so that it does not show; less gained nothing. */
#define GROWTH_BYTES ((size_t)4 << 20)

typedef struct place {
	uint64_t unit;
	uint64_t address; /* in the file */
	uint32_t location;
} place_t;

/* What the threads share; `lock` is for everything but `lookup` and `places`. */
typedef struct crew {
	const mw_lookup_t *lookup;
	const place_t *places; /* sorted */
	size_t count, next;    /* taken are those before `next` */
	pthread_mutex_t lock;
} crew_t;

/* libdw's handles are for one thread each. */
typedef struct member {
	crew_t *crew;
	mw_object_t *object;
	size_t resident_bytes; /* of the process when it was opened */
	size_t growth_bytes;   /* until it is opened anew */
	pthread_t thread;
} member_t;

static int compare_places(const void *a, const void *b) {
	const place_t *x = a, *y = b;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Its debug information, too: what is unpacked is no growth. */
static mw_object_t *open_again(const mw_lookup_t *l) {
	mw_object_t *object = mw_object_open(l->profile, l->mapping, l->options, NULL);
	if (object != NULL)
		mw_object_has_debug(object);
	return object;
}

/* libdw keeps all it has read until its handle is closed: units that are behind us. */
static void shed_memory(member_t *m) {
	crew_t *crew = m->crew;
	if (mw_resident_bytes() < m->resident_bytes + m->growth_bytes)
		return;
	pthread_mutex_lock(&crew->lock);
	mw_known_forget_places(crew->lookup->known);
	pthread_mutex_unlock(&crew->lock);
	mw_object_close(m->object);
	m->object = open_again(crew->lookup);
	m->resident_bytes = mw_resident_bytes();
	m->growth_bytes *= 2;
}

/* The places of the next unit, in *count how many; none are left: 0. */
static const place_t *take_turn(crew_t *crew, size_t *count) {
	pthread_mutex_lock(&crew->lock);
	const place_t *first = &crew->places[crew->next];
	size_t most = crew->count - crew->next;
	if (most > LOCATIONS_A_TURN_MAX)
		most = LOCATIONS_A_TURN_MAX;
	*count = 0;
	while (*count < most && first[*count].unit == first->unit)
		++*count;
	crew->next += *count;
	crew->lookup->before_unit(crew->lookup->context);
	pthread_mutex_unlock(&crew->lock);
	return first;
}

static void look_up(member_t *m, const place_t *places, size_t count) {
	crew_t *crew = m->crew;
	const mw_lookup_t *l = crew->lookup;
	uint32_t known = 0;
	for (size_t i = 0; i < count; i++) {
		mw_symbol_frame_t frames[MW_OBJECT_INLINE_MAX];
		bool is_same = i > 0 && places[i].address == places[i - 1].address;
		size_t frame_count =
			is_same ? 0 : mw_object_lookup(m->object, places[i].address, frames);
		pthread_mutex_lock(&crew->lock);
		if (!is_same)
			known = mw_known_add(l->known, places[i].address, frames, frame_count);
		l->found(l->context, places[i].location, known);
		pthread_mutex_unlock(&crew->lock);
	}
}

static void *work(void *argument) {
	member_t *m = argument;
	size_t count;
	const place_t *places;
	while (m->object != NULL && (places = take_turn(m->crew, &count), count > 0)) {
		look_up(m, places, count);
		mw_object_drop_pages(m->object);
		shed_memory(m);
	}
	return NULL;
}

/* As many as there are processors, where there is work for them. */
static size_t thread_count(size_t locations) {
	cpu_set_t processors;
	size_t wanted = locations / LOCATIONS_A_THREAD_MIN;
	size_t most = sched_getaffinity(0, sizeof(processors), &processors) == 0
			      ? (size_t)CPU_COUNT(&processors)
			      : 1;
	most = most < THREADS_MAX ? most : THREADS_MAX;
	return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

static place_t *list_places(const mw_lookup_t *l, mw_object_t *object, const uint32_t *locations,
			    size_t count) {
	place_t *places = mw_xcalloc(count, sizeof(place_t));
	for (size_t i = 0; i < count; i++) {
		uint64_t address = l->profile->locations[locations[i]].address - l->bias;
		places[i] = (place_t){mw_object_unit(object, address), address, locations[i]};
	}
	qsort(places, count, sizeof(place_t), compare_places);
	return places;
}

void mw_lookup_all(const mw_lookup_t *lookup, mw_object_t **object, const uint32_t *locations,
		   size_t count) {
	place_t *places = list_places(lookup, *object, locations, count);
	crew_t crew = {.lookup = lookup,
		       .places = places,
		       .count = count,
		       .lock = PTHREAD_MUTEX_INITIALIZER};
	const member_t member = {.crew = &crew,
				 .object = *object,
				 .resident_bytes = mw_resident_bytes(),
				 .growth_bytes = GROWTH_BYTES};
	member_t members[THREADS_MAX];
	members[0] = member;
	size_t wanted = thread_count(count), started = 1;
	for (; started < wanted; started++) {
		members[started] = member;
		member_t *m = &members[started];
		m->object = open_again(lookup);
		if (m->object == NULL || pthread_create(&m->thread, NULL, work, m) != 0) {
			mw_object_close(m->object);
			break;
		}
	}
	work(&members[0]);
	for (size_t i = 1; i < started; i++)
		pthread_join(members[i].thread, NULL);
	*object = members[0].object;
	mw_known_forget_places(lookup->known);
	for (size_t i = 1; i < started; i++)
		mw_object_close(members[i].object);
	free(places);
}
