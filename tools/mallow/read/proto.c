/* SPDX-License-Identifier: MIT
 * proto.c -- reads profile.proto.
 *
 * The fields of the outermost message are split here, and each entry is unpacked on its own by
 * protobuf-c: memory stays within a small multiple of the file however it is made.  Entries refer
 * to others by number in any order, hence one pass over the file for each kind. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/alloc.h"
#include "model/table.h"
#include "profile.pb-c.h"
#include "read/formats.h"

/* Fields of message Profile. */
enum {
	FIELD_SAMPLE_TYPE = 1,
	FIELD_SAMPLE = 2,
	FIELD_MAPPING = 3,
	FIELD_LOCATION = 4,
	FIELD_FUNCTION = 5,
	FIELD_STRING = 6,
	FIELD_TIME = 9,
	FIELD_DURATION = 10,
	FIELD_PERIOD_TYPE = 11,
	FIELD_PERIOD = 12,
	FIELD_COMMENT = 13,
	FIELD_DEFAULT_TYPE = 14,
};

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* An entry of more bytes than this is refused; protobuf-c needs up to 40 times as many. */
#define ENTRY_BYTES_MAX ((size_t)1 << 20)
/* More sample types than any profiler has. */
#define TYPES_MAX 64

/* Maps the file's ids, which may be any numbers, to ours. */
typedef struct id_map {
	mw_table_t table;
	uint64_t *ids; /* by our number */
	size_t capacity;
} id_map_t;

typedef struct proto_reader {
	mw_profile_t *profile;
	const char *name;
	const unsigned char *bytes;
	size_t length;
	mw_error_t *error;
	mw_string_t *strings; /* by the file's number */
	size_t string_count, string_capacity;
	id_map_t mappings, locations, functions;
	int64_t default_type; /* the file's string number */
	uint32_t *frames;     /* of the sample at hand */
	size_t frame_capacity;
	mw_label_t *labels;
	size_t label_capacity;
} proto_reader_t;

typedef struct field {
	unsigned number;
	unsigned wire_type;
	uint64_t value;             /* of a varint */
	const unsigned char *bytes; /* of WIRE_BYTES */
	size_t length;
} field_t;

typedef int (*field_fn)(proto_reader_t *r, const field_t *field);

static int damaged(proto_reader_t *r, const char *why) {
	return mw_error_set(r->error, "%s: is no profile mallow can read, or is damaged: %s",
			    r->name, why);
}

