/* SPDX-License-Identifier: MIT
 * cfi_index.h -- a sorted index of the FDEs of a .eh_frame that no .eh_frame_hdr describes.
 * Layer: prof/unwind/cfi. gcc links static programs without that header. The caller provides the
 * memory of the index. As in cfi.h, the bytes are not trusted. */
#ifndef MW_PROF_UNWIND_CFI_INDEX_H
#define MW_PROF_UNWIND_CFI_INDEX_H

#include <stdint.h>

#include "prof/unwind/cfi/cfi.h"

/* An entry: the function's distance from the area in the upper 32 bits, biased so that entries sort
 * by address; the FDE's offset in the area in the lower 32 bits. */
typedef uint64_t mw_cfi_index_entry_t;

/* Returns the number of FDEs at most. `frames`: the whole .eh_frame. */
uint32_t mw_cfi_index_capacity(const mw_cfi_area_t *frames);

/* Fills the index with the FDEs of code in [text_lo, text_hi), sorted by address, and returns their
 * number. FDEs whose code is more than 2 GiB away from the area are left out. Takes the time of a
 * sort if the linker did not order the FDEs by address. */
uint32_t mw_cfi_index_fill(const mw_cfi_area_t *frames, uintptr_t text_lo, uintptr_t text_hi,
			   mw_cfi_index_entry_t *entries, uint32_t capacity);

/* Like mw_cfi_search(). */
const uint8_t *mw_cfi_index_search(const mw_cfi_area_t *frames, const mw_cfi_index_entry_t *entries,
				   uint32_t count, uintptr_t pc);

#endif
