/* SPDX-License-Identifier: MIT
 * size_class.h -- the sizes blocks come in.
 * Layer: heap.  Steps of 16 B up to 128 B, then four steps a doubling: at most 20 % of a block is
 * waste.  Blocks of the classes are served by the fast paths; larger requests get slices or
 * mappings of their own. */
#ifndef MW_HEAP_SIZE_CLASS_H
#define MW_HEAP_SIZE_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/compiler.h"

#define MW_BLOCK_ALIGN 16u /* of every block: max_align_t */
#define MW_CLASS_COUNT 44u /* 16 B .. 64 KiB */
#define MW_SMALL_MAX_BYTES 65536u

/* The first class in use.  What the hardened library writes into a free block
 * (heap/harden/harden.h) takes 32 bytes. */
#ifdef MW_HARDENED
#define MW_CLASS_LEAST 1
#else
#define MW_CLASS_LEAST 0
#endif

/* Block sizes in bytes, by class. */
extern const uint32_t mw_class_bytes[MW_CLASS_COUNT];
/* Slices that a whole number of the class's blocks fills: see "run" in page.h. */
extern const uint8_t mw_class_run_slices[MW_CLASS_COUNT];
/* 2^64 over the block size, rounded up, by class. */
extern const uint64_t mw_class_reciprocal[MW_CLASS_COUNT];

/* Class of a tiny size, indexed by its bytes: fewer instructions than computing it. */
#define MW_TINY_MAX_BYTES 1024u
#define MW_TINY_CLASSES 20u
/* Above tiny: their list heads are stacks (heap/local/head.h). */
#define MW_STACK_CLASSES (MW_CLASS_COUNT - MW_TINY_CLASSES)
extern const uint8_t mw_class_of_tiny[MW_TINY_MAX_BYTES + 1];

/* For 128 < bytes <= MW_SMALL_MAX_BYTES: the two bits below the leading one choose the step. */
MW_ALWAYS_INLINE unsigned mw_class_computed(size_t bytes) {
	unsigned log2 = mw_log2_floor(bytes - 1);
	/* That is 8 + 4 * (log2 - 7) + the two bits: the leading one counts as 4 of these. */
	return (unsigned)((bytes - 1) >> (log2 - 2)) + 4 * log2 - 24;
}

/* Is the offset a multiple of the class's block size?  A multiplication in place of a division
 * (Lemire, Kaser, Kurz, "Faster remainder by direct computation", 2019). */
static inline bool mw_class_divides(unsigned size_class, uint32_t offset_bytes) {
	return offset_bytes * mw_class_reciprocal[size_class] < mw_class_reciprocal[size_class];
}

/* The offset over the class's block size, in the same way. */
static inline uint32_t mw_class_index(unsigned size_class, uint32_t offset_bytes) {
	return (uint32_t)((unsigned __int128)offset_bytes * mw_class_reciprocal[size_class] >> 64);
}

/* bytes <= MW_SMALL_MAX_BYTES. */
MW_ALWAYS_INLINE unsigned mw_class_of(size_t bytes) {
	return MW_LIKELY(bytes <= MW_TINY_MAX_BYTES) ? mw_class_of_tiny[bytes]
						     : mw_class_computed(bytes);
}

#endif
