/* SPDX-License-Identifier: MIT
 * ruby.c -- the control frames of Ruby 3.1 (MRI). Later versions export neither the thread's state
 * nor the loop.
 *
 * A thread or fiber has a stack of control frames, innermost first in memory. Those of methods in C
 * are left out: native frames show them. rb_vm_exec runs the loop, and the outermost frame of a run
 * is marked VM_FRAME_FLAG_FINISH. */
#include <stddef.h>

#include "base/libc_text.h"
#include "prof/script/reader/script_reader.h"

/* Offsets in the execution context, a control frame, an instruction sequence (iseq) and its body,
 * values, strings and arrays. */
enum {
	CONTEXT_STACK = 0,
	CONTEXT_WORDS = 8,
	CONTEXT_FRAME = 16,
	CONTEXT_BYTES = 24,
	FRAME_PC = 0,
	FRAME_ISEQ = 16,
	FRAME_ENVIRONMENT = 32,
	FRAME_BYTES = 64,
	FRAME_FINISH = 0x20, /* in the first word of the environment */
	ISEQ_BODY = 16,
	ISEQ_BYTES = 24,
	BODY_WORDS = 4, /* of the code */
	BODY_CODE = 8,
	BODY_PATH = 64,
	BODY_LABEL = 80,
	BODY_FIRST_LINE = 88, /* a Fixnum */
	BODY_LINES = 120,
	BODY_LINE_COUNT = 136,
	BODY_LINE_INDEX = 144,
	BODY_BYTES = 152,
	VALUE_BYTES = 40,
	TYPE_MASK = 0x1f, /* of the flags, a value's first word */
	STRING = 5,
	ARRAY = 7,
	STRING_IS_APART = 0x2000,
	ARRAY_IS_INSIDE = 0x2000,
	STRING_LENGTH = 16,
	STRING_POINTER = 24,
	STRING_INSIDE = 16, /* of a short one, whose length is in the flags */
	STRING_LENGTH_SHIFT = 14,
	STRING_LENGTH_MASK = 31,
	ARRAY_INSIDE = 16,
	ARRAY_POINTER = 32,
	/* An entry of the table of lines; its first word is the line. */
	LINE_BYTES = 12,
};
/* The table that finds the entry for a position (succ_index_table in Ruby's iseq.c). */
enum {
	NEAR_POSITIONS = 54,
	NEAR_BYTES = 48,
	BLOCK_POSITIONS = 512,
	BLOCK_BYTES = 80,
	BLOCK_RANKS = 8,
	BLOCK_BITS = 16,
};

static struct {
	mw_os_thread_local_t context;
	mw_os_symbol_t loop;
} ruby;

static bool start(const struct link_map *object) {
	uintptr_t version = mw_os_find_symbol_of(object, "ruby_version").start;
	ruby.loop = mw_os_find_symbol_of(object, "rb_vm_exec");
	return version && mw_strncmp((const char *)version, "3.1.", 4) == 0 && ruby.loop.start &&
	       mw_os_find_thread_local_of(object, "ruby_current_ec", &ruby.context);
}

/* ---- texts ---- */

static mw_script_bytes_t string_at(mw_script_memory_t *memory, uintptr_t string) {
	mw_script_bytes_t none = {.bytes = 0};
	if (!mw_script_is_readable(memory, string, VALUE_BYTES))
		return none;
	uintptr_t flags = mw_script_word(string);
	if ((flags & TYPE_MASK) != STRING)
		return none;
	if (flags & STRING_IS_APART)
		return mw_script_bytes_at(memory, mw_script_word(string + STRING_POINTER),
					  mw_script_word(string + STRING_LENGTH));
	return mw_script_bytes_at(memory, string + STRING_INSIDE,
				  flags >> STRING_LENGTH_SHIFT & STRING_LENGTH_MASK);
}

/* The path as it was given, alone or with the path without links behind it. */
static mw_script_bytes_t path_of(mw_script_memory_t *memory, uintptr_t body) {
	uintptr_t path = mw_script_word(body + BODY_PATH);
	if (mw_script_is_readable(memory, path, VALUE_BYTES) &&
	    (mw_script_word(path) & TYPE_MASK) == ARRAY) {
		uintptr_t first = mw_script_word(path) & ARRAY_IS_INSIDE
					  ? path + ARRAY_INSIDE
					  : mw_script_word(path + ARRAY_POINTER);
		path = mw_script_is_readable(memory, first, sizeof first) ? mw_script_word(first)
									  : 0;
	}
	return string_at(memory, path);
}

static mw_script_bytes_t label_of(mw_script_memory_t *memory, uintptr_t body) {
	return string_at(memory, mw_script_word(body + BODY_LABEL));
}

/* Returns the body of an iseq; 0: it cannot be read. */
static uintptr_t body_of(mw_script_memory_t *memory, uintptr_t iseq) {
	if (!mw_script_is_readable(memory, iseq, ISEQ_BYTES))
		return 0;
	uintptr_t body = mw_script_word(iseq + ISEQ_BODY);
	return mw_script_is_readable(memory, body, BODY_BYTES) ? body : 0;
}

static uint32_t first_line_of(uintptr_t body) {
	uint32_t line = mw_script_word32(body + BODY_FIRST_LINE) >> 1;
	return line <= MW_SCRIPT_LINE_MAX ? line : 0;
}

/* ---- the walk ---- */

/* walk->next: the control frame; outer: the end of the stack, where a frame lies that is none. */

