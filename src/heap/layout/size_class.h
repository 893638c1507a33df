/* SPDX-License-Identifier: MIT
 * size_class.h -- the sizes of blocks.
 * Layer: heap.  Steps of 16 B up to 128 B, then four steps a doubling: at most 20 % of a block is
 * waste.  The fast paths serve blocks of the classes; larger requests get slices or mappings of
 * their own.
 *
 * Door of heap/layout: how memory is cut, without a lock or a call to the kernel.  Reading order:
 * size_class, page.h (chunks, slices, pages and their owners), link.h (links of free blocks),
 * queue.h (lists of pages), remote_word.h (the delayed list of a page), slices.h (runs of slices),
 * slabs.h and record.h (what sampling keeps), counters.h, harden_block.h and harden_keys.c (the
 * hardened library).  Uses src/base and src/os. */
#ifndef MW_HEAP_SIZE_CLASS_H
#define MW_HEAP_SIZE_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/compiler.h"

#define MW_BLOCK_ALIGN 16u /* alignment of every block, that of max_align_t */
#define MW_CLASS_COUNT 44u /* 16 B .. 64 KiB */
#define MW_SMALL_MAX_BYTES 65536u

/* The first class in use.  The hardened library writes 32 bytes into a free block
 * (heap/harden/harden.h). */
#ifdef MW_HARDENED
#define MW_CLASS_LEAST 1
#else
#define MW_CLASS_LEAST 0
#endif

/* Bytes of a block of each class. */
extern const uint32_t mw_class_bytes[MW_CLASS_COUNT];
/* Slices that a whole number of the class's blocks fills: see "Run" in page.h. */
extern const uint8_t mw_class_run_slices[MW_CLASS_COUNT];
/* 2^64 divided by the block size, rounded up, for each class. */
extern const uint64_t mw_class_reciprocal[MW_CLASS_COUNT];

/* Class of each tiny size: a table takes fewer instructions than computing the class. */
#define MW_TINY_MAX_BYTES 1024u
#define MW_TINY_CLASSES 20u
/* Classes above tiny: free() pushes onto their tcache lists (heap/local/tcache.h). */
#define MW_ABOVE_TINY_CLASSES (MW_CLASS_COUNT - MW_TINY_CLASSES)
extern const uint8_t mw_class_of_tiny[MW_TINY_MAX_BYTES + 1];

/* For 128 < bytes <= MW_SMALL_MAX_BYTES: the two bits below the leading one choose the step. */
MW_ALWAYS_INLINE unsigned mw_class_computed(size_t bytes) {
	unsigned log2 = mw_log2_floor(bytes - 1);
	/* This is 8 + 4 * (log2 - 7) + the two bits: the leading bit of the shifted value counts as
	 * 4. */
	return (unsigned)((bytes - 1) >> (log2 - 2)) + 4 * log2 - 24;
}

/* Returns whether the offset is a multiple of the class's block size.  A multiplication in place of
 * a division (Lemire, Kaser, Kurz, "Faster remainder by direct computation", 2019). */
static inline bool mw_class_divides(unsigned size_class, uint32_t offset_bytes) {
	return offset_bytes * mw_class_reciprocal[size_class] < mw_class_reciprocal[size_class];
}

/* Returns the offset divided by the class's block size, in the same way. */
static inline uint32_t mw_class_index(unsigned size_class, uint32_t offset_bytes) {
	return (uint32_t)((unsigned __int128)offset_bytes * mw_class_reciprocal[size_class] >> 64);
}

/* Returns the class of a size.  bytes <= MW_SMALL_MAX_BYTES. */
MW_ALWAYS_INLINE unsigned mw_class_of(size_t bytes) {
	return MW_LIKELY(bytes <= MW_TINY_MAX_BYTES) ? mw_class_of_tiny[bytes]
						     : mw_class_computed(bytes);
}

#endif
