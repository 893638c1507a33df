/* SPDX-License-Identifier: MIT
 * cpython.c -- the chain of frames of CPython 3.8 to 3.14.
 *
 * Up to 3.10 each frame has a run of the loop _PyEval_EvalFrameDefault. Since 3.11 a run has all
 * frames that its functions call, and a record on the C stack: 3.11 has one per run, which
 * is_entry frames end (_PyCFrame); 3.12 and later have an entry frame that ends the run and lies
 * there itself. */
#include <stddef.h>

#include "prof/script/reader/cpython_layout.h"
#include "prof/script/reader/cpython_text.h"
#include "prof/script/reader/script_reader.h"

/* Bits of a pointer to a code object that are none of its address, since 3.13. */
#define TAG_BITS 3u

static struct {
	mw_cpython_layout_t at;
	/* PyGILState_GetThisThreadState: one call of pthread_getspecific(3). It also finds the
	 * state of a thread that does not hold the interpreter's lock. NULL before the interpreter
	 * starts and once it ends. */
	uintptr_t (*state_of_thread)(void);
	uintptr_t code_type, string_type;
	size_t frame_bytes, code_bytes; /* as far as they are read */
	mw_os_symbol_t loop;
} python;

static size_t max_of(size_t a, size_t b) {
	return a > b ? a : b;
}

/* Sizes of what is read of a frame and of a code object. */
static void measure(void) {
	const mw_cpython_layout_t *at = &python.at;
	python.frame_bytes = 8 + max_of(max_of(at->frame_code, at->frame_previous),
					max_of(at->frame_position, at->frame_entry));
	python.code_bytes = 8 + max_of(max_of(max_of(at->file, at->name),
					      max_of(at->qualified_name, at->table)),
				       max_of(at->first_line, at->argument_count));
}

static bool start(const struct link_map *object) {
	uintptr_t getter = mw_os_find_symbol_of(object, "PyGILState_GetThisThreadState").start;
	python.code_type = mw_os_find_symbol_of(object, "PyCode_Type").start;
	python.string_type = mw_os_find_symbol_of(object, "PyUnicode_Type").start;
	if (!getter || !python.code_type || !python.string_type ||
	    !mw_cpython_find_layout(object, &python.at))
		return false;
	python.state_of_thread = (uintptr_t(*)(void))getter;
	python.loop = python.at.runs == MW_CPYTHON_EACH
			      ? mw_os_find_symbol_of(object, "_PyEval_EvalFrameDefault")
			      : (mw_os_symbol_t){.start = 0};
	measure();
	return true;
}

static bool is_entry(uintptr_t frame) {
	return mw_script_byte(frame + python.at.frame_entry) >= python.at.entry_least;
}

static bool read_frame(mw_script_walk_t *walk) {
	return mw_script_is_readable(&walk->memory, walk->next, python.frame_bytes);
}

/* Passes the entry frames from the next frame on. Returns the first one's address; 0: the next
 * frame is a function's, or cannot be read. */
static uintptr_t pass_entries(mw_script_walk_t *walk) {
	uintptr_t first = 0;
	if (python.at.runs != MW_CPYTHON_OWNER)
		return 0;
	for (; walk->left > 0 && walk->next && read_frame(walk) && is_entry(walk->next);
	     walk->left--) {
		if (!first)
			first = walk->next;
		walk->next = mw_script_word(walk->next + python.at.frame_previous);
	}
	return first;
}

static void begin(mw_script_walk_t *walk) {
	const mw_cpython_layout_t *at = &python.at;
	uintptr_t state = python.state_of_thread();
	if (!state)
		return;
	uintptr_t place = state + at->state_frame;
	walk->is_broken = !mw_script_is_readable(&walk->memory, place, sizeof place);
	if (walk->is_broken)
		return;
	walk->next = mw_script_word(place);
	if (at->has_cframe) {
		walk->outer = walk->next;
		size_t bytes = at->cframe_previous + sizeof(uintptr_t);
		walk->is_broken = !mw_script_is_readable(&walk->memory, walk->outer, bytes);
		walk->next = walk->is_broken ? 0 : mw_script_word(walk->outer + at->cframe_frame);
	}
	pass_entries(walk);
}

static bool is_string(mw_script_walk_t *walk, uintptr_t string) {
	return mw_script_is_readable(&walk->memory, string, MW_CPYTHON_STRING_BYTES) &&
	       mw_script_word(string + MW_CPYTHON_TYPE) == python.string_type;
}

/* Hashes what tells a code object from others that have lived at its address: a function's texts
 * and table are freed and made anew with it, and other texts have other hashes. Returns 0 if it is
 * no code object. */