static void begin(mw_script_walk_t *walk) {
	uintptr_t place = mw_os_thread_local_address(&ruby.context);
	uintptr_t context = place ? mw_script_word(place) : 0;
	if (!context)
		return;
	walk->is_broken = !mw_script_is_readable(&walk->memory, context, CONTEXT_BYTES);
	if (walk->is_broken)
		return;
	walk->next = mw_script_word(context + CONTEXT_FRAME);
	walk->outer = mw_script_word(context + CONTEXT_STACK) +
		      mw_script_word(context + CONTEXT_WORDS) * sizeof(uintptr_t) - FRAME_BYTES;
}

/* Iseqs are freed, and their addresses used again. Returns 0 if it is none. */
static uint64_t identify(mw_script_memory_t *memory, uintptr_t iseq) {
	uintptr_t body = body_of(memory, iseq);
	if (!body)
		return 0;
	mw_script_bytes_t path = path_of(memory, body), label = label_of(memory, body);
	if (path.bytes == 0 || label.bytes == 0)
		return 0;
	uint64_t identity = mw_script_mix(mw_script_hash(path), mw_script_hash(label)) +
			    mw_script_mix(mw_script_word(body + BODY_CODE), first_line_of(body)) +
			    iseq;
	return identity ? identity : 1;
}

static bool next(mw_script_walk_t *walk, mw_script_frame_t *out) {
	mw_script_memory_t *memory = &walk->memory;
	for (; walk->next < walk->outer && walk->left > 0; walk->left--) {
		uintptr_t frame = walk->next;
		if (!mw_script_is_readable(memory, frame, FRAME_BYTES))
			break;
		uintptr_t iseq = mw_script_word(frame + FRAME_ISEQ);
		uintptr_t pc = mw_script_word(frame + FRAME_PC);
		uintptr_t environment = mw_script_word(frame + FRAME_ENVIRONMENT);
		if (iseq && pc) {
			out->identity = identify(memory, iseq);
			if (!out->identity ||
			    !mw_script_is_readable(memory, environment, sizeof(uintptr_t)))
				break;
			out->code = iseq;
			out->position = (int64_t)pc;
			out->anchor = 0;
			out->ends_run = (mw_script_word(environment) & FRAME_FINISH) != 0;
		}
		walk->next += FRAME_BYTES;
		if (iseq && pc)
			return true;
	}
	walk->is_broken = walk->next < walk->outer;
	walk->next = walk->outer = 0;
	return false;
}

/* ---- names and lines ---- */

static void text(mw_script_walk_t *walk, const mw_script_frame_t *frame,
		 mw_script_question_t question, mw_script_text_t *out) {
	uintptr_t body = body_of(&walk->memory, frame->code);
	if (body)
		mw_script_put_bytes(out, question == MW_SCRIPT_FILE
						 ? path_of(&walk->memory, body)
						 : label_of(&walk->memory, body));
}

static uint32_t first_line(mw_script_walk_t *walk, const mw_script_frame_t *frame) {
	uintptr_t body = body_of(&walk->memory, frame->code);
	return body ? first_line_of(body) : 0;
}

/* Returns the number of entries of the table of lines that begin at or before the position; 0: the
 * index cannot be read. */
static uint32_t entries_until(mw_script_memory_t *memory, uintptr_t index, uint64_t position) {
	if (position < NEAR_POSITIONS) {
		uintptr_t word = index + position / 9 * 8;
		return mw_script_is_readable(memory, word, 8)
			       ? (uint32_t)(mw_script_word(word) >> position % 9 * 7 & 0x7f)
			       : 0;
	}
	uint64_t far = position - NEAR_POSITIONS;
	uintptr_t block = index + NEAR_BYTES + far / BLOCK_POSITIONS * BLOCK_BYTES;
	unsigned bit = far % BLOCK_POSITIONS, part = bit / 64;
	if (!mw_script_is_readable(memory, block, BLOCK_BYTES))
		return 0;
	uint64_t ranks = mw_script_word(block + BLOCK_RANKS);
	uint64_t bits = mw_script_word(block + BLOCK_BITS + 8 * (uintptr_t)part);
	uint32_t rank = part ? ranks >> (part - 1) * 9 & 0x1ff : 0;
	return mw_script_word32(block) + rank +
	       (uint32_t)__builtin_popcountll(bits << (63 - bit % 64));
}

static uint32_t line(mw_script_walk_t *walk, const mw_script_frame_t *frame) {
	mw_script_memory_t *memory = &walk->memory;
	uintptr_t body = body_of(memory, frame->code);
	if (!body)
		return 0;
	uint32_t count = mw_script_word32(body + BODY_LINE_COUNT);
	uintptr_t lines = mw_script_word(body + BODY_LINES);
	uint64_t position = ((uint64_t)frame->position - mw_script_word(body + BODY_CODE)) / 8;
	if (position > mw_script_word32(body + BODY_WORDS))
		return 0;
	/* The PC is that of the instruction behind the one that runs. */
	position -= position > 0;
	uint32_t number = count == 1 ? 1
				     : entries_until(memory, mw_script_word(body + BODY_LINE_INDEX),
						     position);
	if (number == 0 || number > count)
		return 0;
	uintptr_t entry = lines + (uintptr_t)(number - 1) * LINE_BYTES;
	mw_script_bytes_t read = mw_script_bytes_at(memory, entry, sizeof(uint32_t));
	return read.bytes ? mw_script_word32(entry) & MW_SCRIPT_LINE_MAX : 0;
}

const mw_script_reader_t mw_ruby_reader = {
	.symbol = "ruby_current_vm_ptr",
	.loop = &ruby.loop,
	.start = start,
	.begin = begin,
	.next = next,
	.text = text,
	.first_line = first_line,
	.line = line,
};
