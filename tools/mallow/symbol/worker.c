/* SPDX-License-Identifier: MIT
 * worker.c -- looks up what is not known yet, and writes what it found. */
#include "symbol/worker.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/alloc.h"
#include "symbol/confine.h"
#include "symbol/debuginfod.h"
#include "symbol/known.h"
#include "symbol/object.h"

/* Opening the file once more costs what some hundred look-ups do. */
#define SLICE_LOCATIONS_MIN 1000
/* Each may unpack the debug information for itself. */
#define SLICES_MAX 4

/* How often a look is taken at the memory in use, and after how much more of it a file is opened
 * anew.  Twice as much the next time: units that are asked for again, because the linker put their
 * functions in another order, are read again a few times at most. */
#define LOCATIONS_A_LOOK 256
#define GROWTH_BYTES ((size_t)32 << 20)

/* One mapping's work. */
typedef struct task {
	FILE *out;
	const mw_profile_t *profile;
	const mw_symbol_job_t *job;
	const mw_mapping_t *mapping;
	const mw_symbolize_options_t *options;
	mw_known_t *known;
	mw_object_t *object; /* opened when something is not known */
	uint64_t bias;
	bool *sent; /* functions of `known` that the parent has */
	size_t sent_capacity;
} task_t;

static void emit(FILE *out, mw_message_t message, const char *text) {
	fwrite(&message, sizeof(message), 1, out);
	if (message.length > 0)
		fwrite(text, message.length, 1, out);
}

static void send_note(FILE *out, const char *text) {
	mw_message_t message = {.kind = MW_MESSAGE_NOTE, .length = (uint32_t)strlen(text)};
	emit(out, message, text);
}

static void send_opened(const task_t *t, bool has_debug) {
	mw_message_t message = {.kind = MW_MESSAGE_OPENED,
				.number = t->job->mapping,
				.value = t->bias,
				.detail = has_debug};
	emit(t->out, message, "");
}

/* Appends a text and its NUL. */
static size_t pack(char *buffer, size_t used, const char *text) {
	size_t length = strnlen(text, MW_MESSAGE_TEXT_MAX / 3 - 1);
	memcpy(buffer + used, text, length);
	buffer[used + length] = '\0';
	return used + length + 1;
}

static void send_function(task_t *t, uint32_t number) {
	static char buffer[MW_MESSAGE_TEXT_MAX];
	t->sent = mw_grow(t->sent, &t->sent_capacity, (size_t)number + 1, sizeof(bool));
	if (t->sent[number])
		return;
	t->sent[number] = true;
	const mw_profile_t *p = mw_known_profile(t->known);
	const mw_function_t *f = &p->functions[number];
	size_t used = pack(buffer, 0, mw_profile_string(p, f->name));
	used = pack(buffer, used, mw_profile_string(p, f->system_name));
	used = pack(buffer, used, mw_profile_string(p, f->file));
	mw_message_t message = {
		.kind = MW_MESSAGE_FUNCTION, .number = number, .length = (uint32_t)used};
	emit(t->out, message, buffer);
}

/* `known` is the location in what is known of the build. */
static void send_frames(task_t *t, uint32_t location, uint32_t known) {
	const mw_profile_t *p = mw_known_profile(t->known);
	const mw_location_t *l = &p->locations[known];
	for (uint32_t i = 0; i < l->line_count; i++) {
		const mw_line_t *line = &p->lines[l->line_first + i];
		send_function(t, line->function);
		mw_message_t message = {.kind = MW_MESSAGE_FRAME,
					.number = location,
					.detail = line->function,
					.value = (uint64_t)line->line};
		emit(t->out, message, "");
	}
}

/* Opens the file and finds where it was loaded. */
static int open_object(task_t *t) {
	mw_error_t error;
	t->object = mw_object_open(t->profile, t->mapping, t->options, &error);
	if (t->object != NULL && !t->mapping->bias_known &&
	    !mw_object_bias(t->object, t->mapping, &t->bias)) {
		mw_error_set(&error,
			     "%.400s: has no segment where the profile has code of it; not used",
			     mw_profile_string(t->profile, t->mapping->path));
		mw_object_close(t->object);
		t->object = NULL;
	}
	if (t->object == NULL) {
		send_note(t->out, error.text);
		return -1;
	}
	send_opened(t, mw_object_has_debug(t->object));
	return 0;
}

/* Sends what is known already; returns how many locations are left, their numbers in `left`. */
static size_t send_known(task_t *t, uint32_t *left) {
	size_t count = 0;
	for (size_t i = 0; i < t->job->count; i++) {
		uint32_t location = t->job->locations[i];
		uint32_t known =
			mw_known_find(t->known, t->profile->locations[location].address - t->bias);
		if (known != 0)
			send_frames(t, location, known);
		else
			left[count++] = location;
	}
	return count;
}

/* A stretch of addresses, and the reader of their debug information: libdw's handles are for one
 * thread each.  What is found goes into the one table and the one pipe, behind the lock. */
typedef struct slice {
	task_t *task;
	pthread_mutex_t *lock;
	mw_object_t *object;
	size_t resident_bytes,
		growth_bytes;      /* of the process when it was opened; until it is anew */
	const uint32_t *locations; /* sorted by address */
	size_t count;
	pthread_t thread;
} slice_t;

