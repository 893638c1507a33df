/* SPDX-License-Identifier: MIT
 * records.h -- the live samples, one record each, and the counters they are summed in.
 * Layer: prof.  Called in the caller's turn (gate.h).  A record is taken by the thread that
 * allocates and given back by the one that frees the block. */
#ifndef MW_PROF_RECORDS_H
#define MW_PROF_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/hooks.h"
#include "prof/image.h"

typedef struct mw_sample {
	uint32_t stack;
	uint32_t thread_id;
	uint64_t address;
	uint64_t requested_bytes;
	uint64_t usable_bytes;
	uint64_t weight_q16;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
} mw_sample_t;

/* How a sampled block went. */
typedef struct mw_release {
	uint64_t time_ns;   /* CLOCK_MONOTONIC */
	uint32_t thread_id; /* who freed it; 0: not known */
	bool temporary;     /* its thread had not allocated again */
} mw_release_t;

/* Adds the sample to the counters of its stack and of the process.  The record to keep with the
 * block, or 0 when the records are full: it then counts as allocated, but not as live. */
mw_record_id_t mw_records_add(const mw_sample_t *sample);
/* What was added under this number.  False for a record that is free, or of before a reset. */
bool mw_records_look(mw_record_id_t record, mw_sample_t *sample);
/* It is about to be removed: the record of a block that lived for long is in no cache. */
static inline void mw_records_prefetch(mw_record_id_t record) {
	mw_twin_prefetch(mw_image_twin(MW_SECTION_RECORDS, record));
}
/* Takes from the live counters exactly what was added, unless a reset came in between.  The block's
 * address. */
uint64_t mw_records_remove(mw_record_id_t record, const mw_release_t *release);
/* All counters to zero; older records do not count any more.  With the gate closed. */
void mw_records_reset(void);
/* Estimate of all bytes allocated so far, resets taken out. */
uint64_t mw_records_allocated_bytes(void);

#endif
