/* SPDX-License-Identifier: MIT
 * otlp.c -- messages of opentelemetry/proto/profiles/v1development/profiles.proto.
 * The field numbers are those of version 1.11; tests/tool/push.sh compares them with that file
 * where it is installed.  Version 1.5 had others, under the same path. */
#include "push/encode/otlp.h"

#include <string.h>

#include "formats/proto/wire.h"
#include "push/encode/kind_samples.h"
#include "push/encode/profile_id.h"

enum { EXPORT_RESOURCE_PROFILES = 1, EXPORT_DICTIONARY = 2 };
enum {
	DICTIONARY_MAPPING = 1,
	DICTIONARY_LOCATION,
	DICTIONARY_FUNCTION,
	DICTIONARY_LINK,
	DICTIONARY_STRING,
	DICTIONARY_ATTRIBUTE,
	DICTIONARY_STACK
};
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE_PROFILES = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES,
	PROFILE_TIME,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_ID
};
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { SAMPLE_STACK = 1, SAMPLE_VALUES = 4 };
enum { STACK_LOCATIONS = 1 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS = 2, LOCATION_LINES = 3 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_START_LINE };
enum { MAPPING_START = 1, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_ATTRIBUTES };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2 }; /* KeyValueAndUnit, with a text's number */
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 }; /* KeyValue of a resource, with the text */
enum { ANY_VALUE_STRING = 1 };
enum { ANSWER_PARTIAL = 1, PARTIAL_REJECTED = 1, PARTIAL_MESSAGE = 2 };

#define BUILD_ID_KEY "process.executable.build_id.gnu"

static void put_empty(mw_message_t *out, unsigned field) {
	mw_message_end(out, mw_message_begin(out, field));
}

static void put_value(mw_message_t *out, unsigned field, const char *text) {
	size_t value = mw_message_begin(out, field);
	mw_message_text_entry(out, ANY_VALUE_STRING, text);
	mw_message_end(out, value);
}

static void put_key_value(mw_message_t *out, const char *key, const char *text) {
	if (*text == '\0')
		return;
	size_t pair = mw_message_begin(out, RESOURCE_ATTRIBUTES);
	mw_message_text(out, KEY_VALUE_KEY, key);
	put_value(out, KEY_VALUE_VALUE, text);
	mw_message_end(out, pair);
}

static void put_resource(mw_message_t *out, const mw_identity_t *identity) {
	size_t resource = mw_message_begin(out, RESOURCE_PROFILES_RESOURCE);
	put_key_value(out, "service.name", identity->service);
	put_key_value(out, "service.instance.id", identity->instance);
	put_key_value(out, "host.name", identity->host);
	put_key_value(out, "service.version", identity->version);
	put_key_value(out, BUILD_ID_KEY, identity->build_id);
	for (size_t i = 0; i < identity->tag_count; i++)
		put_key_value(out, identity->tags[i].key, identity->tags[i].value);
	mw_message_end(out, resource);
}

static void put_value_type(mw_message_t *out, unsigned field, mw_selection_t *s, const char *type,
			   const char *unit) {
	size_t at = mw_message_begin(out, field);
	mw_message_number(out, VALUE_TYPE_TYPE, mw_selection_text(s, type));
	mw_message_number(out, VALUE_TYPE_UNIT, mw_selection_text(s, unit));
	mw_message_end(out, at);
}

/* A sample's stack has the number of the sample. */
static void put_samples(mw_message_t *out, const mw_selection_t *s, int type) {
	for (size_t i = 0; i < s->sample_count; i++) {
		int64_t value = mw_profile_values(s->profile, s->samples[i])[type];
		if (value == 0)
			continue;
		size_t sample = mw_message_begin(out, PROFILE_SAMPLES);
		mw_message_number(out, SAMPLE_STACK, i + 1);
		size_t values = mw_message_begin(out, SAMPLE_VALUES);
		mw_message_varint(out, (uint64_t)value);
		mw_message_end(out, values);
		mw_message_end(out, sample);
	}
}

/* Receivers take the name of a profile that is not of CPU time from the type of its period. */
static const char *period_name(mw_kind_t kind) {
	switch (kind) {
	case MW_KIND_MAPPED:
		return "mapped";
	case MW_KIND_CPU:
		return "cpu";
	case MW_KIND_WALL:
		return "wall";
	default:
		return "space";
	}
}

