/* SPDX-License-Identifier: MIT
 * worker.c -- looks up what is not known yet, and writes what it found. */
#include "symbol/worker.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/alloc.h"
#include "symbol/confine.h"
#include "symbol/debuginfod.h"
#include "symbol/found.h"
#include "symbol/known.h"
#include "symbol/lookup.h"
#include "symbol/object.h"

/* As much as a pipe holds. */
#define PIPE_BYTES ((size_t)64 << 10)
/* Opening a file takes as long as some hundred look-ups. */
#define PLACES_WORTH_HELP 500

/* One worker's. */
typedef struct desk {
	const mw_shift_t *shift;
	int fd;
	char *out; /* messages that are not written yet */
	size_t out_bytes, out_capacity;
} desk_t;

/* One mapping's work. */
typedef struct task {
	desk_t *desk;
	const mw_profile_t *profile;
	const mw_symbol_job_t *job;
	const mw_mapping_t *mapping;
	const mw_symbolize_options_t *options;
	mw_known_t *known;    /* from earlier runs; NULL once it has been sent */
	mw_found_t *names;    /* found by this worker */
	uint32_t names_first; /* the number of the first of them, behind those of `known` */
	uint32_t names_sent;  /* so many of them the parent has */
	bool *known_sent;     /* functions of `known` that it has */
	mw_object_t *object;  /* opened when something is not known */
	uint64_t bias;
} task_t;

/* Messages are kept until they are flushed. */
static void emit(desk_t *d, mw_message_t message, const char *text) {
	size_t bytes = sizeof(message) + message.length;
	if (d->out_bytes + bytes > d->out_capacity) {
		d->out_capacity = 2 * (d->out_bytes + bytes) + PIPE_BYTES;
		d->out = mw_xrealloc(d->out, d->out_capacity, 1);
	}
	memcpy(d->out + d->out_bytes, &message, sizeof(message));
	if (message.length > 0)
		memcpy(d->out + d->out_bytes + sizeof(message), text, message.length);
	d->out_bytes += bytes;
}

static void write_all(int fd, const void *bytes, size_t length) {
	for (const char *at = bytes; length > 0;) {
		ssize_t written = write(fd, at, length);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			_exit(2); /* the parent is gone */
		at += written;
		length -= (size_t)written;
	}
}

static void flush(desk_t *d) {
	write_all(d->fd, d->out, d->out_bytes);
	d->out_bytes = 0;
}

static void send_note(task_t *t, const char *text) {
	mw_message_t message = {.kind = MW_MESSAGE_NOTE, .length = (uint32_t)strlen(text)};
	emit(t->desk, message, text);
}

static void send_opened(task_t *t, bool has_debug) {
	const char *build_id = t->object != NULL ? mw_object_build_id(t->object) : "";
	mw_message_t message = {.kind = MW_MESSAGE_OPENED,
				.number = t->job->mapping,
				.value = t->bias,
				.detail = has_debug,
				.length = (uint32_t)strlen(build_id)};
	emit(t->desk, message, build_id);
}

/* Appends a text and its NUL. */
static size_t pack(char *buffer, size_t used, const char *text) {
	size_t length = strnlen(text, MW_MESSAGE_TEXT_MAX / 3 - 1);
	memcpy(buffer + used, text, length);
	buffer[used + length] = '\0';
	return used + length + 1;
}

/* A function of a profile, by the number it is to have. */
static void send_function(task_t *t, const mw_profile_t *p, uint32_t function, uint32_t number) {
	char buffer[MW_MESSAGE_TEXT_MAX];
	const mw_function_t *f = &p->functions[function];
	size_t used = pack(buffer, 0, mw_profile_string(p, f->name));
	used = pack(buffer, used, mw_profile_string(p, f->system_name));
	used = pack(buffer, used, mw_profile_string(p, f->file));
	mw_message_t message = {
		.kind = MW_MESSAGE_FUNCTION, .number = number, .length = (uint32_t)used};
	emit(t->desk, message, buffer);
}

static void send_frame(task_t *t, uint32_t location, uint32_t function, int64_t line) {
	mw_message_t message = {.kind = MW_MESSAGE_FRAME,
				.number = location,
				.detail = function,
				.value = (uint64_t)line};
	emit(t->desk, message, "");
	if (t->desk->out_bytes >= PIPE_BYTES)
		flush(t->desk);
}

/* `known` is the location in what is known of the build. */
static void send_known(task_t *t, uint32_t location, uint32_t known) {
	const mw_profile_t *p = mw_known_profile(t->known);
	const mw_location_t *l = &p->locations[known];
	for (uint32_t i = 0; i < l->line_count; i++) {
		const mw_line_t *line = &p->lines[l->line_first + i];
		if (!t->known_sent[line->function])
			send_function(t, p, line->function, line->function);
		t->known_sent[line->function] = true;
		send_frame(t, location, line->function, line->line);
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
		send_note(t, error.text);
		return -1;
	}
	return 0;
}