/* libdw keeps all it has read until its handle is closed: most of it the lines of units whose
 * addresses are behind us. */
static void shed_memory(slice_t *slice) {
	const task_t *t = slice->task;
	if (mw_resident_bytes() < slice->resident_bytes + slice->growth_bytes)
		return;
	pthread_mutex_lock(slice->lock);
	mw_known_forget_places(t->known);
	mw_object_close(slice->object);
	slice->object = mw_object_open(t->profile, t->mapping, t->options, NULL);
	pthread_mutex_unlock(slice->lock);
	slice->resident_bytes = mw_resident_bytes();
	slice->growth_bytes *= 2;
}

static void *look_up(void *argument) {
	slice_t *slice = argument;
	task_t *t = slice->task;
	for (size_t i = 0; i < slice->count && slice->object != NULL; i++) {
		uint32_t location = slice->locations[i];
		uint64_t address = t->profile->locations[location].address - t->bias;
		mw_symbol_frame_t frames[MW_OBJECT_INLINE_MAX];
		pthread_mutex_lock(slice->lock);
		uint32_t known = mw_known_find(t->known, address);
		pthread_mutex_unlock(slice->lock);
		size_t count = known == 0 ? mw_object_lookup(slice->object, address, frames) : 0;
		pthread_mutex_lock(slice->lock);
		if (known == 0)
			known = mw_known_add(t->known, address, frames, count);
		send_frames(t, location, known);
		/* Shown to be alive, and not lost should the next one be the last. */
		fflush(t->out);
		pthread_mutex_unlock(slice->lock);
		if (i % LOCATIONS_A_LOOK == LOCATIONS_A_LOOK - 1)
			shed_memory(slice);
	}
	return NULL;
}

/* As many as there are processors, where there is work for them. */
static size_t slice_count(size_t locations) {
	cpu_set_t processors;
	size_t wanted = locations / SLICE_LOCATIONS_MIN;
	size_t most = sched_getaffinity(0, sizeof(processors), &processors) == 0
			      ? (size_t)CPU_COUNT(&processors)
			      : 1;
	most = most < SLICES_MAX ? most : SLICES_MAX;
	return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

/* Neighbours mostly share a unit of the debug information, hence a stretch each. */
static void look_up_all(task_t *t, const uint32_t *locations, size_t count) {
	slice_t slices[SLICES_MAX];
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	size_t slices_left = slice_count(count), started = 0;
	slice_t first = {
		.task = t,
		.lock = &lock,
		.object = t->object,
		.resident_bytes = mw_resident_bytes(),
		.growth_bytes = GROWTH_BYTES,
		.locations = locations,
	};
	for (; slices_left > 1; slices_left--) {
		slice_t *slice = &slices[started];
		*slice = first;
		slice->count = count / slices_left;
		slice->locations = locations + count - slice->count;
		slice->object = mw_object_open(t->profile, t->mapping, t->options, NULL);
		if (slice->object == NULL ||
		    pthread_create(&slice->thread, NULL, look_up, slice) != 0)
			break;
		count -= slice->count;
		started++;
	}
	first.count = count;
	look_up(&first);
	t->object = first.object;
	for (size_t i = 0; i < started; i++)
		pthread_join(slices[i].thread, NULL);
	mw_known_forget_places(t->known);
	for (size_t i = 0; i < started; i++)
		mw_object_close(slices[i].object);
}

static void do_task(task_t *t) {
	bool has_bias = t->mapping->bias_known;
	t->bias = t->mapping->bias;
	if (!has_bias && open_object(t) != 0)
		return;
	if (mw_known_was_kept(t->known))
		send_opened(t, true);
	uint32_t *left = mw_xcalloc(t->job->count, sizeof(uint32_t));
	size_t count = send_known(t, left);
	if (count > 0 && (t->object != NULL || open_object(t) == 0))
		look_up_all(t, left, count);
	free(left);
}

static void do_job(FILE *out, const mw_profile_t *profile, const mw_symbol_job_t *job,
		   const mw_symbolize_options_t *options) {
	const mw_mapping_t *mapping = &profile->mappings[job->mapping];
	task_t t = {
		.out = out,
		.profile = profile,
		.job = job,
		.mapping = mapping,
		.options = options,
		.known = mw_known_open(options->cache_directory,
				       mw_profile_string(profile, mapping->build_id)),
	};
	do_task(&t);
	mw_known_close(t.known, t.object != NULL && mw_object_has_debug(t.object));
	if (t.object != NULL)
		mw_object_close(t.object);
	free(t.sent);
}

void mw_symbol_worker(const mw_profile_t *profile, const mw_symbol_job_t *jobs, size_t job_count,
		      const mw_symbolize_options_t *options, int pipe_fd) {
	FILE *out = fdopen(pipe_fd, "w");
	if (out == NULL)
		_exit(2);
	mw_confine_memory();
	mw_debuginfod_allow(options->debuginfod);
	for (size_t i = 0; i < job_count; i++) {
		if (jobs[i].done)
			continue;
		mw_message_t message = {.kind = MW_MESSAGE_BEGIN, .number = jobs[i].mapping};
		emit(out, message, "");
		fflush(out);
		do_job(out, profile, &jobs[i], options);
		message.kind = MW_MESSAGE_END;
		emit(out, message, "");
		fflush(out);
	}
	_exit(0);
}
