/* SPDX-License-Identifier: MIT
 * mimalloc.h -- functions that the sources of mimalloc's interface share.
 * Layer: compat/mimalloc, the door of this folder.  The interface itself is <mimalloc.h>; it stands
 * on src/api, and no other folder knows its names.  Any thread may call any function, a signal
 * handler none.
 *
 * Reading order: mimalloc.c (allocate, resize, free), aligned (alignment, growth with zeros),
 * names (strings, functions of POSIX and others), new (operator new). */
#ifndef MW_COMPAT_MIMALLOC_MIMALLOC_H
#define MW_COMPAT_MIMALLOC_MIMALLOC_H

#include <mimalloc.h>

#include "base/compiler.h"

/* Allocates a block.  `align` is a power of two.  `zero`: all usable bytes are zero, so that
 * mw_mi_resize() can keep that promise when the block grows.  NULL: no memory; errno is ENOMEM. */
void *mw_mi_alloc(size_t bytes, size_t align, bool zero);
/* Resizes the block, in place if possible.  NULL as `block` allocates; 0 bytes give a block.
 * `zero`: the block was allocated with `zero`, and usable bytes beyond `bytes` stay zero.  NULL: no
 * memory; the old block stays. */
void *mw_mi_resize(void *block, size_t bytes, bool zero);
/* The same for any alignment; errno is EINVAL if it is not a power of two.  The address `offset`
 * bytes behind the start of the block is aligned; `offset` is a multiple of the alignment. */
void *mw_mi_alloc_aligned(size_t bytes, size_t align, size_t offset, bool zero);
void *mw_mi_resize_aligned(void *block, size_t bytes, size_t align, size_t offset, bool zero);
/* Usable bytes of the block; 0 for NULL. */
size_t mw_mi_usable(const void *block);
/* Stores count * size.  Returns false, with errno set, if that is too large for any block. */
bool mw_mi_multiply(size_t count, size_t size, size_t *bytes);

#endif
