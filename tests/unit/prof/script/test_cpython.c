/* SPDX-License-Identifier: MIT
 * test_cpython.c -- the reader of CPython's frames on a made-up interpreter of each version: names
 * and lines; another function at the address of a freed one; and random words as structures, which
 * lead nowhere outside of readable pages. */
#include <sys/mman.h>

#include "made_object.h"
#include "prof/script/reader/cpython_layout.h"
#include "prof/script/reader/cpython_text.h"
#include "prof/script/script.h"
#include "prof/store/store.h"
#include "prof/unwind/place.h"
#include "random_memory.h"
#include "test.h"

enum {
	PAGES = RANDOM_PAGES,
	PAGE = RANDOM_PAGE,
	ROUNDS = 20000 / TEST_SLOWNESS,
	NATIVE = 6,
	ROOM = 40
};
#define MODULE ((uint64_t)7 << MW_FRAME_MODULE_SHIFT)

static const uint32_t versions[] = {0x308, 0x309, 0x30a, 0x30b, 0x30c, 0x30d, 0x30e};
enum { VERSIONS = sizeof versions / sizeof *versions };

/* ---- an object with the symbols of an interpreter ---- */

/* The types lie in a page of their own, because random words are read as structures there. */
static char runtime[1024], *code_type, *string_type;
static unsigned long version_word;
static uintptr_t thread_state;

static uintptr_t this_state(void) {
	return thread_state;
}

/* Writes what 3.13 and later say of themselves: words of groups, as CPython's header has them. */
static void say_offsets(uint32_t version) {
	uint64_t *table = (uint64_t *)(void *)runtime;
	bool is_later = version >= 0x30e;
	unsigned state = is_later ? 22 : 19, frame = state + 9, code = frame + (is_later ? 8 : 6);
	memcpy(table, "xdebugpy", 8);
	table[state + 4] = 72;
	table[frame + 1] = 8;
	table[frame + 2] = 0;
	table[frame + 3] = 56;
	table[frame + 5] = 74;
	for (unsigned i = 1; i <= 4; i++)
		table[code + i] = 104 + 8 * i;
	table[code + 5] = 68;
	table[code + 6] = 52;
	table[code + 9] = 200;
	table[is_later ? 80 : 70] = 40;
}

static void make_object(made_object_t *o, uint32_t version) {
	static const char *const marks[] = {"PyCode_NewWithPosOnlyArgs", "PyFrame_GetBack",
					    "PyModule_AddObjectRef"};
	made_object_begin(o);
	memset(runtime, 0, sizeof runtime);
	made_object_add(o, "_PyRuntime", runtime, sizeof runtime);
	made_object_add(o, "PyGILState_GetThisThreadState", (const void *)(uintptr_t)this_state, 1);
	made_object_add(o, "PyCode_Type", code_type, sizeof code_type);
	made_object_add(o, "PyUnicode_Type", string_type, sizeof string_type);
	for (unsigned i = 0; i < 3; i++)
		if (version >= 0x308 + i)
			made_object_add(o, marks[i], runtime, 1);
	version_word = (unsigned long)version << 16 | 0xf0;
	if (version >= 0x30b)
		made_object_add(o, "Py_Version", &version_word, sizeof version_word);
	if (version >= 0x30d)
		say_offsets(version);
	made_object_finish(o);
}

/* Has the reader read this version from now on. */
static void begin(uint32_t version, mw_cpython_layout_t *layout) {
	static made_object_t interpreter;
	made_object_t *o = &interpreter;
	mw_script_unloaded((uintptr_t)o);
	CHECK(!mw_script_is_on());
	make_object(o, version);
	const mw_script_object_t object = {.link_map = &o->link_map,
					   .start = (uintptr_t)o,
					   .limit = (uintptr_t)(o + 1),
					   .is_permanent = true};
	CHECK(mw_cpython_find_layout(&o->link_map, layout));
	CHECK_EQ(layout->version, version);
	CHECK_EQ(mw_script_recognise(&object), MW_SCRIPT_PYTHON);
	mw_script_start(MW_SCRIPT_PYTHON, &object, MODULE);
	CHECK(mw_script_is_on());
}

static void set(char *at, unsigned offset, uint64_t word) {
	memcpy(at + offset, &word, sizeof word);
}

static void set32(char *at, unsigned offset, uint32_t word) {
	memcpy(at + offset, &word, sizeof word);
}

/* ---- names ---- */

typedef struct world {
	_Alignas(16) char state[128], cframe[64], entry[128], frames[2][128], code[256];
	char name[128], file[128], table[64];
} world_t;

