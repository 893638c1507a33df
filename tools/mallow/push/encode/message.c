/* SPDX-License-Identifier: MIT
 * message.c -- the wire format of protocol buffers, gzip by zlib, base64 of RFC 4648. */
#include "push/encode/message.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "model/memory.h"
#include "model/text.h"

enum { VARINT = 0, FIXED_64 = 1, LENGTH = 2, VARINT_BYTES_MAX = 10 };

/* zlib's window of 32 KiB, and gzip's header in the place of zlib's own. */
#define GZIP_WINDOW (15 + 16)
/* The fastest: the time to compress is most of the time to make a request. */
#define GZIP_LEVEL 1

void mw_message_release(mw_message_t *message) {
	free(message->bytes);
	*message = (mw_message_t){0};
}

void mw_message_clear(mw_message_t *message) {
	message->length = 0;
}

static unsigned char *make_room(mw_message_t *message, size_t more) {
	if (message->bytes == NULL || message->capacity - message->length < more)
		message->bytes =
			mw_grow(message->bytes, &message->capacity, message->length + more, 1);
	return message->bytes + message->length;
}

void mw_message_append(mw_message_t *message, const void *bytes, size_t length) {
	if (length > 0)
		memcpy(make_room(message, length), bytes, length);
	message->length += length;
}

void mw_message_varint(mw_message_t *message, uint64_t value) {
	unsigned char *at = make_room(message, VARINT_BYTES_MAX), *begin = at;
	for (; value > 127; value >>= 7)
		*at++ = (unsigned char)(value | 128);
	*at++ = (unsigned char)value;
	message->length += (size_t)(at - begin);
}

static void put_key(mw_message_t *message, unsigned field, unsigned type) {
	mw_message_varint(message, (uint64_t)field << 3 | type);
}

void mw_message_number(mw_message_t *message, unsigned field, uint64_t value) {
	if (value == 0)
		return;
	put_key(message, field, VARINT);
	mw_message_varint(message, value);
}

void mw_message_fixed64(mw_message_t *message, unsigned field, uint64_t value) {
	if (value == 0)
		return;
	put_key(message, field, FIXED_64);
	unsigned char bytes[8];
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
	mw_message_append(message, bytes, sizeof(bytes));
}

static void put_bytes(mw_message_t *message, unsigned field, const void *bytes, size_t length) {
	put_key(message, field, LENGTH);
	mw_message_varint(message, length);
	mw_message_append(message, bytes, length);
}

void mw_message_bytes(mw_message_t *message, unsigned field, const void *bytes, size_t length) {
	if (length > 0)
		put_bytes(message, field, bytes, length);
}

static size_t ascii_length(const char *text) {
	size_t length = 0;
	while (text[length] > 0)
		length++;
	return length;
}

char *mw_message_utf8(const char *text) {
	char *copy = mw_xstrdup(text);
	for (char *at = copy; *at != '\0';) {
		mw_character_t character = mw_text_character(at);
		if (!character.is_utf8)
			*at = '?';
		at += character.is_utf8 ? character.bytes : 1;
	}
	return copy;
}

void mw_message_text_entry(mw_message_t *message, unsigned field, const char *text) {
	size_t length = ascii_length(text);
	if (text[length] == '\0') {
		put_bytes(message, field, text, length);
		return;
	}
	char *copy = mw_message_utf8(text);
	put_bytes(message, field, copy, strlen(copy));
	free(copy);
}

void mw_message_text(mw_message_t *message, unsigned field, const char *text) {
	if (*text != '\0')
		mw_message_text_entry(message, field, text);
}

size_t mw_message_begin(mw_message_t *message, unsigned field) {
	put_key(message, field, LENGTH);
	make_room(message, 1);
	return ++message->length; /* a byte for the length, which is moved if it needs more */
}

void mw_message_end(mw_message_t *message, size_t begin) {
	uint64_t length = message->length - begin;
	size_t more = 0;
	for (uint64_t rest = length >> 7; rest > 0; rest >>= 7)
		more++;
	if (more > 0) {
		make_room(message, more);
		memmove(message->bytes + begin + more, message->bytes + begin, (size_t)length);
	}
	message->length = begin - 1;
	mw_message_varint(message, length);
	message->length = begin + more + (size_t)length;
}

int mw_message_gzip(mw_message_t *message, const void *bytes, size_t length, mw_error_t *error) {
	z_stream stream = {0};
	if (length > UINT_MAX)
		return mw_error_set(error, "a request of %zu MiB is too large", length >> 20);
	if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, MAX_MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return mw_error_set(error, "zlib cannot compress: out of memory");
	size_t bound = deflateBound(&stream, (uLong)length);
	stream.next_out = make_room(message, bound);
	stream.avail_out = (unsigned)bound;
	stream.next_in = (unsigned char *)bytes;
	stream.avail_in = (unsigned)length;
	int result = deflate(&stream, Z_FINISH);
	message->length += stream.total_out;
	deflateEnd(&stream);
	return result == Z_STREAM_END ? 0 : mw_error_set(error, "zlib cannot compress");
}

void mw_message_base64(mw_message_t *message, const void *bytes, size_t length) {
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *from = bytes;
	unsigned char *to = make_room(message, (length + 2) / 3 * 4);
	for (size_t i = 0; i < length; i += 3) {
		size_t left = length - i;
		uint32_t word = (uint32_t)from[i] << 16;
		word |= left > 1 ? (uint32_t)from[i + 1] << 8 : 0;
		word |= left > 2 ? from[i + 2] : 0;
		*to++ = (unsigned char)digits[word >> 18];
		*to++ = (unsigned char)digits[word >> 12 & 63];
		*to++ = (unsigned char)(left > 1 ? digits[word >> 6 & 63] : '=');
		*to++ = (unsigned char)(left > 2 ? digits[word & 63] : '=');
	}
	message->length += (length + 2) / 3 * 4;
}
