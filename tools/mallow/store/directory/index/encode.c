/* SPDX-License-Identifier: MIT
 * encode.c -- writes rows as bytes, and reads them. */
#include "store/directory/index/encode.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

/* Most functions of one location. */
#define LINES_MAX 1024u

static void put_bytes(mw_bytes_t *out, const void *bytes, size_t length) {
	out->bytes = mw_grow(out->bytes, &out->capacity, out->length + length, 1);
	if (length > 0)
		memcpy(out->bytes + out->length, bytes, length);
	out->length += length;
}

static void put_number(mw_bytes_t *out, uint64_t value) {
	unsigned char bytes[10];
	size_t length = 0;
	for (; value > 0x7f; value >>= 7)
		bytes[length++] = (unsigned char)(value | 0x80);
	bytes[length++] = (unsigned char)value;
	put_bytes(out, bytes, length);
}

/* Numbers below 0 are rare, and small ones short. */
static void put_signed(mw_bytes_t *out, int64_t value) {
	put_number(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

/* Numbers of stacks are random: 8 bytes. */
static void put_id(mw_bytes_t *out, uint64_t id) {
	put_bytes(out, &id, sizeof(id));
}

static void put_text(mw_bytes_t *out, const char *text) {
	put_bytes(out, text, strlen(text) + 1);
}

typedef struct reader {
	const unsigned char *at, *end;
	bool failed;
} reader_t;

static uint64_t take_number(reader_t *r) {
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
		unsigned char byte = *r->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	r->failed = true;
	return 0;
}

static int64_t take_signed(reader_t *r) {
	uint64_t value = take_number(r);
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static uint64_t take_id(reader_t *r) {
	uint64_t id = 0;
	if ((size_t)(r->end - r->at) < sizeof(id)) {
		r->failed = true;
		return 0;
	}
	memcpy(&id, r->at, sizeof(id));
	r->at += sizeof(id);
	return id;
}

static const char *take_text(reader_t *r) {
	const unsigned char *text = r->at;
	const unsigned char *end = memchr(text, 0, (size_t)(r->end - r->at));
	if (end == NULL) {
		r->failed = true;
		return "";
	}
	r->at = end + 1;
	return (const char *)text;
}

static reader_t reader_of(const void *bytes, size_t length) {
	const unsigned char *at = length > 0 ? bytes : (const unsigned char *)"";
	return (reader_t){.at = at, .end = at + length};
}

void mw_encode_samples(mw_bytes_t *out, const mw_batch_t *batch) {
	for (size_t i = 0; i < batch->sample_count; i++) {
		put_id(out, batch->samples[i].stack);
		for (int k = 0; k < MW_VALUES; k++)
			put_signed(out, batch->samples[i].values[k]);
	}
}

void mw_decode_samples(const void *bytes, size_t length, mw_take_sample_t *take, void *context) {
	reader_t r = reader_of(bytes, length);
	while (r.at < r.end) {
		int64_t values[MW_VALUES];
		uint64_t stack = take_id(&r);
		for (int k = 0; k < MW_VALUES; k++)
			values[k] = take_signed(&r);
		if (r.failed)
			return;
		take(context, stack, values);
	}
}

void mw_encode_frames(mw_bytes_t *out, const uint64_t *locations, size_t depth) {
	for (size_t i = 0; i < depth; i++)
		put_id(out, locations[i]);
}

size_t mw_decode_frames(const void *bytes, size_t length, uint64_t **locations) {
	reader_t r = reader_of(bytes, length);
	size_t depth = length / sizeof(uint64_t);
	if (depth > MW_READ_DEPTH_MAX)
		depth = MW_READ_DEPTH_MAX;
	*locations = mw_xcalloc(depth, sizeof(**locations));
	for (size_t i = 0; i < depth; i++)
		(*locations)[i] = take_id(&r);
	return depth;
}

void mw_encode_lines(mw_bytes_t *out, const mw_batch_t *batch, const mw_row_location_t *location) {
	if (location->line_count == 0)
		return;
	put_number(out, location->line_count);
	for (uint32_t i = 0; i < location->line_count; i++) {
		const mw_row_line_t *line = &batch->lines[location->line_first + i];
		put_signed(out, line->line);
		put_signed(out, line->start_line);
		put_text(out, line->function);
		put_text(out, line->system_name);
		put_text(out, line->file);
	}
}

uint32_t mw_decode_lines(const void *bytes, size_t length, mw_row_line_t **lines) {
	reader_t r = reader_of(bytes, length);
	uint64_t count = length > 0 ? take_number(&r) : 0;
	if (count > LINES_MAX)
		count = LINES_MAX;
	*lines = mw_xcalloc(count, sizeof(**lines));
	for (uint32_t i = 0; i < count; i++) {
		mw_row_line_t *line = &(*lines)[i];
		line->line = take_signed(&r);
		line->start_line = take_signed(&r);
		line->function = take_text(&r);
		line->system_name = take_text(&r);
		line->file = take_text(&r);
		if (r.failed)
			return i;
	}
	return (uint32_t)count;
}
