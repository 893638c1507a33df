/* SPDX-License-Identifier: MIT
 * row_binary.h -- ClickHouse's format RowBinary: values one behind the other, numbers with the
 * lowest byte first, texts and arrays with their length in front as LEB128.
 * Layer: store.  What is read is hostile: it may end anywhere, and lengths may be any. */
#ifndef MW_TOOL_STORE_CLICKHOUSE_ROW_BINARY_H
#define MW_TOOL_STORE_CLICKHOUSE_ROW_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows that are written.  A zeroed one is empty. */
typedef struct mw_row_bytes {
	unsigned char *bytes;
	size_t length, capacity;
} mw_row_bytes_t;

void mw_row_write_u8(mw_row_bytes_t *out, uint8_t value);
void mw_row_write_u16(mw_row_bytes_t *out, uint16_t value);
void mw_row_write_u32(mw_row_bytes_t *out, uint32_t value);
void mw_row_write_u64(mw_row_bytes_t *out, uint64_t value);
void mw_row_write_i64(mw_row_bytes_t *out, int64_t value);
/* The number of an array's elements, which follow. */
void mw_row_write_count(mw_row_bytes_t *out, size_t count);
void mw_row_write_text(mw_row_bytes_t *out, const char *text);
void mw_row_bytes_free(mw_row_bytes_t *out);

/* Rows that are read. */
typedef struct mw_row_input {
	const unsigned char *at, *end;
	bool is_broken; /* it ended within a value: all values since then are 0 and "" */
	/* Private: texts of the row, each with a NUL behind it. */
	char *texts;
	size_t texts_length, texts_capacity;
} mw_row_input_t;

mw_row_input_t mw_row_input_of(const void *bytes, size_t length);
void mw_row_input_free(mw_row_input_t *in);
/* Begins a row.  False: there is none. */
bool mw_row_next(mw_row_input_t *in);
uint8_t mw_row_read_u8(mw_row_input_t *in);
uint32_t mw_row_read_u32(mw_row_input_t *in);
uint64_t mw_row_read_u64(mw_row_input_t *in);
int64_t mw_row_read_i64(mw_row_input_t *in);
/* Returns the number of an array's elements, each of which takes `element_bytes` or more: the rest
 * of the input has as many. */
size_t mw_row_read_count(mw_row_input_t *in, size_t element_bytes);
/* A text ends at its first NUL.  The number is for mw_row_text() until the next row. */
size_t mw_row_read_text(mw_row_input_t *in);
const char *mw_row_text(const mw_row_input_t *in, size_t number);

#endif
