/* SPDX-License-Identifier: MIT
 * alloc.h -- what the faces of the API share: allocation with start-up and errno.
 * Layer: api. */
#ifndef MW_API_ALLOC_H
#define MW_API_ALLOC_H

#include <stddef.h>

#include "heap/fast.h"

/* The slow ends of malloc() and its kin: start the library on its first use, set errno to ENOMEM on
 * failure and leave it alone otherwise. */
MW_NOINLINE void *mw_api_alloc(size_t bytes);
MW_NOINLINE void *mw_api_alloc_zeroed(size_t bytes);
MW_NOINLINE void *mw_api_alloc_aligned(size_t align, size_t bytes);
MW_NOINLINE void *mw_api_realloc(void *block, size_t bytes);

#endif
