/* SPDX-License-Identifier: MIT
 * harden_empty.h -- blocks of 0 bytes in the hardened library: each has an address of its own, at
 * which nothing can be read or written.
 * Layer: heap.  Any thread; no locks.  The addresses lie in one range without access
 * (MW_MAP_EMPTY), and are taken in turn: one that was freed comes back after all others. */
#ifndef MW_HEAP_HARDEN_EMPTY_H
#define MW_HEAP_HARDEN_EMPTY_H

/* Returns a block of 0 bytes, aligned to 16; NULL: nearly all addresses are in use, or the kernel
 * refused the range.  The caller then takes an ordinary block. */
void *mw_harden_empty_alloc(void);
/* Ends the program when the address in the range is not that of a live block. */
void mw_harden_empty_check(const char *function, const void *block);
void mw_harden_empty_free(const char *function, const void *block);

#endif