static void put_profile(mw_message_t *out, mw_selection_t *s, const mw_put_t *put, int value) {
	const mw_kind_values_t *kind = mw_kind_values(put->kind);
	bool is_time = put->kind == MW_KIND_CPU || put->kind == MW_KIND_WALL;
	unsigned char id[MW_PROFILE_ID_BYTES];
	mw_profile_id(put, (unsigned)value, id);
	size_t profile = mw_message_begin(out, SCOPE_PROFILES_PROFILES);
	put_value_type(out, PROFILE_SAMPLE_TYPE, s, kind->values[value].type,
		       kind->values[value].unit);
	put_samples(out, s, s->types[value]);
	mw_message_fixed64(out, PROFILE_TIME, (uint64_t)put->time_ns);
	mw_message_number(out, PROFILE_DURATION, (uint64_t)put->duration_ns);
	put_value_type(out, PROFILE_PERIOD_TYPE, s, period_name(put->kind),
		       is_time ? "nanoseconds" : "bytes");
	/* 1 where it is not known: receivers read 0 as no type of the period. */
	mw_message_number(out, PROFILE_PERIOD, put->period > 0 ? (uint64_t)put->period : 1);
	mw_message_bytes(out, PROFILE_ID, id, sizeof(id));
	mw_message_end(out, profile);
}

static void put_mappings(mw_message_t *out, const mw_selection_t *s) {
	put_empty(out, DICTIONARY_MAPPING);
	for (size_t i = 1, attribute = 0; i <= s->mappings.count; i++) {
		const mw_mapping_t *m = &s->profile->mappings[s->mappings.entries[i]];
		size_t mapping = mw_message_begin(out, DICTIONARY_MAPPING);
		mw_message_number(out, MAPPING_START, m->start);
		mw_message_number(out, MAPPING_LIMIT, m->limit);
		mw_message_number(out, MAPPING_OFFSET, m->offset);
		mw_message_number(out, MAPPING_FILE, mw_selection_string(s, m->path));
		if (m->build_id != 0) {
			size_t attributes = mw_message_begin(out, MAPPING_ATTRIBUTES);
			mw_message_varint(out, ++attribute);
			mw_message_end(out, attributes);
		}
		mw_message_end(out, mapping);
	}
}

/* In the order of put_mappings(): one for each mapping that has a build-id. */
static void put_attributes(mw_message_t *out, mw_selection_t *s) {
	uint32_t key = mw_selection_text(s, BUILD_ID_KEY);
	put_empty(out, DICTIONARY_ATTRIBUTE);
	for (size_t i = 1; i <= s->mappings.count; i++) {
		const mw_mapping_t *m = &s->profile->mappings[s->mappings.entries[i]];
		if (m->build_id == 0)
			continue;
		size_t attribute = mw_message_begin(out, DICTIONARY_ATTRIBUTE);
		mw_message_number(out, ATTRIBUTE_KEY, key);
		put_value(out, ATTRIBUTE_VALUE, mw_profile_string(s->profile, m->build_id));
		mw_message_end(out, attribute);
	}
}

static void put_locations(mw_message_t *out, const mw_selection_t *s) {
	const mw_profile_t *p = s->profile;
	put_empty(out, DICTIONARY_LOCATION);
	for (size_t i = 1; i <= s->locations.count; i++) {
		const mw_location_t *l = &p->locations[s->locations.entries[i]];
		size_t location = mw_message_begin(out, DICTIONARY_LOCATION);
		mw_message_number(out, LOCATION_MAPPING, s->mappings.numbers[l->mapping]);
		mw_message_number(out, LOCATION_ADDRESS, l->address);
		for (uint32_t k = 0; k < l->line_count; k++) {
			const mw_line_t *from = &p->lines[l->line_first + k];
			size_t line = mw_message_begin(out, LOCATION_LINES);
			mw_message_number(out, LINE_FUNCTION, s->functions.numbers[from->function]);
			mw_message_number(out, LINE_LINE, (uint64_t)from->line);
			mw_message_end(out, line);
		}
		mw_message_end(out, location);
	}
}

