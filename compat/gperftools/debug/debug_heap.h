/* SPDX-License-Identifier: MIT
 * debug_heap.h -- the checked heap of libtcmalloc_debug: each block remembers the function and the
 * stack that allocated it, and a freed block waits before its memory is used again.
 * Layer: compat/gperftools/debug, the door of this folder.  The folder is a library of its own,
 * libgperftools_debug_mallow.so, which stands in front of libmallow_secure.so and defines malloc(),
 * free() and the C++ operators.  Memory comes from libmallow_secure, which finds pointers that no
 * block has, and writes behind the guards of this library.
 *
 * A block lies between two guards of 16 bytes with a pattern of its address.  A table that is apart
 * from the blocks has one row a block: kind, size, stacks.  One lock protects the table, the stacks
 * and the queue of freed blocks; no function of libmallow is called with the lock held.
 *
 * Reading order: debug_settings.h (variables), debug_stacks.h (stacks, each held once),
 * debug_blocks.h (the table), debug_memory.h (guards and page fence), debug_report.h (messages),
 * debug_heap.c, debug_names.c (the exported functions). */
#ifndef MW_COMPAT_GPERFTOOLS_DEBUG_HEAP_H
#define MW_COMPAT_GPERFTOOLS_DEBUG_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "compat/gperftools/debug/debug_blocks.h"

/* A call of the program: its name in messages, and where it returns to. */
typedef struct mw_gpd_call {
	const char *function;
	void *caller;
	mw_gpd_kind_t kind;
	/* Returns whether the call may free a block of malloc(); NULL: it may not. */
	bool (*takes_malloc)(void);
} mw_gpd_call_t;

#define MW_GPD_NO_SIZE ((size_t)-1)

/* Returns a block filled with 0xab or, if `zeroed`, with 0; NULL with ENOMEM, or with EINVAL for an
 * alignment that is no power of two.  `align` 0: as malloc() aligns. */
void *mw_gpd_allocate(const mw_gpd_call_t *call, size_t bytes, size_t align, bool zeroed);
/* Frees a block, or NULL.  `claimed_bytes`: the size that the program states, or MW_GPD_NO_SIZE.
 * Ends the program with a message if the block was allocated with another kind of function, was
 * freed before, has another size, or has a damaged guard. */
void mw_gpd_release(const mw_gpd_call_t *call, void *block, size_t claimed_bytes);
/* Does the work of realloc(). The block always moves. */
void *mw_gpd_resize(const mw_gpd_call_t *call, void *block, size_t bytes);
/* Returns the bytes that were requested; 0 for NULL. */
size_t mw_gpd_usable_bytes(const mw_gpd_call_t *call, const void *block);
/* Checks the guards of all live blocks and the fill of all freed ones.  Ends the program with a
 * message if one is damaged. */
void mw_gpd_verify_all(void);
/* Checks one block and its kind in the same way.  An address without a row passes. */
void mw_gpd_verify_block(const mw_gpd_call_t *call, const void *block);

#endif
