/* SPDX-License-Identifier: MIT
 * thread_table.h -- finds the threads that took samples by their id, while a profile is written.
 * Layer: prof/sample.  One writer at a time; no lock, no malloc: async-signal-safe. */
#ifndef MW_PROF_SAMPLE_THREAD_TABLE_H
#define MW_PROF_SAMPLE_THREAD_TABLE_H

#include <stdint.h>

/* Twice the entries of MW_SECTION_THREADS; a power of two. */
#define MW_THREAD_TABLE_SLOTS 2048u
/* Result for a thread whose entry another thread has taken. */
#define MW_THREAD_UNKNOWN UINT32_MAX

typedef struct mw_thread_table {
	struct {
		uint32_t thread_id; /* the kernel's id; 0: the slot is empty */
		uint32_t entry;
	} slots[MW_THREAD_TABLE_SLOTS];
	uint32_t count; /* entries are 0 .. count - 1 */
	uint64_t first; /* number of entry 0 among all threads of the process */
} mw_thread_table_t;

/* Fills the table with the threads that are in the ring now. */
void mw_thread_table_fill(mw_thread_table_t *table);
/* Returns the entry of the last thread that had this id, or MW_THREAD_UNKNOWN. */
uint32_t mw_thread_table_entry(const mw_thread_table_t *table, uint32_t thread_id);
/* Returns the thread's number in the order of the threads' first samples, from 0 on. jemalloc calls
 * it thr_uid. */
uint64_t mw_thread_table_number(const mw_thread_table_t *table, uint32_t entry);
/* Copies the entry's name, NUL-terminated, with '_' for unprintable characters. "": no name. */
void mw_thread_table_name(const mw_thread_table_t *table, uint32_t entry, char name[16]);

#endif
