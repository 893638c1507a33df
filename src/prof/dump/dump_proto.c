/* SPDX-License-Identifier: MIT
 * dump_proto.c -- writes profile.proto from the profile's tables. Concatenated protobuf messages
 * are one message, so each part is written as soon as it is known: types, then for each stack its
 * new locations and the stack, then modules and strings. The writer maps one bit per frame while it
 * works. */
#include <string.h>

#include "base/fmt.h"
#include "base/libc_text.h"
#include "os/memory/map.h"
#include "os/time/clock.h"
#include "prof/dump/dump_view.h"
#include "prof/sample/activity.h"
#include "prof/store/store.h"
#include "prof/table/depot.h"

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};

/* Indices of the texts, in the order in which they are written. */
enum {
	TEXT_EMPTY,
	TEXT_UNITS,
	TEXT_COUNT = TEXT_UNITS,
	TEXT_BYTES,
	TEXT_NANOSECONDS,
	TEXT_SPACE,
	TEXT_REQUEST,
	TEXT_UNKNOWN,
	TEXT_TRUNCATED,
	/* Names of the sample types; then comments, then path and build-id of each module. */
	TEXT_TYPES,
	TEXT_COMMENTS = TEXT_TYPES + MW_DUMP_TYPES + MW_DUMP_MAPPING_TYPES,
};
enum { COMMENTS = 7, TEXT_MODULES = TEXT_COMMENTS + COMMENTS };
enum { ALL_TYPES = MW_DUMP_TYPES + MW_DUMP_MAPPING_TYPES };

static const char *const type_texts[][2] = {
#define MW_SAMPLE_TYPE(name, text, unit) {text, unit},
#include "state/sample_types.def"
#undef MW_SAMPLE_TYPE
};

/* Locations that are no code: for an unknown stack, and behind a stack that was cut. Their
 * functions have the same numbers. A frame's location is numbered after them. */
enum { ID_UNKNOWN = 1, ID_TRUNCATED, ID_FRAMES };
/* Function number i of scripts (state/script_frames.h) has the number ID_FUNCTIONS + i. */
enum { ID_FUNCTIONS = ID_FRAMES };
#define VARINT_BYTES 10u
#define MESSAGE_BYTES ((MW_PROF_DEPTH_MAX + ALL_TYPES + 16) * VARINT_BYTES)

typedef struct writer {
	mw_writer_t *out;
	uint64_t *written; /* one bit for each location number */
	unsigned types;    /* MW_DUMP_TYPES; ALL_TYPES if there are mappings */
	size_t length;
	unsigned char message[MESSAGE_BYTES];
	unsigned char
		ids[(MW_PROF_DEPTH_MAX + 1) * VARINT_BYTES]; /* locations of the current stack */
} writer_t;

/* ---- encoding ---- */

static size_t encode(unsigned char *place, uint64_t value) {
	size_t length = 0;
	for (; value >= 0x80; value >>= 7)
		place[length++] = (unsigned char)(value | 0x80);
	place[length++] = (unsigned char)value;
	return length;
}

/* Appends to the current message, which has room for the largest message. */
static void put_number(writer_t *w, unsigned field, uint64_t value) {
	w->length += encode(w->message + w->length, field << 3);
	w->length += encode(w->message + w->length, value);
}

/* Appends a nested message or packed numbers. */
static void put_nested(writer_t *w, unsigned field, const unsigned char *bytes, size_t length) {
	w->length += encode(w->message + w->length, field << 3 | 2);
	w->length += encode(w->message + w->length, length);
	memcpy(w->message + w->length, bytes, length);
	w->length += length;
}

static void send_header(writer_t *w, unsigned field, size_t length) {
	unsigned char head[2 * VARINT_BYTES];
	size_t used = encode(head, field << 3 | 2);
	used += encode(head + used, length);
	mw_writer_put(w->out, head, used);
}

