/* SPDX-License-Identifier: MIT
 * encode.h -- rows as bytes: samples of a profile, frames of a stack, functions of a location.
 * Layer: store/directory/index.  Private to the folder.  Numbers are written with seven bits in
 * each byte.  Reading stops at the first byte that makes no sense. */
#ifndef MW_TOOL_STORE_DIRECTORY_INDEX_ENCODE_H
#define MW_TOOL_STORE_DIRECTORY_INDEX_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/row_batch.h"

/* Bytes that grow.  Zeroed, they are empty; the caller frees `bytes`. */
typedef struct mw_bytes {
	unsigned char *bytes;
	size_t length, capacity;
} mw_bytes_t;

void mw_encode_samples(mw_bytes_t *out, const mw_batch_t *batch);
void mw_encode_frames(mw_bytes_t *out, const uint64_t *locations, size_t depth);
/* Empty if the location has no functions. */
void mw_encode_lines(mw_bytes_t *out, const mw_batch_t *batch, const mw_row_location_t *location);

typedef void mw_take_sample_t(void *context, uint64_t stack, const int64_t values[MW_VALUES]);
void mw_decode_samples(const void *bytes, size_t length, mw_take_sample_t *take, void *context);
/* Returns the depth; the caller frees *locations. */
size_t mw_decode_frames(const void *bytes, size_t length, uint64_t **locations);
/* Returns the number of functions; the caller frees *lines, whose texts are in `bytes`. */
uint32_t mw_decode_lines(const void *bytes, size_t length, mw_row_line_t **lines);

#endif
