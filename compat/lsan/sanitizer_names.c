/* SPDX-License-Identifier: MIT
 * sanitizer_names.c -- names of addresses, for the program. */
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "api/compat/compat_calls.h"
#include "base/fmt.h"
#include "compat/leaks/leak_names.h"
#include "compat/lsan/lsan_report.h"
#include "compat/lsan/sanitizer.h"
#include "os/platform/loaded_symbol.h"

#define STACK_DEPTH_MAX MW_COMPAT_DEPTH_MAX

/* The names of an address. Its texts are not ended by '\0'. */
typedef struct named {
	const char *function, *file;
	int function_length, file_length;
	unsigned number;
	int line;
	uintptr_t pc;
	const char *module; /* path; "": not known */
	uintptr_t offset;   /* in the module */
} named_t;

/* The text that is written so far. */
typedef struct out {
	char *text;
	size_t room, length;
} out_t;

static MW_PRINTF(2, 3) void put(out_t *out, const char *format, ...) {
	va_list args;
	if (out->length >= out->room)
		return;
	va_start(args, format);
	out->length += mw_vfmt(out->text + out->length, out->room - out->length, format, args);
	va_end(args);
	if (out->length > out->room - 1)
		out->length = out->room - 1;
}

static void put_module(out_t *out, const named_t *named) {
	const char *slash = strrchr(named->module, '/');
	put(out, "(%s+0x%lx)", slash ? slash + 1 : named->module, (unsigned long)named->offset);
}

static void put_place(out_t *out, const named_t *named) {
	put(out, "%.*s", named->file_length, named->file);
	if (named->line)
		put(out, ":%d", named->line);
}

static void put_one(out_t *out, char letter, const named_t *named) {
	switch (letter) {
	case 'n':
		put(out, "%u", named->number);
		return;
	case 'p':
		put(out, "0x%lx", (unsigned long)named->pc);
		return;
	case 'm':
		put(out, "%s", named->module);
		return;
	case 'o':
		put(out, "0x%lx", (unsigned long)named->offset);
		return;
	case 'F':
		put(out, named->function_length ? "in " : "");
		put(out, "%.*s", named->function_length, named->function);
		return;
	case 'f':
	case 'g':
		put(out, "%.*s", named->function_length, named->function);
		return;
	case 's':
		put(out, "%.*s", named->file_length, named->file);
		return;
	case 'l':
		put(out, "%d", named->line);
		return;
	case 'c':
		put(out, "0");
		return;
	case 'S':
		put_place(out, named);
		return;
	case 'L':
		if (named->file_length)
			put_place(out, named);
		else
			put_module(out, named);
		return;
	case 'M':
		put_module(out, named);
		return;
	default: /* "%%", and letters that are not known */
		put(out, "%c", letter);
	}
}

static void put_line(out_t *out, const char *format, const named_t *named) {
	for (; *format; format++)
		if (*format == '%' && format[1])
			put_one(out, *++format, named);
		else
			put(out, "%c", *format);
}

/* Ends a line, and keeps room for the empty one behind the last. */
static void end_line(out_t *out) {
	if (out->length + 1 < out->room)
		out->text[out->length++] = '\0';
}

static void find_module(named_t *named, Dl_info *object) {
	named->module = "";
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): an address that the program asks about. */
	if (mw_os_find_object_of((const void *)named->pc, object)) {
		named->module = object->dli_fname;
		named->offset = named->pc - (uintptr_t)object->dli_fbase;
	}
}

/* Divides "file:line". */
static void set_place(named_t *named, const char *place, size_t length) {
	size_t name = length;
	while (name > 0 && place[name - 1] >= '0' && place[name - 1] <= '9')
		name--;
	named->file = place;
	named->file_length = (int)length;
	named->line = 0;
	if (name > 1 && name < length && place[name - 1] == ':') {
		named->file_length = (int)(name - 1);
		named->line = (int)strtol(place + name, NULL, 10);
	}
	if (named->file_length == 2 && strncmp(place, "??", 2) == 0)
		named->file_length = 0;
}

void __sanitizer_symbolize_pc(void *pc, const char *format, char *text, size_t room) {
	char program[PATH_MAX];
	Dl_info object;
	out_t out = {.text = text, .room = room};
	named_t named = {.pc = (uintptr_t)pc};
	if (room == 0)
		return;
	find_module(&named, &object);
	mw_leaks_group_t group = {.stack = {.depth = 1, .pcs = {(uintptr_t)pc}}};
	mw_leaks_names_t names = mw_leaks_names_get(&group, 1, true, program);
	const char *word = mw_leaks_names_next(&names);
	size_t module = strcspn(word, "\t");
	word += module + (word[module] == '\t');
	do {
		size_t function = strcspn(word, "\t");
		const char *place = word + function + (word[function] == '\t');
		size_t length = strcspn(place, "\t");
		named.function = word;
		named.function_length = (int)function;
		set_place(&named, place, length);
		put_line(&out, format, &named);
		end_line(&out);
		named.number++;
		word = place + length + (place[length] == '\t');
	} while (*word);
	text[out.length < room ? out.length : room - 1] = '\0';
	mw_leaks_names_free(&names);
}

void __sanitizer_symbolize_global(void *data, const char *format, char *text, size_t room) {
	Dl_info object = {.dli_sname = NULL};
	out_t out = {.text = text, .room = room};
	named_t named = {.pc = (uintptr_t)data, .file = ""};
	if (room == 0)
		return;
	find_module(&named, &object);
	named.function = *named.module && object.dli_sname ? object.dli_sname : "";
	named.function_length = (int)strlen(named.function);
	put_line(&out, format, &named);
	text[out.length] = '\0';
}

int __sanitizer_get_module_and_offset_for_pc(void *pc, char *path, size_t room, void **offset) {
	named_t named = {.pc = (uintptr_t)pc};
	Dl_info object;
	find_module(&named, &object);
	if (!*named.module || room == 0)
		return 0;
	mw_fmt(path, room, "%s", named.module);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the interface has an offset as a pointer. */
	*offset = (void *)named.offset;
	return 1;
}

void __sanitizer_print_stack_trace(void) {
	uint64_t pcs[STACK_DEPTH_MAX];
	uint64_t caller = (uintptr_t)__builtin_return_address(0);
	unsigned depth = mallow_compat_calls()->capture(pcs, STACK_DEPTH_MAX, false), first = 0;
	while (first < depth && pcs[first] != caller)
		first++;
	if (first == depth)
		first = 0;
	mw_lsan_print_stack(pcs + first, depth - first);
}
