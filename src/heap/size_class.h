/* SPDX-License-Identifier: MIT
 * size_class.h -- the sizes blocks come in.
 * Layer: heap.  Steps of 16 B up to 128 B, then four steps a doubling: at most 20 % of a block is
 * waste.  Small classes live in pages of one slice and are served by the fast path; medium ones in
 * pages of MW_MEDIUM_SLICES slices.  Larger requests get slices or mappings of their own. */
#ifndef MW_HEAP_SIZE_CLASS_H
#define MW_HEAP_SIZE_CLASS_H

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/compiler.h"

#define MW_BLOCK_ALIGN 16u   /* of every block: max_align_t */
#define MW_SMALL_CLASSES 32u /* 16 B .. 8 KiB */
#define MW_CLASS_COUNT 44u   /* .. 64 KiB */
#define MW_SMALL_MAX_BYTES 8192u
#define MW_MEDIUM_MAX_BYTES 65536u

/* Block sizes in bytes, by class. */
extern const uint32_t mw_class_bytes[MW_CLASS_COUNT];
/* Class of a small size, indexed by (bytes + 15) / 16. */
extern const uint8_t mw_class_of_small[MW_SMALL_MAX_BYTES / MW_BLOCK_ALIGN + 1];

/* Class of a tiny size, indexed by its bytes: two instructions less on the fast path than the table
 * above, for a kilobyte of shared read-only data. */
#define MW_TINY_MAX_BYTES 1024u
extern const uint8_t mw_class_of_tiny[MW_TINY_MAX_BYTES + 1];

MW_ALWAYS_INLINE unsigned mw_class_small(size_t bytes) {
	return mw_class_of_small[(bytes + MW_BLOCK_ALIGN - 1) / MW_BLOCK_ALIGN];
}

/* For 128 < bytes <= MW_MEDIUM_MAX_BYTES: the two bits below the leading one choose the step. */
static inline unsigned mw_class_computed(size_t bytes) {
	unsigned log2 = mw_log2_floor(bytes - 1);
	return 8 + (log2 - 7) * 4 + (unsigned)(((bytes - 1) >> (log2 - 2)) & 3);
}

/* bytes <= MW_MEDIUM_MAX_BYTES. */
static inline unsigned mw_class_of(size_t bytes) {
	return bytes <= MW_SMALL_MAX_BYTES ? mw_class_small(bytes) : mw_class_computed(bytes);
}

#endif