/* Writes the current message as a field of the profile. */
static void send(writer_t *w, unsigned field) {
	send_header(w, field, w->length);
	mw_writer_put(w->out, w->message, w->length);
	w->length = 0;
}

static void send_number(writer_t *w, unsigned field, uint64_t value) {
	put_number(w, field, value);
	mw_writer_put(w->out, w->message, w->length);
	w->length = 0;
}

static void send_text(writer_t *w, const char *text, size_t length) {
	send_header(w, PROFILE_STRING, length);
	mw_writer_put(w->out, text, length);
}

/* ---- locations ---- */

/* Returns true once for each location. */
static bool is_new(writer_t *w, uint64_t id) {
	uint64_t *word = &w->written[id / 64], bit = (uint64_t)1 << id % 64;
	bool known = (*word & bit) != 0;
	*word |= bit;
	return !known;
}

/* Adds function and line of a script's frame to its location. */
static void put_script_line(writer_t *w, uint64_t place) {
	unsigned char line[4 * VARINT_BYTES];
	size_t length = encode(line, 1 << 3);
	length += encode(line + length, ID_FUNCTIONS + (place >> MW_SCRIPT_LINE_BITS));
	length += encode(line + length, 2 << 3);
	length += encode(line + length, place & MW_SCRIPT_LINE_MAX);
	put_nested(w, 4, line, length);
}

/* Returns the location's number; writes the location if it is new. */
static uint64_t location(writer_t *w, uint32_t number) {
	uint64_t id = ID_FRAMES + (uint64_t)number;
	if (is_new(w, id)) {
		uint64_t frame = mw_depot_frame(number);
		put_number(w, 1, id);
		put_number(w, 2, mw_dump_frame_module(frame));
		put_number(w, 3, mw_dump_frame_address(frame));
		if (mw_dump_is_script(mw_dump_frame_module(frame)))
			put_script_line(w, frame & MW_FRAME_ADDRESS_MASK);
		send(w, PROFILE_LOCATION);
	}
	return id;
}

static uint64_t marker(writer_t *w, uint64_t id, unsigned text) {
	if (!is_new(w, id))
		return id;
	unsigned char line[2 * VARINT_BYTES];
	size_t length = encode(line, 1 << 3);
	length += encode(line + length, id);
	put_number(w, 1, id);
	put_nested(w, 4, line, length);
	send(w, PROFILE_LOCATION);
	put_number(w, 1, id);
	put_number(w, 2, text);
	put_number(w, 3, text);
	send(w, PROFILE_FUNCTION);
	return id;
}

/* ---- samples ---- */

/* Writes a sample. `values`: the types after the common ones; they are unknown for requests for 0
 * bytes. */
static void write_counts(writer_t *w, size_t ids_length, const mw_dump_counts_t *counts,
			 int64_t values[MW_DUMP_TYPES], bool zero_request) {
	unsigned char packed[ALL_TYPES * VARINT_BYTES], label[4 * VARINT_BYTES];
	size_t length = 0;
	uint64_t any = 0;
	values[MW_DUMP_ALLOC_OBJECTS] = counts->alloc_objects;
	values[MW_DUMP_ALLOC_SPACE] = counts->alloc_bytes;
	values[MW_DUMP_INUSE_OBJECTS] = counts->inuse_objects;
	values[MW_DUMP_INUSE_SPACE] = counts->inuse_bytes;
	for (unsigned i = 0; i < MW_DUMP_TYPES; i++) {
		any |= (uint64_t)values[i];
		length += encode(packed + length, (uint64_t)values[i]);
	}
	if (!any)
		return;
	for (unsigned i = MW_DUMP_TYPES; i < w->types; i++)
		length += encode(packed + length, 0);
	put_nested(w, 1, w->ids, ids_length);
	put_nested(w, 2, packed, length);
	if (zero_request) {
		/* The encoding omits a number of 0; key and unit show that there is one. */
		length = encode(label, 1 << 3);
		length += encode(label + length, TEXT_REQUEST);
		length += encode(label + length, 4 << 3);
		length += encode(label + length, TEXT_BYTES);
		put_nested(w, 3, label, length);
	}
	send(w, PROFILE_SAMPLE);
}