/* Sends what is known already; returns how many locations are left, their numbers in `left`. */
static size_t send_all_known(task_t *t, uint32_t *left) {
	size_t count = 0, functions = mw_known_profile(t->known)->function_count;
	t->known_sent = mw_xcalloc(functions, sizeof(bool));
	for (size_t i = 0; i < t->job->count; i++) {
		uint32_t location = t->job->locations[i];
		/* Found by a worker that died of another file. */
		if (t->profile->locations[location].line_count > 0)
			continue;
		uint32_t known =
			mw_known_find(t->known, t->profile->locations[location].address - t->bias);
		if (known != 0)
			send_known(t, location, known);
		else
			left[count++] = location;
	}
	free(t->known_sent);
	t->names_first = (uint32_t)functions;
	return count;
}

static void take_found(void *context, uint32_t location, const mw_line_t *lines, size_t count) {
	task_t *t = context;
	const mw_profile_t *p = mw_found_profile(t->names);
	for (; t->names_sent + 1 < p->function_count; t->names_sent++)
		send_function(t, p, t->names_sent + 1, t->names_first + t->names_sent + 1);
	for (size_t i = 0; i < count; i++)
		send_frame(t, location, t->names_first + lines[i].function, lines[i].line);
}

/* Reading a unit is where damage shows: what was found before is not to be lost with it. */
static void before_unit(void *context) {
	const task_t *t = context;
	flush(t->desk);
}

static mw_lookup_t lookup_of(task_t *t, mw_queue_t *queue) {
	t->names = mw_found_new();
	return (mw_lookup_t){
		.profile = t->profile,
		.mapping = t->mapping,
		.options = t->options,
		.bias = t->bias,
		.names = t->names,
		.queue = queue,
		.found = take_found,
		.before_unit = before_unit,
		.context = t,
	};
}

static void look_up(task_t *t, const uint32_t *locations, size_t count) {
	mw_queue_t *own = t->job->queue == NULL ? mw_queue_new(count) : NULL;
	const mw_lookup_t lookup = lookup_of(t, own != NULL ? own : t->job->queue);
	const mw_message_t message = {
		.kind = MW_MESSAGE_LOOKUP, .number = t->job->mapping, .value = count};
	emit(t->desk, message, "");
	flush(t->desk);
	send_opened(t, mw_object_has_debug(t->object));
	if (lookup.queue != NULL) {
		mw_lookup_list(&lookup, t->object, locations, count);
		mw_lookup_all(&lookup, &t->object);
	}
	mw_queue_free(own);
}

/* All of a file.  Some profiles have no build-ids (jemalloc's text): what is known of the file that
 * is there now counts. */
static void do_task(task_t *t) {
	const char *build_id = mw_profile_string(t->profile, t->mapping->build_id);
	t->bias = t->mapping->bias;
	if ((!t->mapping->bias_known || build_id[0] == '\0') && open_object(t) != 0)
		return;
	if (build_id[0] == '\0')
		build_id = mw_object_build_id(t->object);
	t->known = mw_known_open(t->options->cache_directory, build_id);
	if (mw_known_was_kept(t->known))
		send_opened(t, true);
	uint32_t *left = mw_xcalloc(t->job->count, sizeof(uint32_t));
	size_t count = send_all_known(t, left);
	mw_known_close(t->known);
	if (count > 0 && (t->object != NULL || open_object(t) == 0))
		look_up(t, left, count);
	free(left);
}

/* What is left of a file that another worker has begun. */
static void help(task_t *t) {
	if (mw_queue_wait(t->job->queue) < PLACES_WORTH_HELP)
		return;
	t->bias = t->mapping->bias;
	if (open_object(t) != 0)
		return;
	mw_object_has_debug(t->object);
	const mw_lookup_t lookup = lookup_of(t, t->job->queue);
	mw_lookup_all(&lookup, &t->object);
}

static void do_job(desk_t *d, const mw_symbol_job_t *job, void (*part)(task_t *t)) {
	const mw_mapping_t *mapping = &d->shift->profile->mappings[job->mapping];
	task_t t = {.desk = d,
		    .profile = d->shift->profile,
		    .job = job,
		    .mapping = mapping,
		    .options = d->shift->options};
	mw_message_t message = {.kind = MW_MESSAGE_BEGIN, .number = job->mapping};
	emit(d, message, "");
	flush(d);
	part(&t);
	mw_object_close(t.object);
	if (t.names != NULL)
		mw_found_free(t.names);
	message.kind = MW_MESSAGE_END;
	emit(d, message, "");
	flush(d);
}

/* Takes the jobs of one size that nobody has taken. */
static void do_jobs(desk_t *d, bool are_small) {
	const mw_shift_t *s = d->shift;
	for (size_t i = 0; i < s->job_count; i++)
		if ((s->jobs[i].count < MW_JOB_SMALL_MAX) == are_small && !s->jobs[i].is_done &&
		    !atomic_exchange(&s->taken[i], true))
			do_job(d, &s->jobs[i], do_task);
}

void mw_symbol_worker(const mw_shift_t *shift, int pipe_fd) {
	desk_t d = {.shift = shift, .fd = pipe_fd};
	mw_confine_memory(MW_CONFINED_BYTES);
	mw_debuginfod_allow(shift->options->debuginfod);
	if (shift->helped == NULL)
		do_jobs(&d, false);
	do_jobs(&d, true);
	if (shift->helped != NULL)
		do_job(&d, shift->helped, help);
	const mw_message_t message = {.kind = MW_MESSAGE_DONE};
	emit(&d, message, "");
	flush(&d);
	/* Before the memory goes, which takes a while. */
	close(pipe_fd);
	_exit(0);
}
