/* SPDX-License-Identifier: MIT
 * php.c -- the chain of calls of PHP (NTS builds: those with one thread).
 *
 * A run of the loop, execute_ex, has all functions of scripts that they call; the outermost one is
 * marked ZEND_CALL_TOP. Functions of extensions are calls, too: they have a name, and no file. */
#include <stdatomic.h>
#include <stddef.h>

#include "base/libc_text.h"
#include "prof/script/reader/script_reader.h"

/* What versions have in common: offsets in executor_globals, zend_execute_data, zend_function,
 * zend_op and zend_string. */
enum {
	INNERMOST_CALL = 488, /* in executor_globals */
	CALL_OPLINE = 0,
	CALL_FUNCTION = 24,
	CALL_INFO = 40,
	CALL_PREVIOUS = 48,
	CALL_BYTES = 56,
	CALL_TOP = 1 << 17, /* ZEND_CALL_TOP of the info */
	FUNCTION_NAME = 8,
	FUNCTION_CLASS = 16,
	FUNCTION_COMMON_BYTES = 24,
	CLASS_NAME = 8,
	OP_LINE = 24,
	STRING_BYTES = 16,
	STRING_TEXT = 24,
};
/* Types of functions. */
enum { INTERNAL = 1, USER = 2, EVAL = 4 };

typedef struct layout {
	char minor;                /* of the version of Zend Engine 4, which is the one of PHP 8 */
	uint16_t file, first_line; /* in a zend_function of a script */
} layout_t;

static const layout_t layouts[] = {
	{.minor = '2', .file = 152, .first_line = 160},
	{.minor = '4', .file = 168, .first_line = 176},
};

static struct {
	uintptr_t globals;
	const char *(*version)(void);
	mw_os_symbol_t loop;
	_Atomic(const layout_t *) layout; /* NULL: not known yet */
} php;

/* Returns false in the builds that have threads: they lack the symbol. */
static bool start(const struct link_map *object) {
	uintptr_t version = mw_os_find_symbol_of(object, "get_zend_version").start;
	php.globals = mw_os_find_symbol_of(object, "executor_globals").start;
	php.loop = mw_os_find_symbol_of(object, "execute_ex");
	php.version = (const char *(*)(void))version;
	return version && php.globals && php.loop.start;
}

