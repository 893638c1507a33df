/* SPDX-License-Identifier: MIT
 * records.h -- a record for each live sample, and the counters that sum the samples up.
 * Layer: prof/table, the door of this folder. Called with the tables' lock
 * (prof/store/table_lock.h). The thread that allocates takes a record; the thread that frees the
 * block returns it.
 *
 * Reading order: depot (each distinct stack once), records, records_reset (counters to zero), then
 * three further counters of each stack: sizes, lifetimes, peak; collect (takes unused stacks out),
 * reuse (the entries that are free then). */
#ifndef MW_PROF_TABLE_RECORDS_H
#define MW_PROF_TABLE_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/sample/hooks.h"
#include "prof/store/store.h"

typedef struct mw_sample {
	uint32_t stack;     /* number in the depot */
	uint32_t thread_id; /* the kernel's id of the thread that allocated */
	uint64_t address;
	uint64_t requested_bytes;
	uint64_t usable_bytes;
	uint64_t weight_q16; /* objects that the sample represents, in 1/65536 */
	uint64_t time_ns;    /* CLOCK_MONOTONIC */
} mw_sample_t;

/* The free of a sampled block. */
typedef struct mw_release {
	uint64_t time_ns;   /* CLOCK_MONOTONIC */
	uint32_t thread_id; /* the kernel's id of the thread that freed; 0: unknown */
	bool temporary;     /* the allocating thread allocated nothing else before the free */
} mw_release_t;

/* Adds the sample to the counters of its stack and of the process. Returns the number of the
 * sample's record, which the heap keeps with the block. Returns 0 when the records are full: the
 * sample then counts as allocated, but not as live. */
mw_record_id_t mw_records_add(const mw_sample_t *sample);
/* Copies the record's sample. Returns false if the record is free or older than the last reset. */
bool mw_records_read(mw_record_id_t record, mw_sample_t *sample);
/* Prefetches a record that is about to be removed. The record of an old block is in no cache. */
static inline void mw_records_prefetch(mw_record_id_t record) {
	mw_both_prefetch(mw_store_both(MW_SECTION_RECORDS, record));
}
/* Subtracts from the live counters exactly what was added, and frees the record. A record older
 * than the last reset changes no counter. Returns the block's address; 0: there is no such record.
 */
uint64_t mw_records_remove(mw_record_id_t record, const mw_release_t *release);
/* Exempts the sample's block from leak checks, with all that it leads to, or not any more. Called
 * with the tables locked. */
void mw_records_exempt(mw_record_id_t record, bool on);
/* Value of mw_state_record_t.reserved. A smaller number links a free record to the next. */
#define MW_RECORD_EXEMPT UINT64_MAX
static inline bool mw_record_is_exempt(const mw_state_record_t *record) {
	return record->reserved == MW_RECORD_EXEMPT;
}
/* Sets all counters to zero; existing records do not count any more. Called with the tables
 * quiesced. */
void mw_records_reset(void);
/* Returns the estimate of bytes allocated since the start or the last reset. */
uint64_t mw_records_allocated_bytes(void);

#endif