static void make_string(const mw_cpython_layout_t *layout, char *at, const char *text) {
	memset(at, 0, 128);
	set(at, MW_CPYTHON_TYPE, (uintptr_t)string_type);
	set(at, MW_CPYTHON_LENGTH, strlen(text));
	set(at, MW_CPYTHON_HASH, strlen(text) * 77 + (unsigned char)text[0]);
	/* One byte a character, compact, ASCII. */
	set32(at, MW_CPYTHON_STATE, layout->version >= 0x30e ? 0x19u << 16 : 0x19u << 2);
	strcpy(at + layout->ascii, text);
}

/* A function of which two frames run, the inner one called by the outer one. */
static void make_world(world_t *w, const mw_cpython_layout_t *layout) {
	memset(w, 0, sizeof *w);
	make_string(layout, w->name, "Store.fill");
	make_string(layout, w->file, "/srv/app.py");
	set(w->table, MW_CPYTHON_LENGTH, 4);
	set(w->code, MW_CPYTHON_TYPE, (uintptr_t)code_type);
	set(w->code, layout->file, (uintptr_t)w->file);
	set(w->code, layout->name, (uintptr_t)w->name);
	set(w->code, layout->qualified_name, (uintptr_t)w->name);
	set(w->code, layout->table, (uintptr_t)w->table);
	set32(w->code, layout->first_line, 12);
	for (unsigned i = 0; i < 2; i++) {
		set(w->frames[i], layout->frame_code, (uintptr_t)w->code);
		set(w->frames[i], layout->frame_previous,
		    i == 0                             ? (uintptr_t)w->frames[1]
		    : layout->runs == MW_CPYTHON_OWNER ? (uintptr_t)w->entry
						       : 0);
		if (layout->position == MW_CPYTHON_POINTER)
			set(w->frames[i], layout->frame_position,
			    (uintptr_t)w->code + layout->code - 2);
		else
			set32(w->frames[i], layout->frame_position, UINT32_MAX);
	}
	if (layout->runs != MW_CPYTHON_EACH)
		(layout->runs == MW_CPYTHON_OWNER ? w->entry : w->frames[1])[layout->frame_entry] =
			(char)layout->entry_least;
	set(w->cframe, layout->cframe_frame, (uintptr_t)w->frames[0]);
	set(w->state, layout->state_frame,
	    layout->has_cframe ? (uintptr_t)w->cframe : (uintptr_t)w->frames[0]);
	thread_state = (uintptr_t)w->state;
}

static const char *text_of(uint32_t number) {
	static char text[MW_TEXT_BYTES_MAX + 1];
	uint64_t bytes = *(uint64_t *)mw_store_private(MW_SECTION_TEXTS, number + 1);
	CHECK(bytes <= MW_TEXT_BYTES_MAX);
	for (uint64_t i = 0; i < (bytes + 7) / 8; i++)
		memcpy(text + 8 * i, mw_store_private(MW_SECTION_TEXTS, number + 2 + i), 8);
	text[bytes] = '\0';
	return text;
}

static void check_function(uint64_t frame, const char *name, const char *file) {
	CHECK_EQ(frame & ~MW_FRAME_ADDRESS_MASK, MW_FRAME_EXACT | MODULE);
	CHECK_EQ(frame & MW_SCRIPT_LINE_MAX, 12);
	uint64_t number = (frame & MW_FRAME_ADDRESS_MASK) >> MW_SCRIPT_LINE_BITS;
	const mw_state_function_t *function = mw_store_private(MW_SECTION_FUNCTIONS, number);
	CHECK_STR(text_of(function->name), name);
	CHECK_STR(text_of(function->file), file);
	CHECK_EQ(function->first_line, 12);
}

/* The stack: native frame 1 of 3 is that of the loop, where the world's records lie. */
static mw_script_stack_t merged(uint64_t *frames, const world_t *w) {
	uint32_t places[3] = {MW_UNWIND_PLACE(w) - 100, MW_UNWIND_PLACE(w), MW_UNWIND_PLACE(w + 1)};
	mw_script_stack_t stack = {.frames = frames, .places = places, .depth = 3, .max = ROOM};
	for (unsigned i = 0; i < 3; i++)
		frames[i] = 1000 + i;
	mw_script_merge(&stack);
	return stack;
}