static void put_functions(mw_message_t *out, const mw_selection_t *s) {
	put_empty(out, DICTIONARY_FUNCTION);
	for (size_t i = 1; i <= s->functions.count; i++) {
		const mw_function_t *f = &s->profile->functions[s->functions.entries[i]];
		size_t function = mw_message_begin(out, DICTIONARY_FUNCTION);
		mw_message_number(out, FUNCTION_NAME, mw_selection_string(s, f->name));
		mw_message_number(out, FUNCTION_SYSTEM_NAME,
				  mw_selection_string(s, f->system_name));
		mw_message_number(out, FUNCTION_FILE, mw_selection_string(s, f->file));
		mw_message_number(out, FUNCTION_START_LINE, (uint64_t)f->start_line);
		mw_message_end(out, function);
	}
}

static void put_stacks(mw_message_t *out, const mw_selection_t *s) {
	const mw_profile_t *p = s->profile;
	put_empty(out, DICTIONARY_STACK);
	for (size_t i = 0; i < s->sample_count; i++) {
		const mw_sample_t *sample = &p->samples[s->samples[i]];
		size_t stack = mw_message_begin(out, DICTIONARY_STACK);
		size_t frames = mw_message_begin(out, STACK_LOCATIONS);
		for (uint32_t k = 0; k < sample->depth; k++)
			mw_message_varint(out,
					  s->locations.numbers[p->frames[sample->frame_first + k]]);
		mw_message_end(out, frames);
		mw_message_end(out, stack);
	}
}

/* The texts come last: the other parts add some. */
static void put_dictionary(mw_message_t *out, mw_selection_t *s) {
	size_t dictionary = mw_message_begin(out, EXPORT_DICTIONARY);
	put_mappings(out, s);
	put_locations(out, s);
	put_functions(out, s);
	put_empty(out, DICTIONARY_LINK);
	put_attributes(out, s);
	put_stacks(out, s);
	for (size_t i = 0; i < mw_selection_string_count(s); i++)
		mw_message_text_entry(out, DICTIONARY_STRING, mw_selection_string_of(s, i));
	mw_message_end(out, dictionary);
}

bool mw_otlp_request(const mw_put_t *put, mw_message_t *out) {
	mw_selection_t s = mw_select(put->profile, put->kind);
	if (s.sample_count > 0) {
		size_t resource = mw_message_begin(out, EXPORT_RESOURCE_PROFILES);
		put_resource(out, &put->identity);
		size_t profiles = mw_message_begin(out, RESOURCE_PROFILES_SCOPE_PROFILES);
		size_t scope = mw_message_begin(out, SCOPE_PROFILES_SCOPE);
		mw_message_text(out, SCOPE_NAME, "mallow");
		mw_message_text(out, SCOPE_VERSION, MALLOW_VERSION);
		mw_message_end(out, scope);
		for (int i = 0; i < MW_VALUES; i++)
			if (s.types[i] >= 0)
				put_profile(out, &s, put, i);
		mw_message_end(out, profiles);
		mw_message_end(out, resource);
		put_dictionary(out, &s);
	}
	bool is_any = s.sample_count > 0;
	mw_selection_release(&s);
	return is_any;
}

int mw_otlp_answer(const void *bytes, size_t length, mw_error_t *error) {
	const unsigned char *at = bytes, *end = at + length;
	uint64_t rejected = 0;
	char words[200] = "";
	mw_wire_field_t field, part;
	while (at < end && mw_wire_next(&at, end, &field)) {
		if (field.number != ANSWER_PARTIAL || field.type != MW_WIRE_BYTES)
			continue;
		const unsigned char *in = field.bytes, *part_end = in + field.length;
		while (in < part_end && mw_wire_next(&in, part_end, &part)) {
			if (part.number == PARTIAL_REJECTED && part.type == MW_WIRE_VARINT)
				rejected = part.value;
			if (part.number == PARTIAL_MESSAGE && part.type == MW_WIRE_BYTES) {
				size_t shown = part.length < sizeof(words) - 1 ? part.length
									       : sizeof(words) - 1;
				memcpy(words, part.bytes, shown);
				words[shown] = '\0';
			}
		}
	}
	if (rejected == 0)
		return 0;
	return mw_error_set(error, "the receiver rejected %llu profiles: %s",
			    (unsigned long long)rejected, words);
}
