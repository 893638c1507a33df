/* SPDX-License-Identifier: MIT
 * wire.h -- the encoding below profile.proto: numbers with seven bits in each byte, and fields.
 * Layer: formats/proto.  Other folders read answers of servers with it.  Nothing is allocated.
 * Nothing at or after `end` is read. */
#ifndef MW_TOOL_FORMATS_PROTO_WIRE_H
#define MW_TOOL_FORMATS_PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MW_WIRE_VARINT = 0, MW_WIRE_64 = 1, MW_WIRE_BYTES = 2, MW_WIRE_32 = 5 };

typedef struct mw_wire_field {
	unsigned number;
	unsigned type;              /* an MW_WIRE_ type */
	uint64_t value;             /* valid for MW_WIRE_VARINT */
	const unsigned char *bytes; /* valid for the other types */
	size_t length;
} mw_wire_field_t;

/* Reads a number at *at.  False: the number does not end before `end`. */
static inline bool mw_wire_varint(const unsigned char **at, const unsigned char *end,
				  uint64_t *value) {
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

/* Reads the next field.  False: the bytes are malformed. */
static inline bool mw_wire_next(const unsigned char **at, const unsigned char *end,
				mw_wire_field_t *field) {
	uint64_t key, length;
	if (!mw_wire_varint(at, end, &key) || key >> 3 == 0 || key >> 3 > 0x1fffffff)
		return false;
	*field = (mw_wire_field_t){.number = (unsigned)(key >> 3), .type = (unsigned)(key & 7)};
	switch (field->type) {
	case MW_WIRE_VARINT:
		return mw_wire_varint(at, end, &field->value);
	case MW_WIRE_BYTES:
		if (!mw_wire_varint(at, end, &length))
			return false;
		break;
	case MW_WIRE_64:
		length = 8;
		break;
	case MW_WIRE_32:
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

#endif