static void check_names(uint32_t version) {
	static world_t world;
	mw_cpython_layout_t layout;
	uint64_t frames[ROOM];
	begin(version, &layout);
	make_world(&world, &layout);
	mw_script_sum_t sum = mw_script_sum();
	CHECK_EQ(sum.count, 2);
	CHECK(sum.key != 0);
	mw_script_stack_t stack = merged(frames, &world);
	CHECK_EQ(stack.depth, 5);
	CHECK(!stack.truncated);
	/* Without the loop's symbol, frames that have a run each are known to be further out. */
	unsigned first = layout.runs == MW_CPYTHON_EACH ? 3 : 2;
	CHECK_EQ(frames[1], 1001);
	check_function(frames[first], "Store.fill", "/srv/app.py");
	check_function(frames[first + 1], "Store.fill", "/srv/app.py");
	CHECK_EQ(frames[layout.runs == MW_CPYTHON_EACH ? 2 : 4], 1002);
	/* The code object is freed, and another function has its address, with texts at theirs. */
	make_string(&layout, world.name, "Store.take");
	make_string(&layout, world.file, "/srv/all.py");
	set(world.name, MW_CPYTHON_HASH, 5);
	CHECK(mw_script_sum().key != sum.key);
	merged(frames, &world);
	check_function(frames[first], "Store.take", "/srv/all.py");
	/* Something that is no code object. */
	set(world.code, MW_CPYTHON_TYPE, (uintptr_t)string_type);
	CHECK_EQ(mw_script_sum().count, 0);
	CHECK_EQ(mw_script_sum().key, 0);
	stack = merged(frames, &world);
	CHECK_EQ(stack.depth, 3);
	CHECK(stack.truncated);
	/* A thread that never ran Python, or an interpreter that ends. */
	thread_state = 0;
	CHECK_EQ(mw_script_sum().key, 0);
}

/* ---- a full array ---- */

static void check_room(uint32_t version) {
	static world_t world;
	mw_cpython_layout_t layout;
	begin(version, &layout);
	make_world(&world, &layout);
	for (unsigned max = 3; max <= 5; max++) {
		uint64_t frames[5] = {1000, 1001, 1002};
		uint32_t places[3] = {MW_UNWIND_PLACE(&world) - 100, MW_UNWIND_PLACE(&world),
				      MW_UNWIND_PLACE(&world + 1)};
		mw_script_stack_t stack = {
			.frames = frames, .places = places, .depth = 3, .max = max};
		mw_script_merge(&stack);
		CHECK_EQ(stack.depth, max);
		CHECK_EQ(stack.truncated, max < 5);
		CHECK_EQ(frames[1], 1001);
		/* Frames that have a run each come last here, and the native ones stay. */
		bool is_each = layout.runs == MW_CPYTHON_EACH;
		CHECK(is_each || max < 5 || frames[4] == 1002);
		CHECK(is_each ? frames[2] == 1002 : frames[2] >> 63 == 1);
	}
}

/* ---- lines ---- */

static uint32_t line_in(unsigned lines, const void *table, size_t bytes, int64_t position) {
	_Alignas(16) static char object[256];
	mw_script_memory_t pages;
	const mw_cpython_layout_t layout = {.lines = (uint8_t)lines};
	memset(object, 0, sizeof object);
	set(object, MW_CPYTHON_LENGTH, bytes);
	memcpy(object + MW_CPYTHON_BYTES_DATA, table, bytes);
	mw_script_memory_begin(&pages);
	return mw_cpython_line(&pages, &layout, (uintptr_t)object, 10, position);
}

static void check_lines(void) {
	/* 4 bytes of line 10, 6 of 12, then 11. */
	static const signed char lnotab[] = {4, 2, 6, -1};
	CHECK_EQ(line_in(MW_CPYTHON_LNOTAB, lnotab, 4, 3), 10);
	CHECK_EQ(line_in(MW_CPYTHON_LNOTAB, lnotab, 4, 4), 12);
	CHECK_EQ(line_in(MW_CPYTHON_LNOTAB, lnotab, 4, 9), 12);
	CHECK_EQ(line_in(MW_CPYTHON_LNOTAB, lnotab, 4, 10), 11);
	CHECK_EQ(line_in(MW_CPYTHON_LNOTAB, lnotab, 3, 10), 12); /* cut */
	/* 4 bytes of line 11, 2 of none, 2 of line 9. */
	static const signed char linetable[] = {4, 1, 2, -128, 2, -2};
	CHECK_EQ(line_in(MW_CPYTHON_LINETABLE, linetable, 6, 1), 11);
	CHECK_EQ(line_in(MW_CPYTHON_LINETABLE, linetable, 6, 2), 0);
	CHECK_EQ(line_in(MW_CPYTHON_LINETABLE, linetable, 6, 3), 9);
	/* Two units in each: short form; one line further; -3 lines; none; 64 lines, long form. */
	static const uint8_t locations[] = {0x81, 5,    0xd9, 1, 2, 0xe9, 7,
					    0xf9, 0xf1, 0x40, 2, 0, 0,    0};
	CHECK_EQ(line_in(MW_CPYTHON_LOCATIONS, locations, sizeof locations, -1), 10);
	CHECK_EQ(line_in(MW_CPYTHON_LOCATIONS, locations, sizeof locations, 1), 10);
	CHECK_EQ(line_in(MW_CPYTHON_LOCATIONS, locations, sizeof locations, 2), 11);
	CHECK_EQ(line_in(MW_CPYTHON_LOCATIONS, locations, sizeof locations, 5), 8);
	CHECK_EQ(line_in(MW_CPYTHON_LOCATIONS, locations, sizeof locations, 6), 0);
	CHECK_EQ(line_in(MW_CPYTHON_LOCATIONS, locations, sizeof locations, 8), 72);
}

