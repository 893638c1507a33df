/* SPDX-License-Identifier: MIT
 * cpython_layout.c -- offsets of CPython 3.8 to 3.12 by version; 3.13 and later say them in
 * _PyRuntime (Include/internal/pycore_debug_offsets.h of CPython). */
#include "prof/script/cpython_layout.h"

#include <stddef.h>
#include <string.h>

#include "os/platform/loaded_symbol.h"

/* Read in CPython's headers, and compared with the interpreter's own answer on each version
 * (tests/tool/script_frames.sh). */
static const mw_cpython_layout_t layouts[] = {
	{.version = 0x308,
	 .position = MW_CPYTHON_BYTES,
	 .lines = MW_CPYTHON_LNOTAB,
	 .runs = MW_CPYTHON_EACH,
	 .state_frame = 24,
	 .frame_code = 32,
	 .frame_previous = 24,
	 .frame_position = 104,
	 .file = 104,
	 .name = 112,
	 .qualified_name = 112,
	 .first_line = 40,
	 .argument_count = 16,
	 .table = 120,
	 .ascii = 48,
	 .wide = 72},
	{.version = 0x309,
	 .position = MW_CPYTHON_BYTES,
	 .lines = MW_CPYTHON_LNOTAB,
	 .runs = MW_CPYTHON_EACH,
	 .state_frame = 24,
	 .frame_code = 32,
	 .frame_previous = 24,
	 .frame_position = 104,
	 .file = 104,
	 .name = 112,
	 .qualified_name = 112,
	 .first_line = 40,
	 .argument_count = 16,
	 .table = 120,
	 .ascii = 48,
	 .wide = 72},
	{.version = 0x30a,
	 .position = MW_CPYTHON_UNITS,
	 .lines = MW_CPYTHON_LINETABLE,
	 .runs = MW_CPYTHON_EACH,
	 .state_frame = 24,
	 .frame_code = 32,
	 .frame_previous = 24,
	 .frame_position = 96,
	 .file = 104,
	 .name = 112,
	 .qualified_name = 112,
	 .first_line = 40,
	 .argument_count = 16,
	 .table = 120,
	 .ascii = 48,
	 .wide = 72},
	{.version = 0x30b,
	 .position = MW_CPYTHON_POINTER,
	 .lines = MW_CPYTHON_LOCATIONS,
	 .runs = MW_CPYTHON_CFRAME,
	 .has_cframe = 1,
	 .state_frame = 56,
	 .cframe_frame = 8,
	 .cframe_previous = 16,
	 .frame_code = 32,
	 .frame_previous = 48,
	 .frame_position = 56,
	 .frame_entry = 68,
	 .entry_least = 1,
	 .file = 112,
	 .name = 120,
	 .qualified_name = 128,
	 .first_line = 72,
	 .argument_count = 56,
	 .table = 136,
	 .code = 184,
	 .ascii = 48,
	 .wide = 72},
	{.version = 0x30c,
	 .position = MW_CPYTHON_POINTER,
	 .lines = MW_CPYTHON_LOCATIONS,
	 .runs = MW_CPYTHON_OWNER,
	 .has_cframe = 1,
	 .state_frame = 56,
	 .cframe_frame = 0,
	 .cframe_previous = 8,
	 .frame_code = 0,
	 .frame_previous = 8,
	 .frame_position = 56,
	 .frame_entry = 70,
	 .entry_least = 3,
	 .file = 112,
	 .name = 120,
	 .qualified_name = 128,
	 .first_line = 68,
	 .argument_count = 52,
	 .table = 136,
	 .code = 192,
	 .ascii = 40,
	 .wide = 56},
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

static bool read_offsets(const uint64_t *table, uint32_t version, mw_cpython_layout_t *layout) {
	const words_t *words = version >= 0x30e ? &words_of_314 : &words_of_313;
	const uint64_t *state = table + words->thread_state, *frame = table + words->frame;
	const uint64_t *code = table + words->code;
	if (memcmp(table, COOKIE, sizeof COOKIE - 1) != 0 || table[FREE_THREADED] != 0)
		return false;
	const uint64_t found[] = {state[4],
				  frame[1],
				  frame[2],
				  frame[3],
				  frame[5],
				  code[1],
				  code[2],
				  code[3],
				  code[4],
				  code[5],
				  code[6],
				  code[9],
				  table[words->string + STRING_ASCII]};
	for (unsigned i = 0; i < sizeof found / sizeof *found; i++)
		if (found[i] >= OFFSET_MAX)
			return false;
	*layout = (mw_cpython_layout_t){
		.version = (uint16_t)version,
		.position = MW_CPYTHON_POINTER,
		.lines = MW_CPYTHON_LOCATIONS,
		.runs = MW_CPYTHON_OWNER,
		.entry_least = 3,
		.state_frame = (uint16_t)state[4],
		.frame_previous = (uint16_t)frame[1],
		.frame_code = (uint16_t)frame[2],
		.frame_position = (uint16_t)frame[3],
		.frame_entry = (uint16_t)frame[5],
		.file = (uint16_t)code[1],
		.name = (uint16_t)code[2],
		.qualified_name = (uint16_t)code[3],
		.table = (uint16_t)code[4],
		.first_line = (uint16_t)code[5],
		.argument_count = (uint16_t)code[6],
		.code = (uint16_t)code[9],
		.ascii = (uint16_t)table[words->string + STRING_ASCII],
		.wide = (uint16_t)(table[words->string + STRING_ASCII] + 16),
	};
	return true;
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