/* Writes the stack's locations and puts their numbers into w->ids. Returns the length. */
static size_t write_locations(writer_t *w, const mw_dump_stack_t *stack) {
	size_t length = 0;
	for (uint32_t node = stack->node; node != 0;)
		length += encode(w->ids + length, location(w, mw_depot_next_frame(&node)));
	if (stack->depth == 0)
		length = encode(w->ids, marker(w, ID_UNKNOWN, TEXT_UNKNOWN));
	else if (stack->truncated)
		length += encode(w->ids + length, marker(w, ID_TRUNCATED, TEXT_TRUNCATED));
	return length;
}

static void write_mapping_stack(writer_t *w, const mw_dump_stack_t *stack) {
	const int64_t values[MW_DUMP_MAPPING_TYPES] = {
		stack->sized.alloc_objects, stack->sized.alloc_bytes, stack->sized.inuse_objects,
		stack->sized.inuse_bytes};
	unsigned char packed[ALL_TYPES * VARINT_BYTES];
	size_t length = 0, ids_length = write_locations(w, stack);
	for (unsigned i = 0; i < MW_DUMP_TYPES; i++)
		length += encode(packed + length, 0);
	for (unsigned i = MW_DUMP_TYPES; i < w->types; i++)
		length += encode(packed + length, (uint64_t)values[i - MW_DUMP_TYPES]);
	put_nested(w, 1, w->ids, ids_length);
	put_nested(w, 2, packed, length);
	send(w, PROFILE_SAMPLE);
}

static void write_stack(writer_t *w, uint64_t number, const mw_dump_stack_t *stack) {
	int64_t values[MW_DUMP_TYPES], none[MW_DUMP_TYPES] = {0};
	size_t length = write_locations(w, stack);
	mw_dump_details_at(number, values);
	write_counts(w, length, &stack->sized, values, false);
	write_counts(w, length, &stack->zero, none, true);
}

static void write_stacks(writer_t *w) {
	uint64_t count = mw_dump_stack_count();
	for (uint64_t i = 0; i < count && w->out->result == MW_OK; i++) {
		mw_dump_stack_t stack;
		if (mw_dump_stack_at(i, &stack))
			write_stack(w, i, &stack);
		else if (w->types > MW_DUMP_TYPES && mw_dump_mapping_at(i, &stack))
			write_mapping_stack(w, &stack);
	}
}

/* ---- mappings, comments, texts ---- */

static void write_type(writer_t *w, unsigned field, unsigned type, unsigned unit) {
	put_number(w, 1, type);
	put_number(w, 2, unit);
	send(w, field);
}

static void write_mapping(writer_t *w, uint64_t number) {
	const mw_state_module_t *module = mw_dump_module(number);
	put_number(w, 1, number + 1);
	put_number(w, 2, module->start);
	put_number(w, 3, module->limit);
	put_number(w, 4, module->file_offset);
	put_number(w, 5, TEXT_MODULES + 2 * number);
	put_number(w, 6, TEXT_MODULES + 2 * number + 1);
	/* Its locations need no look-up: has_functions, has_filenames, has_line_numbers. */
	for (unsigned field = 7; field <= 9 && mw_dump_is_script(number + 1); field++)
		put_number(w, field, 1);
	send(w, PROFILE_MAPPING);
}

/* Writes the program first: pprof treats the first mapping as the program. */
static void write_mappings(writer_t *w, uint64_t count) {
	uint64_t program = count;
	for (uint64_t i = 0; i < count && program == count; i++)
		if (mw_strcmp(mw_dump_module(i)->path, mw_store_header()->exe) == 0)
			program = i;
	if (program < count)
		write_mapping(w, program);
	for (uint64_t i = 0; i < count; i++)
		if (i != program)
			write_mapping(w, i);
}

