/* SPDX-License-Identifier: MIT
 * script_names.c -- a cache of frames, and the indexes of functions and texts behind it. */
#include "prof/script/script_names.h"

#include <stdatomic.h>
#include <string.h>

#include "prof/store/index.h"
#include "prof/store/store.h"

static struct {
	mw_index_t functions, texts;
	_Atomic bool is_started;
} names MW_SPARSE;

/* ---- texts ---- */

/* A text that is looked for. */
typedef struct text_key {
	const mw_script_text_t *text;
	uint64_t hash;
} text_key_t;

static uint64_t hash_of_text(const mw_script_text_t *text) {
	return mw_script_hash((mw_script_bytes_t){(uintptr_t)text->text, text->bytes});
}

static bool is_text(const void *thing, uint32_t number) {
	const text_key_t *key = thing;
	return *(const uint64_t *)mw_store_private(MW_SECTION_TEXTS, number) == key->hash;
}

static void set_text_word(uint64_t number, uint64_t word) {
	mw_both_set64(mw_store_both(MW_SECTION_TEXTS, number), 0, word);
}

static uint32_t append_text(const void *thing) {
	const text_key_t *key = thing;
	unsigned bytes = key->text->bytes, words = (bytes + 7) / 8;
	uint64_t first = mw_store_take(MW_SECTION_TEXTS, MW_TEXT_HEAD_ENTRIES + words);
	if (first == MW_STORE_NO_ENTRY)
		return 0;
	set_text_word(first, key->hash);
	set_text_word(first + 1, bytes);
	for (unsigned i = 0; i < words; i++) {
		uint64_t word = 0;
		unsigned left = bytes - 8 * i;
		memcpy(&word, key->text->text + 8 * i, left < 8 ? left : 8);
		set_text_word(first + MW_TEXT_HEAD_ENTRIES + i, word);
	}
	return (uint32_t)first;
}

/* Returns the number of what the reader answers; 0: it is not known, or there is no room. */
static MW_NOINLINE uint32_t find_text(const mw_script_names_t *of, mw_script_walk_t *walk,
				      const mw_script_frame_t *frame,
				      mw_script_question_t question) {
	const mw_index_kind_t kind = {is_text, append_text};
	mw_script_text_t text;
	text.bytes = 0;
	of->reader->text(walk, frame, question, &text);
	if (text.bytes == 0)
		return 0;
	const text_key_t key = {.text = &text, .hash = hash_of_text(&text)};
	return mw_index_find(&names.texts, key.hash, &key, kind);
}

/* ---- functions ---- */

static bool is_function(const void *thing, uint32_t number) {
	const mw_state_function_t *key = thing;
	const mw_state_function_t *entry = mw_store_private(MW_SECTION_FUNCTIONS, number);
	return entry->hash == key->hash;
}

static uint32_t append_function(const void *thing) {
	uint64_t number = mw_store_take(MW_SECTION_FUNCTIONS, 1);
	if (number == MW_STORE_NO_ENTRY)
		return 0;
	mw_both_copy(mw_store_both(MW_SECTION_FUNCTIONS, number), thing,
		     sizeof(mw_state_function_t));
	return (uint32_t)number;
}

static uint32_t find_function(const mw_script_names_t *of, mw_script_walk_t *walk,
			      const mw_script_frame_t *frame) {
	const mw_index_kind_t kind = {is_function, append_function};
	mw_state_function_t function = {
		.file = find_text(of, walk, frame, MW_SCRIPT_FILE),
		.name = find_text(of, walk, frame, MW_SCRIPT_NAME),
		.first_line = of->reader->first_line(walk, frame),
		.kind = of->kind,
	};
	uint64_t texts = (uint64_t)function.file << 32 | function.name;
	uint64_t rest = (uint64_t)function.kind << 32 | function.first_line;
	function.hash = mw_script_mix(texts, rest);
	if (function.hash == 0)
		function.hash = 1;
	return mw_index_find(&names.functions, function.hash, &function, kind);
}

/* ---- frames ---- */

/* Frames of code objects and positions, newest last. check: the key, mixed with the frame, so that
 * a reader that sees two writers' halves takes neither. Both 0: none. */
#define KNOWN_LOG2 12u
static struct known_frame { _Atomic uint64_t check, frame; } known[1u << KNOWN_LOG2] MW_SPARSE;

uint64_t mw_script_frame_word(const mw_script_names_t *of, mw_script_walk_t *walk,
			      const mw_script_frame_t *frame) {
	uint64_t key = mw_script_mix(frame->identity, (uint64_t)frame->position);
	struct known_frame *entry = &known[key >> (64 - KNOWN_LOG2)];
	uint64_t word = atomic_load_explicit(&entry->frame, memory_order_relaxed);
	if (MW_LIKELY(word != 0) &&
	    (atomic_load_explicit(&entry->check, memory_order_relaxed) ^ word) == key)
		return word;
	uint32_t line = of->reader->line(walk, frame);
	uint64_t function = find_function(of, walk, frame);
	word = MW_FRAME_EXACT | of->module | function << MW_SCRIPT_LINE_BITS |
	       (line <= MW_SCRIPT_LINE_MAX ? line : 0);
	/* Not kept without its function: the tables may grow later. */
	if (function != 0) {
		atomic_store_explicit(&entry->frame, word, memory_order_relaxed);
		atomic_store_explicit(&entry->check, key ^ word, memory_order_relaxed);
	}
	return word;
}

void mw_script_names_start(void) {
	if (atomic_exchange_explicit(&names.is_started, true, memory_order_relaxed))
		return;
	const mw_state_section_t *sections = mw_store_header()->sections;
	mw_index_start(&names.functions, sections[MW_SECTION_FUNCTIONS].capacity);
	mw_index_start(&names.texts, sections[MW_SECTION_TEXTS].capacity);
	/* Entry 0 means "not known". Without it there is no room for others. */
	mw_store_take(MW_SECTION_FUNCTIONS, 1);
	mw_store_take(MW_SECTION_TEXTS, 1);
}

void mw_script_names_visit(void (*see)(uintptr_t start, uintptr_t limit)) {
	mw_index_visit(&names.functions, see);
	mw_index_visit(&names.texts, see);
}