/* Reads a varint at *at; false: it does not end. */
static bool read_varint(const unsigned char **at, const unsigned char *end, uint64_t *value) {
	*value = 0;
	for (unsigned shift = 0; shift < 70 && *at < end; shift += 7) {
		unsigned char byte = *(*at)++;
		if (shift < 64)
			*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* The next field; false: malformed. */
static bool next_field(const unsigned char **at, const unsigned char *end, field_t *field) {
	uint64_t key, length;
	if (!read_varint(at, end, &key) || key >> 3 == 0 || key >> 3 > 0x1fffffff)
		return false;
	*field = (field_t){.number = (unsigned)(key >> 3), .wire_type = (unsigned)(key & 7)};
	switch (field->wire_type) {
	case WIRE_VARINT:
		return read_varint(at, end, &field->value);
	case WIRE_BYTES:
		if (!read_varint(at, end, &length) || length > (uint64_t)(end - *at))
			return false;
		break;
	case WIRE_64:
		length = 8;
		break;
	case WIRE_32:
		length = 4;
		break;
	default:
		return false;
	}
	if (length > (uint64_t)(end - *at))
		return false;
	field->bytes = *at;
	field->length = (size_t)length;
	*at += length;
	return true;
}

/* Calls `take` for each field with this number and wire type. */
static int each_field(proto_reader_t *r, unsigned number, unsigned wire_type, field_fn take) {
	const unsigned char *at = r->bytes, *end = r->bytes + r->length;
	size_t count = 0;
	while (at < end) {
		field_t field;
		if (!next_field(&at, end, &field))
			return damaged(r, "its fields do not fit together");
		if (field.number != number || field.wire_type != wire_type)
			continue;
		if (wire_type == WIRE_BYTES && field.length > ENTRY_BYTES_MAX)
			return damaged(r, "an entry is larger than 1 MiB");
		if (count++ >= MW_READ_ENTRIES_MAX)
			return damaged(r, "it has more entries than any profile");
		if (take(r, &field) != 0)
			return -1;
	}
	return 0;
}

static bool id_equal(const void *context, uint32_t entry, const void *key) {
	return ((const id_map_t *)context)->ids[entry] == *(const uint64_t *)key;
}

static uint32_t find_id(const id_map_t *map, uint64_t id) {
	/* Most writers number from 1 in order, as we do. */
	if (id < map->capacity && map->ids[id] == id)
		return (uint32_t)id;
	return mw_table_find(&map->table, mw_table_hash(&id, sizeof(id)), id_equal, map, &id);
}

static int add_id(proto_reader_t *r, id_map_t *map, uint64_t id, uint32_t entry) {
	if (id == 0)
		return damaged(r, "an entry has the id 0");
	if (find_id(map, id) != 0)
		return damaged(r, "two entries have the same id");
	map->ids = mw_grow(map->ids, &map->capacity, (size_t)entry + 1, sizeof(uint64_t));
	map->ids[entry] = id;
	mw_table_add(&map->table, mw_table_hash(&id, sizeof(id)), entry);
	return 0;
}

static mw_string_t string_at(const proto_reader_t *r, int64_t number) {
	return number > 0 && (uint64_t)number < r->string_count ? r->strings[number] : 0;
}

static int take_string(proto_reader_t *r, const field_t *field) {
	r->strings =
		mw_grow(r->strings, &r->string_capacity, r->string_count + 1, sizeof(mw_string_t));
	r->strings[r->string_count++] =
		mw_profile_intern_bytes(r->profile, (const char *)field->bytes, field->length);
	return 0;
}

static int take_type(proto_reader_t *r, const field_t *field) {
	Mallow__Pprof__ValueType *type =
		mallow__pprof__value_type__unpack(NULL, field->length, field->bytes);
	if (type == NULL)
		return damaged(r, "a sample type");
	mw_profile_t *p = r->profile;
	mw_string_t name = string_at(r, type->type), unit = string_at(r, type->unit);
	mallow__pprof__value_type__free_unpacked(type, NULL);
	if (p->type_count == TYPES_MAX)
		return damaged(r, "too many sample types");
	mw_profile_add_type(p, mw_profile_string(p, name), mw_profile_string(p, unit));
	return 0;
}

static int take_mapping(proto_reader_t *r, const field_t *field) {
	Mallow__Pprof__Mapping *from =
		mallow__pprof__mapping__unpack(NULL, field->length, field->bytes);
	if (from == NULL)
		return damaged(r, "a mapping");
	mw_mapping_t mapping = {
		.start = from->memory_start,
		.limit = from->memory_limit,
		.offset = from->file_offset,
		.path = string_at(r, from->filename),
		.build_id = string_at(r, from->build_id),
		.has_functions = from->has_functions,
		.has_filenames = from->has_filenames,
		.has_line_numbers = from->has_line_numbers,
		.has_inline_frames = from->has_inline_frames,
	};
	uint64_t id = from->id;
	mallow__pprof__mapping__free_unpacked(from, NULL);
	return add_id(r, &r->mappings, id, mw_profile_append_mapping(r->profile, &mapping));
}

static int take_function(proto_reader_t *r, const field_t *field) {
	Mallow__Pprof__Function *from =
		mallow__pprof__function__unpack(NULL, field->length, field->bytes);
	if (from == NULL)
		return damaged(r, "a function");
	mw_function_t function = {
		.name = string_at(r, from->name),
		.system_name = string_at(r, from->system_name),
		.file = string_at(r, from->filename),
		.start_line = from->start_line,
	};
	uint64_t id = from->id;
	mallow__pprof__function__free_unpacked(from, NULL);
	return add_id(r, &r->functions, id, mw_profile_append_function(r->profile, &function));
}

static int add_lines(proto_reader_t *r, uint32_t location, const Mallow__Pprof__Location *from) {
	if (from->n_line == 0)
		return 0;
	mw_line_t *lines = mw_xcalloc(from->n_line, sizeof(mw_line_t));
	size_t count = 0;
	for (size_t i = 0; i < from->n_line; i++) {
		uint32_t function = find_id(&r->functions, from->line[i]->function_id);
		if (function != 0)
			lines[count++] = (mw_line_t){function, from->line[i]->line};
	}
	mw_profile_set_lines(r->profile, location, lines, count);
	free(lines);
	return 0;
}

static int take_location(proto_reader_t *r, const field_t *field) {
	Mallow__Pprof__Location *from =
		mallow__pprof__location__unpack(NULL, field->length, field->bytes);
	if (from == NULL)
		return damaged(r, "a location");
	uint32_t mapping = from->mapping_id != 0 ? find_id(&r->mappings, from->mapping_id) : 0;
	uint32_t location = mw_profile_append_location(r->profile, mapping, from->address, false);
	r->profile->locations[location].is_folded = from->is_folded;
	int result = add_id(r, &r->locations, from->id, location);
	if (result == 0)
		result = add_lines(r, location, from);
	mallow__pprof__location__free_unpacked(from, NULL);
	return result;
}

static int add_sample(proto_reader_t *r, const Mallow__Pprof__Sample *from) {
	mw_profile_t *p = r->profile;
	if (from->n_value != p->type_count)
		return damaged(r, "a sample has not one value for each sample type");
	if (from->n_location_id > MW_READ_DEPTH_MAX)
		return damaged(r, "a stack is deeper than 32768 frames");
	r->frames = mw_grow(r->frames, &r->frame_capacity, from->n_location_id, sizeof(uint32_t));
	for (size_t i = 0; i < from->n_location_id; i++) {
		r->frames[i] = find_id(&r->locations, from->location_id[i]);
		if (r->frames[i] == 0)
			return damaged(r, "a sample names a location that is not there");
	}
	r->labels = mw_grow(r->labels, &r->label_capacity, from->n_label, sizeof(mw_label_t));
	for (size_t i = 0; i < from->n_label; i++)
		r->labels[i] = (mw_label_t){.key = string_at(r, from->label[i]->key),
					    .text = string_at(r, from->label[i]->str),
					    .number = from->label[i]->num,
					    .unit = string_at(r, from->label[i]->num_unit)};
	mw_profile_add_sample(p, r->frames, from->n_location_id, from->value, r->labels,
			      from->n_label);
	return 0;
}

static int take_sample(proto_reader_t *r, const field_t *field) {
	Mallow__Pprof__Sample *from =
		mallow__pprof__sample__unpack(NULL, field->length, field->bytes);
	if (from == NULL)
		return damaged(r, "a sample");
	int result = add_sample(r, from);
	mallow__pprof__sample__free_unpacked(from, NULL);
	return result;
}

static int take_time(proto_reader_t *r, const field_t *field) {
	r->profile->time_ns = (int64_t)field->value;
	return 0;
}

static int take_duration(proto_reader_t *r, const field_t *field) {
	r->profile->duration_ns = (int64_t)field->value;
	return 0;
}

static int take_period(proto_reader_t *r, const field_t *field) {
	r->profile->period = (int64_t)field->value;
	return 0;
}

static int take_period_type(proto_reader_t *r, const field_t *field) {
	Mallow__Pprof__ValueType *type =
		mallow__pprof__value_type__unpack(NULL, field->length, field->bytes);
	if (type == NULL)
		return damaged(r, "the period's type");
	r->profile->period_type.type = string_at(r, type->type);
	r->profile->period_type.unit = string_at(r, type->unit);
	mallow__pprof__value_type__free_unpacked(type, NULL);
	return 0;
}

static int take_default_type(proto_reader_t *r, const field_t *field) {
	r->default_type = (int64_t)field->value;
	return 0;
}

static void take_comment_number(proto_reader_t *r, uint64_t number) {
	mw_profile_t *p = r->profile;
	mw_profile_add_comment(p, mw_profile_string(p, string_at(r, (int64_t)number)));
}

static int take_comment(proto_reader_t *r, const field_t *field) {
	take_comment_number(r, field->value);
	return 0;
}

static int take_packed_comments(proto_reader_t *r, const field_t *field) {
	const unsigned char *at = field->bytes, *end = field->bytes + field->length;
	uint64_t number;
	while (at < end) {
		if (!read_varint(&at, end, &number))
			return damaged(r, "a comment");
		take_comment_number(r, number);
	}
	return 0;
}

static int take_all(proto_reader_t *r) {
	static const struct {
		unsigned number, wire_type;
		field_fn take;
	} passes[] = {
		{FIELD_STRING, WIRE_BYTES, take_string},
		{FIELD_SAMPLE_TYPE, WIRE_BYTES, take_type},
		{FIELD_MAPPING, WIRE_BYTES, take_mapping},
		{FIELD_FUNCTION, WIRE_BYTES, take_function},
		{FIELD_LOCATION, WIRE_BYTES, take_location},
		{FIELD_TIME, WIRE_VARINT, take_time},
		{FIELD_DURATION, WIRE_VARINT, take_duration},
		{FIELD_PERIOD, WIRE_VARINT, take_period},
		{FIELD_PERIOD_TYPE, WIRE_BYTES, take_period_type},
		{FIELD_DEFAULT_TYPE, WIRE_VARINT, take_default_type},
		{FIELD_COMMENT, WIRE_VARINT, take_comment},
		{FIELD_COMMENT, WIRE_BYTES, take_packed_comments},
		{FIELD_SAMPLE, WIRE_BYTES, take_sample},
	};
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
		if (each_field(r, passes[i].number, passes[i].wire_type, passes[i].take) != 0)
			return -1;
		if (passes[i].number == FIELD_STRING && r->string_count == 0)
			return damaged(r, "it has no strings");
		if (passes[i].number == FIELD_SAMPLE_TYPE && r->profile->type_count == 0)
			return damaged(r, "it has no sample types");
	}
	return 0;
}

/* As pprof does it: the type named, else the last one. */
static void set_default_type(proto_reader_t *r) {
	mw_profile_t *p = r->profile;
	mw_string_t name = string_at(r, r->default_type);
	int found = name != 0 ? mw_profile_find_type(p, mw_profile_string(p, name)) : -1;
	p->default_type = found >= 0 ? (uint32_t)found : (uint32_t)p->type_count - 1;
}

/* The way back of what read/snapshot.c put into comments. */
static void read_comments(mw_profile_t *p) {
	mw_origin_t *origin = &p->origin;
	if (p->comment_count == 0 ||
	    strncmp(mw_profile_string(p, p->comments[0]), "mallow ", 7) != 0)
		return;
	for (size_t i = 0; i < p->comment_count; i++) {
		const char *text = mw_profile_string(p, p->comments[i]);
		if (i == 0)
			origin->version = mw_profile_intern(p, text + 7);
		else if (strncmp(text, "program: ", 9) == 0)
			origin->program = mw_profile_intern(p, text + 9);
		else if (strncmp(text, "command: ", 9) == 0)
			origin->args = mw_profile_intern(p, text + 9);
		else if (strncmp(text, "pid: ", 5) == 0)
			origin->pid = (uint32_t)strtoul(text + 5, NULL, 10);
		else if (strncmp(text, "flags: ", 7) == 0)
			origin->flags = (uint32_t)strtoul(text + 7, NULL, 16);
		else if (strncmp(text, "samples: ", 9) == 0)
			sscanf(text, "samples: %" SCNu64 " in use, %" SCNu64, &origin->live_samples,
			       &origin->alloc_samples);
	}
}

static void release_map(id_map_t *map) {
	mw_table_clear(&map->table);
	free(map->ids);
}

int mw_read_proto(mw_profile_t *profile, const char *name, const char *bytes, size_t length,
		  mw_error_t *error) {
	proto_reader_t r = {.profile = profile,
			    .name = name,
			    .bytes = (const unsigned char *)bytes,
			    .length = length,
			    .error = error};
	int result = take_all(&r);
	if (result == 0) {
		set_default_type(&r);
		read_comments(profile);
		profile->origin.format = mw_profile_intern(profile, "profile.proto");
	}
	release_map(&r.mappings);
	release_map(&r.locations);
	release_map(&r.functions);
	free(r.strings);
	free(r.frames);
	free(r.labels);
	return result;
}
