/* SPDX-License-Identifier: MIT
 * worker.c -- looks up what is not known yet, and writes what it found. */
#include "symbol/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/alloc.h"
#include "symbol/confine.h"
#include "symbol/debuginfod.h"
#include "symbol/known.h"
#include "symbol/lookup.h"
#include "symbol/object.h"

/* As much as a pipe holds. */
#define PIPE_BYTES ((size_t)64 << 10)

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
	bool has_debug; /* something was looked up in debug information */
	bool *sent;     /* functions of `known` that the parent has */
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

/* Opens the file and finds where it was loaded. Its debug information is left alone until something
 * is not known. */
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

static void take_found(void *context, uint32_t location, uint32_t known) {
	send_frames(context, location, known);
}

/* Reading a unit is where damage shows: what was found before is not to be lost with it. */
static void before_unit(void *context) {
	task_t *t = context;
	fflush(t->out);
}

static void look_up_all(task_t *t, const uint32_t *locations, size_t count) {
	const mw_lookup_t lookup = {
		.profile = t->profile,
		.mapping = t->mapping,
		.options = t->options,
		.bias = t->bias,
		.known = t->known,
		.found = take_found,
		.before_unit = before_unit,
		.context = t,
	};
	mw_lookup_all(&lookup, &t->object, locations, count);
}

static void do_task(task_t *t) {
	t->bias = t->mapping->bias;
	if (!t->mapping->bias_known && open_object(t) != 0)
		return;
	if (mw_known_was_kept(t->known))
		send_opened(t, true);
	uint32_t *left = mw_xcalloc(t->job->count, sizeof(uint32_t));
	size_t count = send_known(t, left);
	if (count > 0 && (t->object != NULL || open_object(t) == 0)) {
		t->has_debug = mw_object_has_debug(t->object);
		send_opened(t, t->has_debug);
		look_up_all(t, left, count);
	}
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
	mw_known_close(t.known, t.has_debug);
	if (t.object != NULL)
		mw_object_close(t.object);
	free(t.sent);
}

void mw_symbol_worker(const mw_profile_t *profile, const mw_symbol_job_t *jobs, size_t job_count,
		      const mw_symbolize_options_t *options, int pipe_fd) {
	FILE *out = fdopen(pipe_fd, "w");
	if (out == NULL)
		_exit(2);
	static char buffer[PIPE_BYTES];
	setvbuf(out, buffer, _IOFBF, sizeof(buffer));
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