/* ---- random words ---- */

static random_memory_t memory;

static unsigned pick(unsigned count) {
	return random_pick(&memory, count);
}

/* A code object and strings now and then, so that walks get far. */
static void plant(const mw_cpython_layout_t *layout) {
	uintptr_t string = (uintptr_t)memory.pages + PAGE * 2 - 64,
		  code = (uintptr_t)memory.pages + PAGE * 5;
	code -= 16 * pick(20);
	set((char *)string, MW_CPYTHON_TYPE, (uintptr_t)string_type);
	set((char *)string, MW_CPYTHON_LENGTH, pick(3000));
	set32((char *)string, MW_CPYTHON_STATE, 0x19u << 2);
	set((char *)code, MW_CPYTHON_TYPE, (uintptr_t)code_type);
	set((char *)code, layout->file, string);
	set((char *)code, layout->name, string);
	if (pick(2))
		set((char *)code, layout->name, string - 16);
	for (unsigned i = 0; i < 200; i++) {
		char *frame = memory.pages + PAGE * 4 + 96 * pick(30);
		set(frame, layout->frame_code, code);
		set(frame, layout->frame_previous,
		    (uintptr_t)memory.pages + PAGE * 4 + 96 * pick(30));
		if (layout->runs != MW_CPYTHON_EACH)
			frame[layout->frame_entry] = (char)pick(5);
	}
	thread_state = (uintptr_t)memory.pages + PAGE * 6 + 512;
	uintptr_t cframe = thread_state + 512, first = (uintptr_t)memory.pages + PAGE * 4;
	set((char *)cframe, layout->cframe_frame, first);
	set((char *)thread_state, layout->state_frame, layout->has_cframe ? cframe : first);
}

static void check_random(uint32_t version) {
	mw_cpython_layout_t layout;
	unsigned found = 0;
	begin(version, &layout);
	for (unsigned round = 0; round < ROUNDS; round++) {
		random_memory_fill(&memory);
		thread_state = random_word(&memory);
		if (pick(2))
			plant(&layout);
		uint64_t frames[ROOM];
		uint32_t places[NATIVE];
		for (unsigned i = 0; i < NATIVE; i++) {
			places[i] = MW_UNWIND_PLACE(memory.pages) + i * (PAGES * PAGE / 8 / NATIVE);
			frames[i] = i;
		}
		mw_script_stack_t stack = {
			.frames = frames, .places = places, .depth = NATIVE, .max = ROOM};
		mw_script_sum_t sum = mw_script_sum();
		CHECK(sum.count <= MW_STATE_DEPTH_MAX);
		CHECK_EQ(sum.key == 0, sum.count == 0);
		mw_script_merge(&stack);
		CHECK(stack.depth >= NATIVE && stack.depth <= ROOM);
		CHECK(stack.depth == NATIVE + sum.count || stack.truncated);
		found += sum.count;
	}
	CHECK(found > ROUNDS / 10);
}

int main(void) {
	CHECK(mw_store_start());
	code_type = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(code_type != MAP_FAILED);
	string_type = code_type + 1024;
	random_memory_start(&memory, 7);
	memory.special[0] = memory.special[1] = (uintptr_t)code_type;
	memory.special[2] = memory.special[3] = (uintptr_t)string_type;
	check_lines();
	puts("ok lines");
	for (unsigned i = 0; i < VERSIONS; i++) {
		check_names(versions[i]);
		check_room(versions[i]);
		check_random(versions[i]);
		printf("ok 3.%u\n", versions[i] & 0xff);
	}
	return 0;
}
