/* SPDX-License-Identifier: MIT
 * place.h -- where on the stack a frame is, in half a word.
 * Layer: prof/unwind. */
#ifndef MW_PROF_UNWIND_PLACE_H
#define MW_PROF_UNWIND_PLACE_H

#include <stdint.h>

/* Address on a stack, in words, modulo 2^32: places within 32 GiB of each other differ. A frame has
 * the place of its stack pointer; the next frame further out begins where it ends. */
#define MW_UNWIND_PLACE(address) ((uint32_t)((uintptr_t)(address) >> 3))

#endif