static void write_module_texts(writer_t *w, uint64_t count) {
	for (uint64_t i = 0; i < count; i++) {
		const mw_state_module_t *module = mw_dump_module(i);
		char build_id[2 * sizeof module->build_id + 1] = "";
		for (size_t k = 0; k < module->build_id_bytes; k++)
			mw_fmt(build_id + 2 * k, 3, "%02x", module->build_id[k]);
		send_text(w, module->path, mw_strnlen(module->path, sizeof module->path));
		send_text(w, build_id, mw_strlen(build_id));
	}
}

/* Writes the functions of scripts. Their texts follow those of `modules` modules, in the same
 * order: a name and a file for each function. */
static void write_functions(writer_t *w, uint64_t modules, uint64_t count) {
	for (uint64_t i = 0; i < count && w->out->result == MW_OK; i++) {
		uint64_t text = TEXT_MODULES + 2 * (modules + i);
		put_number(w, 1, ID_FUNCTIONS + i);
		put_number(w, 2, text);
		put_number(w, 3, text);
		put_number(w, 4, text + 1);
		put_number(w, 5, mw_dump_function(i)->first_line);
		send(w, PROFILE_FUNCTION);
	}
}

static void write_function_texts(writer_t *w, uint64_t count) {
	char *text = (char *)w->message; /* which is empty */
	static const char unknown[] = "[unknown]";
	for (uint64_t i = 0; i < count && w->out->result == MW_OK; i++) {
		const mw_state_function_t *function = mw_dump_function(i);
		unsigned bytes = mw_dump_text(function->name, text);
		if (bytes > 0)
			send_text(w, text, bytes);
		else
			send_text(w, unknown, sizeof unknown - 1);
		send_text(w, text, mw_dump_text(function->file, text));
	}
}
_Static_assert(MESSAGE_BYTES >= MW_TEXT_BYTES_MAX, "a text fits");

/* Writes facts that the command reads (tools/mallow/formats/proto/proto_read.c). */
static void write_comments(writer_t *w) {
	const mw_state_header_t *header = mw_store_header();
	char text[sizeof header->args + 16];
	uint64_t live = 0, taken = 0, count = mw_dump_stack_count();
	for (uint64_t i = 0; i < count; i++) {
		const mw_state_stack_t *stack = mw_store_private(MW_SECTION_STACKS, i);
		live += atomic_load_explicit(&stack->live_samples, memory_order_relaxed);
		taken += atomic_load_explicit(&stack->alloc_samples, memory_order_relaxed);
	}
	send_text(w, text, mw_fmt(text, sizeof text, "mallow %s", MALLOW_VERSION));
	send_text(w, text, mw_fmt(text, sizeof text, "program: %s", header->program));
	send_text(w, text, mw_fmt(text, sizeof text, "pid: %u", header->pid));
	size_t length = mw_fmt(text, sizeof text, "command: "), args = sizeof header->args;
	while (args > 0 && header->args[args - 1] == '\0')
		args--;
	for (size_t i = 0; i < args; i++)
		text[length + i] = header->args[i] == '\0' ? ' ' : header->args[i];
	send_text(w, text, length + args);
	send_text(w, text,
		  mw_fmt(text, sizeof text, "samples: %lu in use, %lu taken", (unsigned long)live,
			 (unsigned long)taken));
	send_text(w, text, mw_fmt(text, sizeof text, "flags: 0x%x", mw_store_live()->flags));
	const mw_state_live_t *page = mw_store_live();
	uint64_t now = mw_os_realtime_ns(), since = page->counted_since_ns;
	send_text(w, text,
		  mw_fmt(text, sizeof text, "sampling off: %lu times, %lu of %lu ns",
			 (unsigned long)page->stops, (unsigned long)mw_state_off_ns(page, now),
			 (unsigned long)(now > since ? now - since : 0)));
	for (unsigned i = 0; i < COMMENTS; i++)
		send_number(w, PROFILE_COMMENT, TEXT_COMMENTS + i);
}

