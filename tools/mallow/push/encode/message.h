/* SPDX-License-Identifier: MIT
 * message.h -- bytes that grow, written as fields of protocol buffers; gzip and base64 of them.
 * Layer: push/encode.  A zeroed message is empty.  Fields follow the rules of proto3: numbers of 0
 * and empty texts are left out; in a list (..._entry) every entry is written.  Texts become valid
 * UTF-8, because receivers refuse a whole request for one text that is not. */
#ifndef MW_TOOL_PUSH_ENCODE_MESSAGE_H
#define MW_TOOL_PUSH_ENCODE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "model/error.h"

typedef struct mw_message {
	unsigned char *bytes;
	size_t length, capacity;
} mw_message_t;

void mw_message_release(mw_message_t *message);
void mw_message_clear(mw_message_t *message); /* keeps the memory */

void mw_message_append(mw_message_t *message, const void *bytes, size_t length);
void mw_message_varint(mw_message_t *message, uint64_t value);

void mw_message_number(mw_message_t *message, unsigned field, uint64_t value);
void mw_message_fixed64(mw_message_t *message, unsigned field, uint64_t value);
void mw_message_bytes(mw_message_t *message, unsigned field, const void *bytes, size_t length);
void mw_message_text(mw_message_t *message, unsigned field, const char *text);
void mw_message_text_entry(mw_message_t *message, unsigned field, const char *text);
/* What is written between the two calls is the content of the field: a message, or packed numbers.
 * Returns what mw_message_end() needs.  Such pairs nest. */
size_t mw_message_begin(mw_message_t *message, unsigned field);
void mw_message_end(mw_message_t *message, size_t begin);

/* Returns a copy as valid UTF-8: each other byte becomes '?'.  The caller frees it. */
char *mw_message_utf8(const char *text);

/* Appends the bytes compressed.  -1: zlib refuses. */
int mw_message_gzip(mw_message_t *message, const void *bytes, size_t length, mw_error_t *error);
/* Appends the bytes as base64 with padding. */
void mw_message_base64(mw_message_t *message, const void *bytes, size_t length);

#endif
