/* SPDX-License-Identifier: MIT
 * placed_blob.h -- the code that records a program's allocations (state/attach.h), as it is built
 * into this command, and where it is in a process. Layer: live/inject. */
#ifndef MW_TOOL_LIVE_INJECT_PLACED_BLOB_H
#define MW_TOOL_LIVE_INJECT_PLACED_BLOB_H

#include <stdbool.h>
#include <stdint.h>

#include "live/loaded/address_space.h"
#include "model/error.h"
#include "state/attach.h"

/* Offsets from where it is mapped. */
typedef struct mw_blob {
	uint8_t *bytes; /* of the file's segments, relocated; the memory behind is zero */
	uint64_t byte_count, memory_bytes;
	uint64_t code_bytes;  /* in front, to be executed */
	uint64_t entry, work; /* the entry code, mw_attach_work_t */
} mw_blob_t;

/* Lays out the blob for the address.  Returns 0, or -1: this command was built with a blob that is
 * not as state/attach.h has it. The caller calls mw_blob_free(). */
int mw_blob_lay_out(uint64_t address, mw_blob_t *out, mw_error_t *error);
void mw_blob_free(mw_blob_t *blob);

/* A blob in a process. */
typedef struct mw_placed_blob {
	uint64_t address, bytes, code_bytes; /* of its memory */
	uint64_t entry, work;                /* addresses */
	bool is_empty;                       /* the memory is mapped, and nothing is in it */
	bool is_current;                     /* it is the one that this command has */
} mw_placed_blob_t;

/* Finds the blob, or memory that was mapped for one. False: there is none. */
bool mw_blob_find(const mw_address_space_t *space, mw_placed_blob_t *out);

#endif
