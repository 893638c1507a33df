/* SPDX-License-Identifier: MIT
 * job_queue.h -- the places of one file that are to be looked up, shared by several worker
 * processes.
 * Layer: symbol/workers.  Private to this folder.  A queue is in shared memory.  One worker
 * lists the places and opens the queue; each worker then takes one unit of the debug information
 * at a time.  A hostile file may have taken over a worker, so workers check everything they read
 * from the queue. */
#ifndef MW_TOOL_SYMBOL_WORKERS_JOB_QUEUE_H
#define MW_TOOL_SYMBOL_WORKERS_JOB_QUEUE_H

#include <stddef.h>
#include <stdint.h>

/* Most workers of one file.  Each may unpack the debug information for itself. */
#define MW_QUEUE_WORKERS_MAX 4

typedef struct mw_place {
	uint64_t unit;
	uint64_t address;  /* address in the ELF file */
	uint32_t location; /* location of the profile */
} mw_place_t;

typedef struct mw_queue mw_queue_t;

/* Makes a queue.  NULL: there is no memory. */
mw_queue_t *mw_queue_new(size_t capacity);
void mw_queue_free(mw_queue_t *queue);

/* Returns the array of places, with room for `capacity` entries.  One worker fills it in,
 * ordered by unit. */
mw_place_t *mw_queue_places(mw_queue_t *queue);
/* Opens the queue, so that the other workers begin. */
void mw_queue_open(mw_queue_t *queue, size_t count);
/* Ends the wait of all workers for a queue whose first worker died before opening it. */
void mw_queue_abandon(mw_queue_t *queue);
/* Waits until the queue is open.  Returns how many places are left. */
size_t mw_queue_wait(mw_queue_t *queue);
/* Takes the places of the next unit, or some thousand of them.  Returns their number; 0 = none
 * is left. */
size_t mw_queue_take(mw_queue_t *queue, const mw_place_t **places);

#endif