static void write_times(writer_t *w) {
	const mw_state_live_t *live = mw_store_live();
	uint64_t now = mw_os_realtime_ns(), since = mw_store_header()->created_realtime_ns;
	uint64_t reset = atomic_load_explicit(&live->reset_realtime_ns, memory_order_relaxed);
	since = reset > since ? reset : since;
	send_number(w, PROFILE_TIME_NS, now);
	send_number(w, PROFILE_DURATION_NS, since && now > since ? now - since : 0);
	send_number(w, PROFILE_PERIOD,
		    atomic_load_explicit(&live->mean_bytes, memory_order_relaxed));
	write_type(w, PROFILE_PERIOD_TYPE, TEXT_SPACE, TEXT_BYTES);
	send_number(w, PROFILE_DEFAULT_TYPE, TEXT_TYPES + MW_DUMP_INUSE_SPACE);
}

static unsigned unit_text(const char *const texts[], const char *unit) {
	unsigned text = TEXT_UNITS;
	while (mw_strcmp(texts[text], unit) != 0)
		text++;
	return text;
}

/* Returns name and unit of the dump's type `number`, which lack PINNED_SPACE. */
static const char *const *type_text(unsigned number) {
	return type_texts[number < MW_DUMP_PINNED_SPACE ? number : number + 1];
}

static void write_all(writer_t *w) {
	w->types = mw_dump_has_mappings() ? ALL_TYPES : MW_DUMP_TYPES;
	static const char *const texts[TEXT_TYPES] = {
		"",      "count",   "bytes",           "nanoseconds",
		"space", "request", "[stack unknown]", "[truncated]",
	};
	for (unsigned i = 0; i < w->types; i++)
		write_type(w, PROFILE_SAMPLE_TYPE, TEXT_TYPES + i,
			   unit_text(texts, type_text(i)[1]));
	write_stacks(w);
	/* Counted after the stacks were written, because modules are added before their stacks. */
	uint64_t modules = mw_dump_module_count(), functions = mw_dump_function_count();
	write_mappings(w, modules);
	write_functions(w, modules, functions);
	for (unsigned i = 0; i < TEXT_TYPES; i++)
		send_text(w, texts[i], mw_strlen(texts[i]));
	for (unsigned i = 0; i < ALL_TYPES; i++)
		send_text(w, type_text(i)[0], mw_strlen(type_text(i)[0]));
	write_comments(w);
	write_module_texts(w, modules);
	write_function_texts(w, functions);
	write_times(w);
}

static size_t whole_pages(size_t bytes) {
	return (bytes + MW_OS_PAGE_BYTES - 1) & ~(size_t)(MW_OS_PAGE_BYTES - 1);
}

bool mw_dump_write_proto(mw_writer_t *out) {
	/* One bit for each possible frame. Pages without a set bit are not resident. */
	uint64_t frames = mw_store_header()->sections[MW_SECTION_FRAMES].capacity;
	size_t bits_bytes = whole_pages((size_t)(ID_FRAMES + frames) / 8 + sizeof(uint64_t));
	size_t bytes = whole_pages(sizeof(writer_t));
	/* Not on the stack, which may be a thread's stack of 16 KiB or a signal handler's. */
	char *memory = mw_os_map(bytes + bits_bytes);
	if (!memory)
		return false;
	writer_t *w = (writer_t *)(void *)memory;
	w->out = out;
	w->written = (uint64_t *)(void *)(memory + bytes);
	write_all(w);
	mw_os_unmap(memory, bytes + bits_bytes);
	return true;
}
