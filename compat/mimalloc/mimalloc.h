/* SPDX-License-Identifier: MIT
 * mimalloc.h -- functions that the sources of mimalloc's interface share.
 * Layer: compat/mimalloc, the door of this folder.  The interface itself is <mimalloc.h>; no other
 * folder knows its names.  The folder is a library of its own, libmimalloc_mallow.so, which calls
 * libmallow by the table of api/compat/compat_calls.h; the filters libmimalloc*.so.* stand for
 * both. Any thread may call any function, a signal handler none.
 *
 * Reading order: mimalloc.c (allocate, resize, free), aligned (alignment, growth with zeros),
 * posix_names (strings, functions of POSIX and others), new (operator new), mi_heap.h with mi_heap
 * and mi_heap_alloc (mi_heap_t), regions (memory for heaps), options, messages, stats, process_info
 * (times and memory of the process, subprocesses). */
#ifndef MW_COMPAT_MIMALLOC_MIMALLOC_H
#define MW_COMPAT_MIMALLOC_MIMALLOC_H

/* These functions call each other directly. */
#define mi_decl_export __attribute__((visibility("protected")))
#include <mimalloc.h>

#include <mimalloc-stats.h>
#include <stdatomic.h>

#include "api/compat/compat_calls.h"
#include "base/compiler.h"

extern const mw_compat_calls_t *_Atomic mw_mi_known_calls;
/* Ends the program if libmallow is of another version. */
MW_NOINLINE const mw_compat_calls_t *mw_mi_find_calls(void);

/* Returns libmallow's functions. */
MW_ALWAYS_INLINE const mw_compat_calls_t *mw_mi_calls(void) {
	/* Relaxed: the table is the loader's, and was filled before its address was known. */
	const mw_compat_calls_t *calls =
		atomic_load_explicit(&mw_mi_known_calls, memory_order_relaxed);
	return MW_LIKELY(calls != NULL) ? calls : mw_mi_find_calls();
}

MW_ALWAYS_INLINE const mw_compat_blocks_t *mw_mi_blocks(void) {
	return &mw_mi_calls()->blocks;
}

MW_ALWAYS_INLINE const mw_compat_arenas_t *mw_mi_arenas(void) {
	return &mw_mi_calls()->arenas;
}

/* Allocates a block.  `align` is a power of two.  `zero`: all usable bytes are zero, so that
 * mw_mi_resize() can keep that promise when the block grows.  NULL: no memory; errno is ENOMEM. */
void *mw_mi_alloc(size_t bytes, size_t align, bool zero);
/* Resizes the block, in place if possible.  NULL as `block` allocates; 0 bytes give a block.
 * `zero`: the block was allocated with `zero`, and usable bytes beyond `bytes` stay zero.  NULL: no
 * memory; the old block stays. */
void *mw_mi_resize(void *block, size_t bytes, bool zero);
/* Allocate and resize with any alignment; errno is EINVAL if it is not a power of two.  The address
 * `offset` bytes behind the start of the block is aligned; `offset` is a multiple of the alignment.
 * The block comes from the heap.  NULL: from the thread's default heap. */
void *mw_mi_alloc_aligned(mi_heap_t *heap, size_t bytes, size_t align, size_t offset, bool zero);
void *mw_mi_resize_aligned(mi_heap_t *heap, void *block, size_t bytes, size_t align, size_t offset,
			   bool zero);
/* Usable bytes of the block; 0 for NULL. */
size_t mw_mi_usable(const void *block);
/* Stores count * size.  Returns false, with errno set, if that is too large for any block. */
bool mw_mi_multiply(size_t count, size_t size, size_t *bytes);

/* Calls the program's function for deferred frees, if there is one.  Slow paths call it. */
void mw_mi_beat(bool force);

/* Writes a message to the program's output function, or to stderr.  An error is written if options
 * ask for it, and its number is passed to the program's error function.  Keep errno. */
MW_COLD void mw_mi_print(const char *format, ...) MW_PRINTF(1, 2);
MW_COLD void mw_mi_error(int error, const char *format, ...) MW_PRINTF(2, 3);

/* A text that is composed and then printed or copied.  It is on the stack, because statistics must
 * be printed also when there is no memory. */
#define MW_MI_TEXT_BYTES 16384

/* `length` includes characters that did not fit. */
typedef struct mw_mi_text {
	size_t length;
	char bytes[MW_MI_TEXT_BYTES];
} mw_mi_text_t;

void mw_mi_text_add(mw_mi_text_t *text, const char *format, ...) MW_PRINTF(2, 3);
/* Passes the text line by line to the function; NULL: to the destination of messages. */
void mw_mi_text_print(const mw_mi_text_t *text, mi_output_fun *out, void *arg);
/* Adds two lines about times and memory of the process. */
void mw_mi_text_process(mw_mi_text_t *text);

#endif
