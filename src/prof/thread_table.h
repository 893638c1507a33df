/* SPDX-License-Identifier: MIT
 * thread_table.h -- the threads that took samples, found by their id while a profile is written.
 * Layer: prof.  One writer at a time; no lock, no malloc: async-signal-safe. */
#ifndef MW_PROF_THREAD_TABLE_H
#define MW_PROF_THREAD_TABLE_H

#include <stdint.h>

/* Twice the entries that the image keeps; a power of two. */
#define MW_THREAD_TABLE_SLOTS 2048u
/* Threads that are out of the ring by now. */
#define MW_THREAD_UNKNOWN UINT32_MAX

typedef struct mw_thread_table {
	struct {
		uint32_t thread_id; /* of the kernel; 0: empty */
		uint32_t entry;
	} slots[MW_THREAD_TABLE_SLOTS];
	uint32_t count; /* entries are 0 .. count - 1 */
	uint64_t first; /* number of entry 0 among all threads of the process */
} mw_thread_table_t;

/* Between mw_image_hold() and mw_image_release(), as the next two. */
void mw_thread_table_fill(mw_thread_table_t *table);
/* Of a thread id; a number that was given again means the last that had it. */
uint32_t mw_thread_table_entry(const mw_thread_table_t *table, uint32_t thread_id);
/* In the order of the threads' first samples, from 0 on: jemalloc's thr_uid. */
uint64_t mw_thread_table_number(const mw_thread_table_t *table, uint32_t entry);
/* Copies the name, printable and NUL-terminated; "" when there is none. */
void mw_thread_table_name(const mw_thread_table_t *table, uint32_t entry, char name[16]);

#endif
