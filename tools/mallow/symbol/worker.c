/* SPDX-License-Identifier: MIT
 * worker.c -- looks up, demangles, and writes what it found. */
#include "symbol/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/object.h"
#include "symbol/symbolize.h"

static void emit(FILE *out, mw_message_t message, const char *text) {
	fwrite(&message, sizeof(message), 1, out);
	if (message.length > 0)
		fwrite(text, message.length, 1, out);
}

static void send_note(FILE *out, const char *text) {
	mw_message_t message = {.kind = MW_MESSAGE_NOTE, .length = (uint32_t)strlen(text)};
	emit(out, message, text);
}

/* Appends a text and its NUL. */
static size_t pack(char *buffer, size_t used, const char *text) {
	size_t length = strnlen(text, MW_MESSAGE_TEXT_MAX / 3 - 1);
	memcpy(buffer + used, text, length);
	buffer[used + length] = '\0';
	return used + length + 1;
}

static void send_frame(FILE *out, uint32_t location, const mw_symbol_frame_t *frame) {
	static char buffer[MW_MESSAGE_TEXT_MAX];
	/* Dynamic symbols may carry a version: name@VERSION. */
	char *system_name = strdup(frame->name);
	char *version = system_name != NULL ? strchr(system_name + 1, '@') : NULL;
	if (system_name == NULL)
		_exit(2);
	if (system_name[0] != '\0' && version != NULL)
		*version = '\0';
	char *name = mw_demangle(system_name);
	size_t used = pack(buffer, 0, name);
	used = pack(buffer, used, system_name);
	used = pack(buffer, used, frame->file != NULL ? frame->file : "");
	mw_message_t message = {.kind = MW_MESSAGE_FRAME,
				.number = location,
				.value = (uint64_t)frame->line,
				.length = (uint32_t)used};
	emit(out, message, buffer);
	free(name);
	free(system_name);
}

static void do_job(FILE *out, const mw_profile_t *p, const mw_symbol_job_t *job, uint32_t pid) {
	const mw_mapping_t *mapping = &p->mappings[job->mapping];
	mw_error_t error;
	mw_object_t *object = mw_object_open(p, mapping, pid, &error);
	if (object == NULL) {
		send_note(out, error.text);
		return;
	}
	uint64_t bias = mapping->bias;
	if (!mapping->bias_known && !mw_object_bias(object, mapping, &bias)) {
		snprintf(error.text, sizeof(error.text),
			 "%.400s: has no segment where the profile has code of it; not used",
			 mw_profile_string(p, mapping->path));
		send_note(out, error.text);
		mw_object_close(object);
		return;
	}
	emit(out,
	     (mw_message_t){.kind = MW_MESSAGE_OPENED,
			    .number = job->mapping,
			    .value = bias,
			    .debug = mw_object_has_debug(object)},
	     "");
	for (size_t i = 0; i < job->count; i++) {
		uint32_t location = job->locations[i];
		mw_symbol_frame_t frames[MW_OBJECT_INLINE_MAX];
		size_t count =
			mw_object_lookup(object, p->locations[location].address - bias, frames);
		for (size_t k = 0; k < count; k++)
			send_frame(out, location, &frames[k]);
		/* Shown to be alive, and not lost should the next one be the last. */
		fflush(out);
	}
	mw_object_close(object);
}

void mw_symbol_worker(const mw_profile_t *profile, const mw_symbol_job_t *jobs, size_t job_count,
		      uint32_t pid, int pipe_fd) {
	FILE *out = fdopen(pipe_fd, "w");
	if (out == NULL)
		_exit(2);
	for (size_t i = 0; i < job_count; i++) {
		if (jobs[i].done)
			continue;
		mw_message_t message = {.kind = MW_MESSAGE_BEGIN, .number = jobs[i].mapping};
		emit(out, message, "");
		fflush(out);
		do_job(out, profile, &jobs[i], pid);
		message.kind = MW_MESSAGE_END;
		emit(out, message, "");
		fflush(out);
	}
	_exit(0);
}
