/* SPDX-License-Identifier: MIT
 * shelf.h -- lists of free tiny blocks on their way from thread to thread, a shelf a size class.
 * Layer: heap.  Lock-free, any thread.
 *
 * A thread that frees what others made puts a list of such blocks here as a whole, and a thread
 * that runs out takes it as a whole: one atomic operation each, whatever pages the blocks are of.
 * These count as used in their pages meanwhile.
 *
 * A place is one word, the first block's address (48 bits) and the number of blocks; it is taken by
 * an exchange, so there is no ABA.  When all places are taken, lists grow: whoever puts takes one,
 * joins it to its own and puts both.  A full shelf closes: nobody takes as much as is put, and what
 * lies here keeps pages from being given back.  It opens again when somebody finds it empty. */
#ifndef MW_HEAP_SHELF_H
#define MW_HEAP_SHELF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Nothing was ever put: a program whose threads keep to their own blocks pays for one look. */
extern _Atomic bool mw_shelf_used;

/* Lists do not grow beyond so many bytes. */
#define MW_SHELF_LIST_BYTES (16u << 10)

/* Linked blocks of one class. */
typedef struct mw_shelf_list {
	void *first, *last; /* last == NULL: not known, the list goes to an empty place or none */
	uint32_t count;     /* 1 .. 65535 */
} mw_shelf_list_t;

/* False: the shelf is closed, or full, which closes it; the list, perhaps with another before it,
 * is the caller's, and so is the duty to clear the shelf. */
bool mw_shelf_put(unsigned size_class, mw_shelf_list_t *list);
/* The list put last, or nearly so; its length, 0 if there is none, which opens the shelf. */
uint32_t mw_shelf_take_slow(unsigned size_class, void **first);
static inline uint32_t mw_shelf_take(unsigned size_class, void **first) {
	/* Relaxed: seen late, the first list waits for the next look. */
	return atomic_load_explicit(&mw_shelf_used, memory_order_relaxed)
		       ? mw_shelf_take_slow(size_class, first)
		       : 0;
}
/* The same for whoever clears a shelf. */
uint32_t mw_shelf_clear_one(unsigned size_class, void **first);

#endif
