/* SPDX-License-Identifier: MIT
 * perl.c -- the contexts of Perl (builds with interpreter threads, as all distributions have).
 *
 * A thread's interpreter has a chain of stacks of contexts: a callback from C begins a new one. The
 * contexts of subs, of files that `require` runs and of strings that `eval` runs are frames; a
 * context holds the place of the one around it. The loop is Perl_runops_standard, and a frame that
 * C called ends its run. */
#include <stddef.h>

#include "os/platform/libc_calls.h"
#include "prof/script/reader/script_reader.h"

/* Offsets of 5.36 to 5.40: in the interpreter, a stack of contexts (PERL_SI), a context, the place
 * in a script (COP), a sub (CV), a glob (GV), a package (HV) and a shared key (HEK). */
enum {
	MY_PLACE = 0xd0,
	MY_STACK = 0xe0,
	STACK_CONTEXTS = 0x08,
	STACK_PREVIOUS = 0x10,
	STACK_LAST = 0x20,
	STACK_BYTES = 0x28,
	CONTEXT_TYPE = 0x00,
	CONTEXT_PLACE = 0x10,
	CONTEXT_RETURN = 0x30,
	CONTEXT_FILE = 0x40, /* of an eval: what `require` runs */
	CONTEXT_SUB = 0x48,
	CONTEXT_BYTES = 0x68,
	PLACE_LINE = 0x24,
	PLACE_FILE = 0x30,
	PLACE_BYTES = 0x38,
	BODY = 0x00, /* of any value */
	VALUE_FLAGS = 0x0c,
	VALUE_BYTES = 0x18,
	SUB_PACKAGE = 0x20, /* of a sub without a glob */
	SUB_GLOB = 0x38,
	SUB_FLAGS = 0x5c,
	SUB_BYTES = 0x60,
	SUB_HAS_NAME = 0x8000, /* CVf_NAMED: a key in place of the glob */
	GLOB_PARTS = 0x10,
	GLOB_NAME = 0x20,
	GLOB_PACKAGE = 0x28,
	GLOB_BYTES = 0x30,
	PARTS_ORIGIN = 0x38,
	PARTS_BYTES = 0x40,
	PACKAGE_NAME = 0x20,
	PACKAGE_NAME_COUNT = 0x3c,
	PACKAGE_BYTES = 0x40,
	PACKAGE_HAS_NAME = 0x02000000, /* SVphv_HasAUX of the flags */
	KEY_BYTES = 4,
	KEY_TEXT = 8,
};
enum { TYPE_MASK = 15, IS_BLOCK = 0x40, SUB = 9, EVAL = 11 }; /* types of contexts */
enum { TYPE_OF_VALUE = 0xff, GLOB = 9, PACKAGE = 12, CODE = 13 };

/* Codes of frames that are no subs; subs have addresses. */
enum { MAIN = 0, EVAL_OF_STRING = 1, REQUIRE = 2, NO_SUB = 3 };

static struct {
	uintptr_t thread_key; /* address of PL_thr_key */
	uintptr_t first;      /* address of PL_curinterp; NULL there: the key is not made yet */
	mw_os_symbol_t loop;
} perl;

static bool start(const struct link_map *object) {
	uintptr_t version = mw_os_find_symbol_of(object, "PL_version").start;
	perl.thread_key = mw_os_find_symbol_of(object, "PL_thr_key").start;
	perl.first = mw_os_find_symbol_of(object, "PL_curinterp").start;
	perl.loop = mw_os_find_symbol_of(object, "Perl_runops_standard");
	return version && perl.thread_key && perl.first && perl.loop.start &&
	       mw_script_byte(version) >= 36 && mw_script_byte(version) <= 40;
}

/* ---- names ---- */

static mw_script_bytes_t none(void) {
	return (mw_script_bytes_t){.bytes = 0};
}

/* Returns the text of a key (HEK). */
static mw_script_bytes_t key_text(mw_script_memory_t *memory, uintptr_t key) {
	if (!mw_script_is_readable(memory, key, KEY_TEXT))
		return none();
	int32_t bytes = (int32_t)mw_script_word32(key + KEY_BYTES);
	return mw_script_bytes_at(memory, key + KEY_TEXT, bytes > 0 ? (size_t)bytes : 0);
}

