/* SPDX-License-Identifier: MIT
 * row_binary.c -- ClickHouse's format RowBinary. */
#include "store/clickhouse/row_binary.h"

#include <stdlib.h>
#include <string.h>

#include "model/memory.h"

#define VARINT_BYTES_MAX 10

static void write_bytes(mw_row_bytes_t *out, const void *bytes, size_t length) {
	if (length == 0)
		return;
	out->bytes = mw_grow(out->bytes, &out->capacity, out->length + length, 1);
	memcpy(out->bytes + out->length, bytes, length);
	out->length += length;
}

static void write_number(mw_row_bytes_t *out, uint64_t value, size_t length) {
	unsigned char bytes[sizeof(value)];
	for (size_t i = 0; i < length; i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
	write_bytes(out, bytes, length);
}

void mw_row_write_u8(mw_row_bytes_t *out, uint8_t value) {
	write_number(out, value, sizeof(value));
}

void mw_row_write_u16(mw_row_bytes_t *out, uint16_t value) {
	write_number(out, value, sizeof(value));
}

void mw_row_write_u32(mw_row_bytes_t *out, uint32_t value) {
	write_number(out, value, sizeof(value));
}

void mw_row_write_u64(mw_row_bytes_t *out, uint64_t value) {
	write_number(out, value, sizeof(value));
}

void mw_row_write_i64(mw_row_bytes_t *out, int64_t value) {
	write_number(out, (uint64_t)value, sizeof(value));
}

void mw_row_write_count(mw_row_bytes_t *out, size_t count) {
	for (; count >= 0x80; count >>= 7)
		mw_row_write_u8(out, (uint8_t)(count | 0x80));
	mw_row_write_u8(out, (uint8_t)count);
}

void mw_row_write_text(mw_row_bytes_t *out, const char *text) {
	size_t length = strlen(text);
	mw_row_write_count(out, length);
	write_bytes(out, text, length);
}

void mw_row_bytes_free(mw_row_bytes_t *out) {
	free(out->bytes);
	*out = (mw_row_bytes_t){0};
}

mw_row_input_t mw_row_input_of(const void *bytes, size_t length) {
	const unsigned char *at = length > 0 ? bytes : (const unsigned char *)"";
	return (mw_row_input_t){.at = at, .end = at + length};
}

void mw_row_input_free(mw_row_input_t *in) {
	free(in->texts);
	*in = (mw_row_input_t){0};
}

bool mw_row_next(mw_row_input_t *in) {
	in->texts_length = 0;
	return !in->is_broken && in->at < in->end;
}

static uint64_t read_number(mw_row_input_t *in, size_t length) {
	uint64_t value = 0;
	if (in->is_broken || (size_t)(in->end - in->at) < length) {
		in->is_broken = true;
		return 0;
	}
	for (size_t i = 0; i < length; i++)
		value |= (uint64_t)in->at[i] << (8 * i);
	in->at += length;
	return value;
}

uint8_t mw_row_read_u8(mw_row_input_t *in) {
	return (uint8_t)read_number(in, 1);
}

uint32_t mw_row_read_u32(mw_row_input_t *in) {
	return (uint32_t)read_number(in, sizeof(uint32_t));
}

uint64_t mw_row_read_u64(mw_row_input_t *in) {
	return read_number(in, sizeof(uint64_t));
}

int64_t mw_row_read_i64(mw_row_input_t *in) {
	return (int64_t)read_number(in, sizeof(int64_t));
}

size_t mw_row_read_count(mw_row_input_t *in, size_t element_bytes) {
	uint64_t count = 0;
	for (unsigned i = 0; i < VARINT_BYTES_MAX; i++) {
		uint8_t byte = mw_row_read_u8(in);
		count |= i < VARINT_BYTES_MAX - 1 || byte <= 1 ? (uint64_t)(byte & 0x7f) << (7 * i)
							       : UINT64_MAX;
		if ((byte & 0x80) == 0)
			break;
	}
	if (count > (size_t)(in->end - in->at) / element_bytes)
		in->is_broken = true;
	return in->is_broken ? 0 : (size_t)count;
}

size_t mw_row_read_text(mw_row_input_t *in) {
	size_t length = mw_row_read_count(in, 1);
	size_t number = in->texts_length;
	in->texts = mw_grow(in->texts, &in->texts_capacity, number + length + 1, 1);
	memcpy(in->texts + number, in->at, length);
	in->texts[number + length] = '\0';
	in->texts_length += length + 1;
	in->at += length;
	return number;
}

const char *mw_row_text(const mw_row_input_t *in, size_t number) {
	return in->texts + number;
}
