/* SPDX-License-Identifier: MIT
 * flood.h -- follows pointers from memory to blocks, and from block to block.
 * Layer: leak. In a copy of the process: see block_index.h. Each aligned word that holds an address
 * inside a block counts as a pointer to the block. */
#ifndef MW_LEAK_FLOOD_H
#define MW_LEAK_FLOOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes memory for the list of blocks to be followed. Returns false if the kernel refused. */
bool mw_leak_flood_start(void);
/* Marks as REACHED the blocks that the words lead to, directly and through other blocks. */
void mw_leak_flood(const uintptr_t *words, size_t count);
/* Marks leaked blocks as DIRECT, those that no other leaked block leads to; of each cycle that
 * nothing else leads to, one block. Called when all roots were followed. */
void mw_leak_find_direct(void);
/* Bytes of blocks that were read. */
uint64_t mw_leak_flood_bytes(void);

#endif