/* Returns the body of a value; 0: it has another type. */
static uintptr_t body_of(mw_script_memory_t *memory, uintptr_t value, unsigned type, size_t bytes) {
	if (!mw_script_is_readable(memory, value, VALUE_BYTES) ||
	    (mw_script_word32(value + VALUE_FLAGS) & TYPE_OF_VALUE) != type)
		return 0;
	uintptr_t body = mw_script_word(value + BODY);
	return mw_script_is_readable(memory, body, bytes) ? body : 0;
}

static mw_script_bytes_t package_name(mw_script_memory_t *memory, uintptr_t package) {
	uintptr_t body = body_of(memory, package, PACKAGE, PACKAGE_BYTES);
	if (!body || !(mw_script_word32(package + VALUE_FLAGS) & PACKAGE_HAS_NAME))
		return none();
	uintptr_t name = mw_script_word(body + PACKAGE_NAME);
	/* A package that has had several names has a list of them. */
	if (mw_script_word32(body + PACKAGE_NAME_COUNT) != 0)
		name = mw_script_is_readable(memory, name, sizeof name) ? mw_script_word(name) : 0;
	return key_text(memory, name);
}

typedef struct sub_name {
	mw_script_bytes_t package, name;
} sub_name_t;

static sub_name_t glob_name(mw_script_memory_t *memory, uintptr_t glob) {
	sub_name_t found = {none(), none()};
	if (!body_of(memory, glob, GLOB, GLOB_BYTES))
		return found;
	/* A glob that was imported has the parts of its origin. */
	uintptr_t parts = mw_script_word(glob + GLOB_PARTS);
	uintptr_t origin = mw_script_is_readable(memory, parts, PARTS_BYTES)
				   ? mw_script_word(parts + PARTS_ORIGIN)
				   : 0;
	uintptr_t body = body_of(memory, origin, GLOB, GLOB_BYTES);
	if (!body)
		body = body_of(memory, glob, GLOB, GLOB_BYTES);
	found.name = key_text(memory, mw_script_word(body + GLOB_NAME));
	found.package = package_name(memory, mw_script_word(body + GLOB_PACKAGE));
	return found;
}

static sub_name_t name_of_sub(mw_script_memory_t *memory, uintptr_t sub) {
	uintptr_t body = body_of(memory, sub, CODE, SUB_BYTES);
	if (!body)
		return (sub_name_t){none(), none()};
	uintptr_t glob = mw_script_word(body + SUB_GLOB);
	if (!(mw_script_word32(body + SUB_FLAGS) & SUB_HAS_NAME))
		return glob_name(memory, glob);
	return (sub_name_t){.package = package_name(memory, mw_script_word(body + SUB_PACKAGE)),
			    .name = key_text(memory, glob)};
}

static mw_script_bytes_t file_of(mw_script_memory_t *memory, uintptr_t place) {
	uintptr_t file = mw_script_word(place + PLACE_FILE);
	return file ? mw_script_until_nul(memory, file) : none();
}

/* ---- the walk ---- */

/* walk->outer: the stack of contexts; next: 1 + the contexts of it that are left, 0: not known
 * yet; place: where the next frame is, 0: all frames have been read. */

static void begin(mw_script_walk_t *walk) {
	if (mw_script_word(perl.first) == 0 || !mw_libc_calls.pthread_getspecific)
		return;
	pthread_key_t key = (pthread_key_t)mw_script_word32(perl.thread_key);
	uintptr_t my = (uintptr_t)mw_libc_calls.pthread_getspecific(key);
	if (!my)
		return;
	walk->is_broken = !mw_script_is_readable(&walk->memory, my, MY_STACK + sizeof my);
	if (walk->is_broken)
		return;
	walk->place = mw_script_word(my + MY_PLACE);
	walk->outer = mw_script_word(my + MY_STACK);
}

/* Returns the next context, of this stack or of one further out; 0: there is none, or the chain is
 * broken. */
static uintptr_t next_context(mw_script_walk_t *walk) {
	while (walk->outer && walk->left > 0) {
		if (!mw_script_is_readable(&walk->memory, walk->outer, STACK_BYTES))
			break;
		walk->left--;
		int32_t last = (int32_t)mw_script_word32(walk->outer + STACK_LAST);
		if (walk->next == 0)
			walk->next = (uintptr_t)(last < -1 ? 1 : last + 2);
		if (--walk->next > 0)
			return mw_script_word(walk->outer + STACK_CONTEXTS) +
			       (walk->next - 1) * CONTEXT_BYTES;
		walk->outer = mw_script_word(walk->outer + STACK_PREVIOUS);
	}
	walk->is_broken = walk->outer != 0;
	return 0;
}

