/* SPDX-License-Identifier: MIT
 * test_interpreters.c -- which frames of interpreters are left out of stacks. */
#include "made_profile.h"
#include "view/select/wrappers.h"

static mw_error_t error;

static uint32_t frame(mw_profile_t *p, const char *path, const char *name) {
	static uint64_t address = 0x1000;
	mw_mapping_t mapping = {.path = mw_profile_intern(p, path), .has_functions = true};
	uint32_t number = *path != '\0' ? mw_profile_add_mapping(p, &mapping) : 0;
	uint32_t location = mw_profile_add_location(p, number, address += 16, false);
	mw_function_t function = {.name = mw_profile_intern(p, name)};
	mw_line_t line = {.function = mw_profile_add_function(p, &function)};
	if (*name != '\0')
		mw_profile_set_lines(p, location, &line, 1);
	return location;
}

typedef struct made_frame {
	const char *path, *name;
} made_frame_t;

/* The names of the frames that are left, the leaf first. */
static void check_left(const made_frame_t *frames, size_t count, const char *kept,
		       const char *expected) {
	uint32_t locations[16];
	mw_pattern_t *pattern;
	char left[500] = "";
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "space", "bytes");
	for (size_t i = 0; i < count; i++)
		locations[i] = frame(p, frames[i].path, frames[i].name);
	mw_profile_add_sample(p, locations, count, (const int64_t[]){1}, NULL, 0);
	CHECK_EQ(mw_pattern_make("list", kept, &pattern, &error), 0);
	mw_interpreters_fold(p, pattern);
	mw_pattern_free(pattern);
	for (uint32_t i = 0; i < p->samples[0].depth; i++) {
		const mw_location_t *l = &p->locations[p->frames[p->samples[0].frame_first + i]];
		const mw_line_t *line = mw_location_line(p, l, 0);
		strcat(left, i > 0 ? " " : "");
		strcat(left, line != NULL ? mw_profile_string(p, p->functions[line->function].name)
					  : "?");
	}
	CHECK_STR(left, expected);
	mw_profile_free(p);
}
#define CHECK_LEFT(frames, kept, expected)                                                         \
	check_left(frames, sizeof(frames) / sizeof((frames)[0]), kept, expected)

static void frames_of_the_interpreter_are_left_out(void) {
	const made_frame_t python[] = {
		{"/usr/lib/libpython3.11.so.1.0", "PyUnicode_New"},
		{"/lib/libc.so.6", "qsort"},
		{"/srv/_json.cpython-311.so", "scan"},
		{"/usr/lib/libpython3.11.so.1.0", "_PyEval_EvalFrameDefault"},
		{"[python]", "decode"},
		{"", ""},
		{"", "Builtin:Call"},
		{"[python]", "main"},
		{"/usr/bin/python3.11", "_PyEval_EvalFrameDefault"},
		{"/lib/libc.so.6", "__libc_start_main"},
		{"", "[truncated]"},
	};
	CHECK_LEFT(python, NULL, "qsort scan decode main [truncated]");
	CHECK_LEFT(python, "^PyUni", "PyUnicode_New qsort scan decode main [truncated]");
	const made_frame_t java[] = {{"/usr/lib/libzip.so", "deflateInit"},
				     {"[java]", "int Main.pack(byte[])"},
				     {"", "Interpreter"},
				     {"/usr/lib/jvm/lib/server/libjvm.so", "JavaCalls::call"},
				     {"/usr/lib/jvm/lib/libjli.so", "JavaMain"}};
	CHECK_LEFT(java, NULL, "deflateInit int Main.pack(byte[])");
	const made_frame_t node[] = {{"/usr/bin/node", "node::Buffer::New"},
				     {"[javascript]", "pack app.js:2:45"},
				     {"/usr/bin/node", "main"}};
	CHECK_LEFT(node, NULL, "pack app.js:2:45");
}

/* Nobody would be left who allocated. */
static void stacks_without_scripts_are_whole(void) {
	const made_frame_t native[] = {{"/usr/lib/libpython3.11.so.1.0", "PyInterpreterState_New"},
				       {"", "Builtin:Call"},
				       {"/usr/bin/python3.11", "main"},
				       {"/lib/libc.so.6", "__libc_start_main"}};
	CHECK_LEFT(native, NULL, "PyInterpreterState_New Builtin:Call main __libc_start_main");
	const made_frame_t other[] = {{"/usr/bin/pythonic", "grow"}, {"[python]", "main"}};
	CHECK_LEFT(other, NULL, "grow main");
}

/* A function, once at two lines, and where its name should be then. */
static void functions_have_their_places(void) {
	static const struct {
		const char *path, *name, *file;
		int64_t first_line;
		const char *expected;
	} ways[] = {
		{"[python]", "main", "/srv/app.py", 7, "main app.py:7"},
		{"[python]", "<module>", "<string>", 1, "<module> <string>:1"},
		{"[python]", "main", "/srv/app.py", 0, "main app.py"},
		{"[javascript]", "pack app.js:2:45", "/srv/app.js", 2, "pack app.js:2:45"},
		{"[java]", "int Main.pack(byte[])", "", 0, "int Main.pack(byte[])"},
		{"/bin/shop", "main", "/src/shop.c", 7, "main"},
	};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		mw_profile_t *p = mw_profile_new();
		mw_profile_add_type(p, "space", "bytes");
		uint32_t locations[] = {frame(p, ways[i].path, ""), frame(p, ways[i].path, "")};
		mw_function_t function = {.name = mw_profile_intern(p, ways[i].name),
					  .file = mw_profile_intern(p, ways[i].file),
					  .start_line = ways[i].first_line};
		mw_line_t line = {.function = mw_profile_add_function(p, &function)};
		for (size_t k = 0; k < 2; k++) {
			line.line = 8 + (int64_t)k;
			mw_profile_set_lines(p, locations[k], &line, 1);
		}
		mw_script_places_add(p);
		CHECK_STR(mw_profile_string(p, p->functions[line.function].name), ways[i].expected);
		mw_profile_free(p);
	}
}

int main(void) {
	RUN(frames_of_the_interpreter_are_left_out);
	RUN(stacks_without_scripts_are_whole);
	RUN(functions_have_their_places);
	return 0;
}
