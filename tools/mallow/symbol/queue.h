/* SPDX-License-Identifier: MIT
 * queue.h -- the places of one file that are to be looked up, shared by the processes that do.
 * Layer: tools/symbol.  Private to this folder.  A queue is in shared memory: one worker lists the
 * places and opens it, each takes a unit of the debug information at a time.  Workers may have been
 * taken over by the file they read, so others take nothing in here for granted. */
#ifndef MW_TOOL_SYMBOL_QUEUE_H
#define MW_TOOL_SYMBOL_QUEUE_H

#include <stddef.h>
#include <stdint.h>

/* Workers of one file.  Each may unpack the debug information for itself. */
#define MW_QUEUE_WORKERS_MAX 4

typedef struct mw_place {
	uint64_t unit;
	uint64_t address;  /* in the file */
	uint32_t location; /* of the profile */
} mw_place_t;

typedef struct mw_queue mw_queue_t;

/* NULL: there is no memory for it. */
mw_queue_t *mw_queue_new(size_t capacity);
void mw_queue_free(mw_queue_t *queue);

/* Room for as many as it was made for; to be filled in by one worker, in the order of units. */
mw_place_t *mw_queue_places(mw_queue_t *queue);
/* Lets the others begin. */
void mw_queue_open(mw_queue_t *queue, size_t count);
/* Has nobody wait any longer for one that is not open: the worker that was to has died. */
void mw_queue_abandon(mw_queue_t *queue);
/* Waits until it is open; returns how many places are left. */
size_t mw_queue_wait(mw_queue_t *queue);
/* Takes the places of the next unit, or some thousand of them; returns how many, 0: none is left.
 */
size_t mw_queue_take(mw_queue_t *queue, const mw_place_t **places);

#endif