static uint64_t identify(mw_script_walk_t *walk, uintptr_t code) {
	const mw_cpython_layout_t *at = &python.at;
	if (!mw_script_is_readable(&walk->memory, code, python.code_bytes) ||
	    mw_script_word(code + MW_CPYTHON_TYPE) != python.code_type)
		return 0;
	uintptr_t file = mw_script_word(code + at->file), name = mw_script_word(code + at->name);
	if (!is_string(walk, file) || !is_string(walk, name))
		return 0;
	uint64_t numbers = (uint64_t)mw_script_word32(code + at->argument_count) << 32 |
			   mw_script_word32(code + at->first_line);
	uint64_t identity = mw_script_mix(file, name) +
			    mw_script_mix(mw_script_word(code + at->table), numbers) +
			    mw_script_mix(mw_script_word(file + MW_CPYTHON_HASH),
					  mw_script_word(name + MW_CPYTHON_HASH)) +
			    code;
	return identity ? identity : 1;
}

static int64_t position_of(uintptr_t frame, uintptr_t code) {
	uintptr_t place = frame + python.at.frame_position;
	if (python.at.position != MW_CPYTHON_POINTER)
		return (int32_t)mw_script_word32(place);
	return (int64_t)(mw_script_word(place) - code - python.at.code) / 2;
}

/* Code objects of the interpreter's own, which clean up behind __init__ since 3.12: their file is
 * their name. */
static bool is_internal(uintptr_t code) {
	return mw_script_word(code + python.at.file) == mw_script_word(code + python.at.name);
}

/* Finds out whether the frame ends its run, and goes on to the next frame. */
static void follow(mw_script_walk_t *walk, mw_script_frame_t *out) {
	const mw_cpython_layout_t *at = &python.at;
	uintptr_t frame = walk->next;
	out->anchor = 0;
	out->ends_run = at->runs == MW_CPYTHON_EACH;
	walk->next = mw_script_word(frame + at->frame_previous);
	walk->left--;
	if (at->runs == MW_CPYTHON_OWNER) {
		out->anchor = pass_entries(walk);
		out->ends_run = out->anchor != 0;
	} else if (at->runs == MW_CPYTHON_CFRAME && is_entry(frame)) {
		out->anchor = walk->outer;
		out->ends_run = true;
		size_t bytes = at->cframe_previous + sizeof(uintptr_t);
		walk->outer = mw_script_is_readable(&walk->memory, walk->outer, bytes)
				      ? mw_script_word(walk->outer + at->cframe_previous)
				      : 0;
	}
}

static bool next(mw_script_walk_t *walk, mw_script_frame_t *out) {
	bool is_inside = true;
	while (is_inside) {
		if (!walk->next)
			return false;
		if (walk->left == 0 || !read_frame(walk))
			break;
		out->code =
			mw_script_word(walk->next + python.at.frame_code) & ~(uintptr_t)TAG_BITS;
		out->identity = identify(walk, out->code);
		if (!out->identity)
			break;
		out->position = position_of(walk->next, out->code);
		is_inside = is_internal(out->code);
		follow(walk, out);
		if (!is_inside)
			return true;
	}
	walk->next = 0;
	walk->is_broken = true;
	return false;
}

/* ---- names ---- */

static void text(mw_script_walk_t *walk, const mw_script_frame_t *frame,
		 mw_script_question_t question, mw_script_text_t *out) {
	const mw_cpython_layout_t *at = &python.at;
	uintptr_t string = mw_script_word(
		frame->code + (question == MW_SCRIPT_FILE ? at->file : at->qualified_name));
	if (!is_string(walk, string))
		string = mw_script_word(frame->code + at->name);
	mw_cpython_read_text(&walk->memory, at, string, out);
}

static uint32_t first_line_of(const mw_script_frame_t *frame) {
	uint32_t line = mw_script_word32(frame->code + python.at.first_line);
	return line <= MW_SCRIPT_LINE_MAX ? line : 0;
}

static uint32_t first_line(mw_script_walk_t *walk, const mw_script_frame_t *frame) {
	(void)walk;
	return first_line_of(frame);
}

static uint32_t line(mw_script_walk_t *walk, const mw_script_frame_t *frame) {
	return mw_cpython_line(&walk->memory, &python.at,
			       mw_script_word(frame->code + python.at.table), first_line_of(frame),
			       frame->position);
}

const mw_script_reader_t mw_cpython_reader = {
	.symbol = "_PyRuntime",
	.loop = &python.loop,
	.start = start,
	.begin = begin,
	.next = next,
	.text = text,
	.first_line = first_line,
	.line = line,
};