/* Fills in the code of a context's frame. Returns false if it is part of another frame. */
static bool code_of(uintptr_t context, mw_script_frame_t *out) {
	uint8_t type = mw_script_byte(context + CONTEXT_TYPE);
	uintptr_t sub = mw_script_word(context + CONTEXT_SUB);
	if ((type & TYPE_MASK) == SUB)
		out->code = sub > REQUIRE ? sub : NO_SUB;
	else if ((type & TYPE_MASK) == EVAL && !(type & IS_BLOCK))
		out->code = mw_script_word(context + CONTEXT_FILE) ? REQUIRE : EVAL_OF_STRING;
	else
		return false;
	out->ends_run = mw_script_word(context + CONTEXT_RETURN) == 0;
	return true;
}

/* Fills in what follows from the code and the place. */
static bool put_place(mw_script_walk_t *walk, mw_script_frame_t *out) {
	if (!mw_script_is_readable(&walk->memory, walk->place, PLACE_BYTES))
		return false;
	out->position = (int64_t)walk->place;
	out->anchor = 0;
	out->identity = mw_script_hash(file_of(&walk->memory, walk->place)) +
			mw_script_word32(walk->place + PLACE_LINE);
	if (out->code > REQUIRE) {
		if (!body_of(&walk->memory, out->code, CODE, SUB_BYTES))
			return false;
		sub_name_t name = name_of_sub(&walk->memory, out->code);
		out->identity = mw_script_mix(out->identity, mw_script_hash(name.name)) +
				mw_script_hash(name.package);
	}
	out->identity += out->code;
	return true;
}

static bool next(mw_script_walk_t *walk, mw_script_frame_t *out) {
	uintptr_t context;
	if (walk->place == 0)
		return false;
	while ((context = next_context(walk)) != 0) {
		if (!mw_script_is_readable(&walk->memory, context, CONTEXT_BYTES))
			walk->is_broken = true;
		if (walk->is_broken)
			break;
		if (!code_of(context, out))
			continue;
		if (!put_place(walk, out))
			break;
		walk->place = mw_script_word(context + CONTEXT_PLACE);
		return true;
	}
	/* The program itself is the outermost frame. */
	bool is_whole = context == 0 && !walk->is_broken;
	out->code = MAIN;
	out->ends_run = true;
	bool is_main = is_whole && put_place(walk, out);
	walk->is_broken = !is_main;
	walk->place = 0;
	return is_main;
}

static void text(mw_script_walk_t *walk, const mw_script_frame_t *frame,
		 mw_script_question_t question, mw_script_text_t *out) {
	if (question == MW_SCRIPT_FILE) {
		mw_script_put_bytes(out, file_of(&walk->memory, (uintptr_t)frame->position));
		return;
	}
	static const char *const others[] = {
		[MAIN] = "(main)", [EVAL_OF_STRING] = "(eval)", [REQUIRE] = "(require)"};
	if (frame->code <= REQUIRE) {
		mw_script_put_literal(out, others[frame->code]);
		return;
	}
	sub_name_t name = name_of_sub(&walk->memory, frame->code);
	if (name.package.bytes) {
		mw_script_put_bytes(out, name.package);
		mw_script_put_literal(out, "::");
	}
	if (name.name.bytes)
		mw_script_put_bytes(out, name.name);
	else
		mw_script_put_literal(out, "__ANON__");
}

/* Perl does not keep where a sub begins. */
static uint32_t first_line(mw_script_walk_t *walk, const mw_script_frame_t *frame) {
	(void)walk, (void)frame;
	return 0;
}

static uint32_t line(mw_script_walk_t *walk, const mw_script_frame_t *frame) {
	(void)walk;
	return mw_script_word32((uintptr_t)frame->position + PLACE_LINE);
}

const mw_script_reader_t mw_perl_reader = {
	.symbol = "PL_thr_key",
	.loop = &perl.loop,
	.start = start,
	.begin = begin,
	.next = next,
	.text = text,
	.first_line = first_line,
	.line = line,
};
