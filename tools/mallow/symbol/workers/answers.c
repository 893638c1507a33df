/* SPDX-License-Identifier: MIT
 * answers.c -- reads a worker's messages from a pipe. */
#include "symbol/workers/answers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/memory.h"

/* Puts the collected frames of a location into the profile. */
static void finish_location(mw_answers_t *a) {
	mw_profile_t *p = a->session->profile;
	if (a->location != 0 && a->line_count == 1 && mw_function_is_range(p, a->lines[0].function))
		p->locations[a->location].range_function = a->lines[0].function;
	else if (a->location != 0)
		mw_profile_set_lines(p, a->location, a->lines, a->line_count);
	a->location = 0;
	a->line_count = 0;
}

/* Largest number of a function.  A worker that sends larger numbers is damaged. */
#define FUNCTIONS_MAX (1u << 26)

static void take_function(mw_answers_t *a, const mw_message_t *message, const char *text) {
	mw_profile_t *p = a->session->profile;
	if (a->current == NULL || message->number == 0 || message->number >= FUNCTIONS_MAX)
		return;
	const char *end = text + message->length, *name = text;
	const char *system_name = name + strnlen(name, (size_t)(end - name)) + 1;
	if (system_name >= end)
		return;
	const char *file = system_name + strnlen(system_name, (size_t)(end - system_name)) + 1;
	if (file >= end)
		return;
	mw_function_t function = {
		.name = mw_profile_intern_bytes(p, name, (size_t)(system_name - name)),
		.system_name =
			mw_profile_intern_bytes(p, system_name, (size_t)(file - system_name)),
		.file = mw_profile_intern_bytes(p, file, (size_t)(end - file)),
	};
	a->functions = mw_grow(a->functions, &a->function_capacity, (size_t)message->number + 1,
			       sizeof(uint32_t));
	a->functions[message->number] = mw_profile_add_function(p, &function);
}

static void take_frame(mw_answers_t *a, const mw_message_t *message) {
	if (message->number != a->location)
		finish_location(a);
	if (a->current == NULL || message->number == 0 ||
	    message->number >= a->session->profile->location_count ||
	    message->detail >= a->function_capacity || a->functions[message->detail] == 0 ||
	    a->line_count == MW_OBJECT_INLINE_MAX)
		return;
	a->location = message->number;
	a->lines[a->line_count++] = (mw_line_t){.function = a->functions[message->detail],
						.line = (int64_t)message->value};
}

static void take_opened(mw_answers_t *a, const mw_message_t *message, const char *text) {
	if (a->current == NULL || message->number != a->current->mapping)
		return;
	mw_mapping_t *mapping = &a->session->profile->mappings[message->number];
	mapping->bias = message->value;
	mapping->bias_known = true;
	mapping->has_functions = true;
	mapping->has_filenames = mapping->has_line_numbers = message->detail != 0;
	mapping->has_inline_frames = message->detail != 0;
	a->current->has_debug = message->detail != 0;
	size_t length = strnlen(text, message->length);
	snprintf(a->current->build_id, sizeof(a->current->build_id), "%s", text);
	snprintf(a->current->identity, sizeof(a->current->identity), "%s",
		 length < message->length ? text + length + 1 : "");
}

static void say_progress(const mw_answers_t *a) {
	const mw_symbolize_options_t *options = a->session->options;
	if (options->progress == NULL || a->current == NULL)
		return;
	const mw_mapping_t *mapping = &a->session->profile->mappings[a->current->mapping];
	options->progress(options->context, a->session->done_count, a->session->job_count,
			  mw_profile_string(a->session->profile, mapping->path));
}

static mw_symbol_job_t *job_of(const mw_answers_t *a, uint32_t mapping) {
	bool is_one = mapping < a->session->profile->mapping_count &&
		      a->session->job_of_mapping[mapping] != 0;
	return is_one ? &a->session->jobs[a->session->job_of_mapping[mapping] - 1] : NULL;
}

static void begin(mw_answers_t *a, const mw_message_t *message) {
	a->current = job_of(a, message->number);
	/* A new file begins, so the worker's function numbers start again. */
	if (a->functions != NULL)
		memset(a->functions, 0, a->function_capacity * sizeof(uint32_t));
	if (a->current != a->helped)
		say_progress(a);
}

static void end(mw_answers_t *a) {
	if (a->current != NULL && a->current != a->helped)
		mw_session_end_job(a->session, a->current);
	a->current = NULL;
}

/* Counts notes beyond the first, because a crafted profile may name any number of missing files. */
static void take_note(mw_session_t *s, const char *text) {
	if (s->note_count++ < MW_NOTES_MAX && s->options->note != NULL)
		s->options->note(s->options->context, text);
}

void mw_session_end_job(mw_session_t *s, mw_symbol_job_t *job) {
	s->done_count += !job->is_done;
	job->is_done = true;
}

static void take_message(mw_answers_t *a, const mw_message_t *message, const char *text) {
	if (message->kind != MW_MESSAGE_FRAME && message->kind != MW_MESSAGE_FUNCTION)
		finish_location(a);
	switch (message->kind) {
	case MW_MESSAGE_BEGIN:
		begin(a, message);
		break;
	case MW_MESSAGE_NOTE:
		take_note(a->session, text);
		break;
	case MW_MESSAGE_OPENED:
		take_opened(a, message, text);
		break;
	case MW_MESSAGE_LOOKUP:
		if (a->current != NULL && a->current != a->helped) {
			a->current->has_news = true;
			a->wants_help = message->value;
		}
		break;
	case MW_MESSAGE_FUNCTION:
		take_function(a, message, text);
		break;
	case MW_MESSAGE_FRAME:
		take_frame(a, message);
		break;
	case MW_MESSAGE_INCOMPLETE:
		if (a->current != NULL)
			a->current->has_debug = false;
		break;
	case MW_MESSAGE_END:
		end(a);
		break;
	case MW_MESSAGE_DONE:
		a->is_done = true;
		break;
	default:
		break;
	}
}

/* Takes all complete messages out of the buffer. */
static int take_messages(mw_answers_t *a) {
	size_t at = 0;
	static char text[MW_MESSAGE_TEXT_MAX + 1];
	while (a->used - at >= sizeof(mw_message_t)) {
		mw_message_t message;
		memcpy(&message, a->buffer + at, sizeof(message));
		if (message.length > MW_MESSAGE_TEXT_MAX)
			return -1;
		if (a->used - at < sizeof(message) + message.length)
			break;
		memcpy(text, a->buffer + at + sizeof(message), message.length);
		text[message.length] = '\0';
		take_message(a, &message, text);
		at += sizeof(message) + message.length;
	}
	memmove(a->buffer, a->buffer + at, a->used - at);
	a->used -= at;
	return 1;
}

int mw_answers_take(mw_answers_t *a) {
	ssize_t got = read(a->fd, a->buffer + a->used, sizeof(a->buffer) - a->used);
	if (got < 0)
		return errno == EINTR ? 1 : -1;
	if (got == 0)
		return 0;
	a->used += (size_t)got;
	return take_messages(a);
}

void mw_answers_release(mw_answers_t *a) {
	finish_location(a);
	free(a->functions);
}
