/* SPDX-License-Identifier: MIT
 * cpython_layout.c -- offsets of CPython 3.8 to 3.12 by version; 3.13 and later say them in
 * _PyRuntime (Include/internal/pycore_debug_offsets.h of CPython). */
#include "prof/script/reader/cpython_layout.h"

#include <stddef.h>
#include <string.h>

#include "os/platform/loaded_symbol.h"

/* The members that the layouts of 3.8 to 3.10 share, and those of 3.11 and 3.12. */
#define UP_TO_310                                                                                  \
	.runs = MW_CPYTHON_EACH, .state_frame = 24, .frame_code = 32, .frame_previous = 24,        \
	.file = 104, .name = 112, .qualified_name = 112, .first_line = 40, .argument_count = 16,   \
	.table = 120, .ascii = 48, .wide = 72
#define SINCE_311                                                                                  \
	.position = MW_CPYTHON_POINTER, .lines = MW_CPYTHON_LOCATIONS, .has_cframe = 1,            \
	.state_frame = 56, .frame_position = 56, .file = 112, .name = 120, .qualified_name = 128,  \
	.table = 136

/* Read in CPython's headers, and compared with the interpreter's own answer on each version
 * (tests/tool/script_frames.sh). */
static const mw_cpython_layout_t layouts[] = {
	{.version = 0x308,
	 .position = MW_CPYTHON_BYTES,
	 .lines = MW_CPYTHON_LNOTAB,
	 .frame_position = 104,
	 UP_TO_310},
	{.version = 0x309,
	 .position = MW_CPYTHON_BYTES,
	 .lines = MW_CPYTHON_LNOTAB,
	 .frame_position = 104,
	 UP_TO_310},
	{.version = 0x30a,
	 .position = MW_CPYTHON_UNITS,
	 .lines = MW_CPYTHON_LINETABLE,
	 .frame_position = 96,
	 UP_TO_310},
	{.version = 0x30b,
	 .runs = MW_CPYTHON_CFRAME,
	 .cframe_frame = 8,
	 .cframe_previous = 16,
	 .frame_code = 32,
	 .frame_previous = 48,
	 .frame_entry = 68,
	 .entry_least = 1,
	 .first_line = 72,
	 .argument_count = 56,
	 .code = 184,
	 .ascii = 48,
	 .wide = 72,
	 SINCE_311},
	{.version = 0x30c,
	 .runs = MW_CPYTHON_OWNER,
	 .cframe_frame = 0,
	 .cframe_previous = 8,
	 .frame_code = 0,
	 .frame_previous = 8,
	 .frame_entry = 70,
	 .entry_least = 3,
	 .first_line = 68,
	 .argument_count = 52,
	 .code = 192,
	 .ascii = 40,
	 .wide = 56,
	 SINCE_311},
};

/* Symbols that a version was the first to define, for versions without Py_Version. */
static const struct first_symbol {
	uint16_t version;
	char name[30];
} first_symbols[] = {
	{0x30a, "PyModule_AddObjectRef"},
	{0x309, "PyFrame_GetBack"},
	{0x308, "PyCode_NewWithPosOnlyArgs"},
};

static uint32_t version_of(const struct link_map *object) {
	mw_os_symbol_t version = mw_os_find_symbol_of(object, "Py_Version");
	if (version.start)
		return (uint32_t)(*(const unsigned long *)version.start >> 16);
	for (unsigned i = 0; i < sizeof first_symbols / sizeof *first_symbols; i++)
		if (mw_os_find_symbol_of(object, first_symbols[i].name).start)
			return first_symbols[i].version;
	return 0;
}

/* Words of the debug offsets of 3.13, and of 3.14, which has more of some groups. A group begins
 * with the size of its structure. */
#define COOKIE "xdebugpy"
typedef struct words {
	uint8_t thread_state, frame, code, string;
} words_t;
enum { FREE_THREADED = 2, STRING_ASCII = 3 };
static const words_t words_of_313 = {.thread_state = 19, .frame = 28, .code = 34, .string = 67};
static const words_t words_of_314 = {.thread_state = 22, .frame = 31, .code = 39, .string = 77};
/* No structure that is read has more bytes. */
#define OFFSET_MAX 1024u

/* Returns an offset of the table. *are_small becomes false if it is too large to be one. */
static uint16_t small(uint64_t offset, bool *are_small) {
	*are_small &= offset < OFFSET_MAX;
	return (uint16_t)offset;
}

static bool read_offsets(const uint64_t *table, uint32_t version, mw_cpython_layout_t *layout) {
	const words_t *words = version >= 0x30e ? &words_of_314 : &words_of_313;
	const uint64_t *state = table + words->thread_state, *frame = table + words->frame;
	const uint64_t *code = table + words->code, *string = table + words->string;
	bool are_small = true;
	if (memcmp(table, COOKIE, sizeof COOKIE - 1) != 0 || table[FREE_THREADED] != 0)
		return false;
	const mw_cpython_layout_t found = {
		.version = (uint16_t)version,
		.position = MW_CPYTHON_POINTER,
		.lines = MW_CPYTHON_LOCATIONS,
		.runs = MW_CPYTHON_OWNER,
		.entry_least = 3,
		.state_frame = small(state[4], &are_small),
		.frame_previous = small(frame[1], &are_small),
		.frame_code = small(frame[2], &are_small),
		.frame_position = small(frame[3], &are_small),
		.frame_entry = small(frame[5], &are_small),
		.file = small(code[1], &are_small),
		.name = small(code[2], &are_small),
		.qualified_name = small(code[3], &are_small),
		.table = small(code[4], &are_small),
		.first_line = small(code[5], &are_small),
		.argument_count = small(code[6], &are_small),
		.code = small(code[9], &are_small),
		.ascii = small(string[STRING_ASCII], &are_small),
		.wide = (uint16_t)(string[STRING_ASCII] + 16),
	};
	if (are_small)
		*layout = found;
	return are_small;
}

bool mw_cpython_find_layout(const struct link_map *object, mw_cpython_layout_t *layout) {
	uint32_t version = version_of(object);
	mw_os_symbol_t runtime = mw_os_find_symbol_of(object, "_PyRuntime");
	if (version == 0x30d || version == 0x30e)
		return runtime.bytes >= sizeof(uint64_t) * 96 &&
		       read_offsets((const uint64_t *)runtime.start, version, layout);
	for (unsigned i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (layouts[i].version == version) {
			*layout = layouts[i];
			return true;
		}
	return false;
}
