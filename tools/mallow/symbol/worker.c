/* SPDX-License-Identifier: MIT
 * worker.c -- looks up what is not known yet, and writes what it found. */
#include "symbol/worker.h"

#include <errno.h>
#include <pthread.h>
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
/* Files with fewer locations are read beside one that takes its time: mostly they are the libraries
 * of a large program, and unpacking libc's debug information takes as long as thousands of
 * look-ups. */
#define LOCATIONS_OF_SMALL_MAX 1000

/* What the threads share. */
typedef struct office {
	const mw_profile_t *profile;
	const mw_symbol_job_t *jobs;
	bool *taken; /* of each job; one thread, until there are more, then under the lock */
	size_t job_count;
	const mw_symbolize_options_t *options;
	int fd;
	pthread_mutex_t lock; /* of the pipe and of `taken` */
} office_t;

/* One mapping's work. */
typedef struct task {
	office_t *office;
	char *out; /* messages that are not written yet */
	size_t out_bytes, out_capacity;
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

/* Messages are kept until they are flushed, so that those of two tasks do not mix. */
static void emit(task_t *t, mw_message_t message, const char *text) {
	size_t bytes = sizeof(message) + message.length;
	if (t->out_bytes + bytes > t->out_capacity) {
		t->out_capacity = 2 * (t->out_bytes + bytes) + PIPE_BYTES;
		t->out = mw_xrealloc(t->out, t->out_capacity, 1);
	}
	memcpy(t->out + t->out_bytes, &message, sizeof(message));
	if (message.length > 0)
		memcpy(t->out + t->out_bytes + sizeof(message), text, message.length);
	t->out_bytes += bytes;
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

/* Writes whole messages, and before them whose they are. */
static void flush(task_t *t) {
	const mw_message_t whose = {.kind = MW_MESSAGE_OF, .number = t->job->mapping};
	if (t->out_bytes == 0)
		return;
	pthread_mutex_lock(&t->office->lock);
	write_all(t->office->fd, &whose, sizeof(whose));
	write_all(t->office->fd, t->out, t->out_bytes);
	pthread_mutex_unlock(&t->office->lock);
	t->out_bytes = 0;
}

static void send_note(task_t *t, const char *text) {
	mw_message_t message = {.kind = MW_MESSAGE_NOTE, .length = (uint32_t)strlen(text)};
	emit(t, message, text);
}

static void send_opened(task_t *t, bool has_debug) {
	mw_message_t message = {.kind = MW_MESSAGE_OPENED,
				.number = t->job->mapping,
				.value = t->bias,
				.detail = has_debug};
	emit(t, message, "");
}

/* Appends a text and its NUL. */
static size_t pack(char *buffer, size_t used, const char *text) {
	size_t length = strnlen(text, MW_MESSAGE_TEXT_MAX / 3 - 1);
	memcpy(buffer + used, text, length);
	buffer[used + length] = '\0';
	return used + length + 1;
}

static void send_function(task_t *t, uint32_t number) {
	char buffer[MW_MESSAGE_TEXT_MAX];
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
	emit(t, message, buffer);
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
		emit(t, message, "");
	}
	if (t->out_bytes >= PIPE_BYTES)
		flush(t);
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
static size_t send_known(task_t *t, uint32_t *left) {
	size_t count = 0;
	for (size_t i = 0; i < t->job->count; i++) {
		uint32_t location = t->job->locations[i];
		/* Found by a worker that died of another file. */
		if (t->profile->locations[location].line_count > 0)
			continue;
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
	flush(context);
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

static void do_job(office_t *o, const mw_symbol_job_t *job) {
	const mw_mapping_t *mapping = &o->profile->mappings[job->mapping];
	const char *build_id = mw_profile_string(o->profile, mapping->build_id);
	task_t t = {
		.office = o,
		.profile = o->profile,
		.job = job,
		.mapping = mapping,
		.options = o->options,
		.known = mw_known_open(o->options->cache_directory, build_id),
	};
	mw_message_t message = {.kind = MW_MESSAGE_BEGIN, .number = job->mapping};
	emit(&t, message, "");
	flush(&t);
	do_task(&t);
	mw_known_close(t.known, t.has_debug);
	if (t.object != NULL)
		mw_object_close(t.object);
	message.kind = MW_MESSAGE_END;
	emit(&t, message, "");
	flush(&t);
	free(t.out);
	free(t.sent);
}

/* The next job that is not done, of small files only if there are to be no others. */
static const mw_symbol_job_t *take_job(office_t *o, bool is_small) {
	const mw_symbol_job_t *job = NULL;
	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i < o->job_count && job == NULL; i++) {
		if (o->taken[i] || (is_small && o->jobs[i].count >= LOCATIONS_OF_SMALL_MAX))
			continue;
		o->taken[i] = true;
		job = &o->jobs[i];
	}
	pthread_mutex_unlock(&o->lock);
	return job;
}

static void *do_small_jobs(void *office) {
	for (const mw_symbol_job_t *job; (job = take_job(office, true)) != NULL;)
		do_job(office, job);
	return NULL;
}

void mw_symbol_worker(const mw_profile_t *profile, const mw_symbol_job_t *jobs, size_t job_count,
		      const mw_symbolize_options_t *options, bool is_alone, int pipe_fd) {
	office_t o = {
		.profile = profile,
		.jobs = jobs,
		.taken = mw_xcalloc(job_count, sizeof(bool)),
		.job_count = job_count,
		.options = options,
		.fd = pipe_fd,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	size_t large = 0, small = 0;
	for (size_t i = 0; i < job_count; i++) {
		o.taken[i] = jobs[i].done;
		if (!jobs[i].done)
			*(jobs[i].count < LOCATIONS_OF_SMALL_MAX ? &small : &large) += 1;
	}
	mw_confine_memory(MW_CONFINED_BYTES);
	mw_debuginfod_allow(options->debuginfod);
	pthread_t thread;
	/* Downloads come one by one, so that one sees which. */
	bool is_crowd = !is_alone && !options->debuginfod && large > 0 && small > 0 &&
			pthread_create(&thread, NULL, do_small_jobs, &o) == 0;
	for (const mw_symbol_job_t *job; (job = take_job(&o, false)) != NULL;)
		do_job(&o, job);
	if (is_crowd)
		pthread_join(thread, NULL);
	_exit(0);
}