/* The interpreter sets its version, "Zend Engine v4.2.0, ...", when it starts. */
static MW_NOINLINE const layout_t *find_layout(mw_script_memory_t *memory) {
	static const char head[] = "Zend Engine v4.";
	uintptr_t text = (uintptr_t)php.version();
	mw_script_bytes_t version = mw_script_until_nul(memory, text);
	if (version.bytes < sizeof head + 2 ||
	    mw_strncmp((const char *)text, head, sizeof head - 1))
		return NULL;
	char minor = (char)mw_script_byte(text + sizeof head - 1);
	if (mw_script_byte(text + sizeof head) != '.')
		return NULL;
	for (unsigned i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

static void begin(mw_script_walk_t *walk) {
	const layout_t *layout = atomic_load_explicit(&php.layout, memory_order_relaxed);
	if (!layout) {
		layout = find_layout(&walk->memory);
		if (!layout)
			return;
		atomic_store_explicit(&php.layout, layout, memory_order_relaxed);
	}
	walk->outer = (uintptr_t)layout;
	walk->next = mw_script_word(php.globals + INNERMOST_CALL);
}

static const layout_t *layout_of(const mw_script_walk_t *walk) {
	return (const layout_t *)walk->outer;
}

static uint8_t type_of(uintptr_t function) {
	return mw_script_byte(function);
}

static bool is_script(uintptr_t function) {
	return type_of(function) == USER || type_of(function) == EVAL;
}

/* Returns the text of a zend_string; none: there is no string. */
static mw_script_bytes_t string_at(mw_script_memory_t *memory, uintptr_t string) {
	if (!string || !mw_script_is_readable(memory, string, STRING_TEXT))
		return (mw_script_bytes_t){.bytes = 0};
	return mw_script_bytes_at(memory, string + STRING_TEXT,
				  mw_script_word(string + STRING_BYTES));
}

static mw_script_bytes_t name_of(mw_script_memory_t *memory, uintptr_t function) {
	return string_at(memory, mw_script_word(function + FUNCTION_NAME));
}

static mw_script_bytes_t class_of(mw_script_memory_t *memory, uintptr_t function) {
	uintptr_t class = mw_script_word(function + FUNCTION_CLASS);
	if (!class || !mw_script_is_readable(memory, class + CLASS_NAME, sizeof(uintptr_t)))
		return (mw_script_bytes_t){.bytes = 0};
	return string_at(memory, mw_script_word(class + CLASS_NAME));
}

static mw_script_bytes_t file_of(mw_script_walk_t *walk, uintptr_t function) {
	return string_at(&walk->memory, mw_script_word(function + layout_of(walk)->file));
}

/* Functions of scripts are freed, and their addresses used again. Returns 0 if it is no function.
 */
static uint64_t identify(mw_script_walk_t *walk, uintptr_t function) {
	mw_script_memory_t *memory = &walk->memory;
	if (!mw_script_is_readable(memory, function, FUNCTION_COMMON_BYTES))
		return 0;
	uint64_t identity = function + mw_script_mix(mw_script_hash(name_of(memory, function)),
						     mw_script_hash(class_of(memory, function)));
	if (is_script(function)) {
		const layout_t *at = layout_of(walk);
		if (!mw_script_is_readable(memory, function, at->first_line + 8u) ||
		    file_of(walk, function).bytes == 0)
			return 0;
		identity = mw_script_mix(identity, mw_script_hash(file_of(walk, function))) +
			   mw_script_word32(function + at->first_line);
	} else if (type_of(function) != INTERNAL)
		return 0;
	return identity ? identity : 1;
}

/* Returns the line of the call that has been made last; 0: it is a function of an extension, or
 * has not begun. */
static int64_t line_of(mw_script_walk_t *walk, uintptr_t call, uintptr_t function) {
	uintptr_t opline = mw_script_word(call + CALL_OPLINE);
	if (!is_script(function) || !opline ||
	    !mw_script_is_readable(&walk->memory, opline + OP_LINE, sizeof(uint32_t)))
		return 0;
	return mw_script_word32(opline + OP_LINE);
}

static bool next(mw_script_walk_t *walk, mw_script_frame_t *out) {
	while (walk->next && walk->left > 0) {
		uintptr_t call = walk->next;
		if (!mw_script_is_readable(&walk->memory, call, CALL_BYTES))
			break;
		walk->left--;
		walk->next = mw_script_word(call + CALL_PREVIOUS);
		out->code = mw_script_word(call + CALL_FUNCTION);
		if (!out->code) /* a place for calls that the interpreter itself makes */
			continue;
		out->identity = identify(walk, out->code);
		if (!out->identity)
			break;
		out->position = line_of(walk, call, out->code);
		out->anchor = 0;
		/* A function of an extension has no loop of its own. */
		out->ends_run = is_script(out->code) &&
				(mw_script_word32(call + CALL_INFO) & CALL_TOP) != 0;
		return true;
	}
	walk->is_broken = walk->next != 0;
	walk->next = 0;
	return false;
}

static void text(mw_script_walk_t *walk, const mw_script_frame_t *frame,
		 mw_script_question_t question, mw_script_text_t *out) {
	if (question == MW_SCRIPT_FILE) {
		if (is_script(frame->code))
			mw_script_put_bytes(out, file_of(walk, frame->code));
		return;
	}
	mw_script_bytes_t name = name_of(&walk->memory, frame->code);
	mw_script_bytes_t class = class_of(&walk->memory, frame->code);
	if (class.bytes) {
		mw_script_put_bytes(out, class);
		mw_script_put_literal(out, "::");
	}
	if (name.bytes)
		mw_script_put_bytes(out, name);
	else
		mw_script_put_literal(out, "{main}");
}

static uint32_t first_line(mw_script_walk_t *walk, const mw_script_frame_t *frame) {
	return is_script(frame->code) ? mw_script_word32(frame->code + layout_of(walk)->first_line)
				      : 0;
}

static uint32_t line(mw_script_walk_t *walk, const mw_script_frame_t *frame) {
	(void)walk;
	return (uint32_t)frame->position;
}

const mw_script_reader_t mw_php_reader = {
	.symbol = "executor_globals",
	.loop = &php.loop,
	.start = start,
	.begin = begin,
	.next = next,
	.text = text,
	.first_line = first_line,
	.line = line,
};
