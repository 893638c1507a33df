/* SPDX-License-Identifier: MIT
 * flood.h -- follows pointers from memory to blocks, and from block to block.
 * Layer: leak. In a copy of the process: see block_index.h. Each aligned word that holds an address
 * inside a block counts as a pointer to the block, unless mw_leak_flood_start() says otherwise. */
#ifndef MW_LEAK_FLOOD_H
#define MW_LEAK_FLOOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leak/block_index.h"
#include "state/leak_check.h"

/* Takes memory for the list of blocks to be followed. Returns false if the kernel refused. `step`
 * is called at times with the bytes of blocks that were read so far. The last two as in
 * mw_leak_scope_t. */
bool mw_leak_flood_start(void (*step)(uint64_t block_bytes), size_t max_offset_bytes,
			 size_t step_bytes);
/* Marks as REACHED the blocks that the words lead to, directly and through other blocks. */
void mw_leak_flood(const uintptr_t *words, size_t count);
/* Notes from now on who holds the blocks of records. Takes memory for so many records; returns
 * false if the kernel refused. The blocks are then added, before anything is followed. */
bool mw_leak_flood_note_holders(uint64_t records);
void mw_leak_flood_add_record(uint32_t record, uint64_t bit);
/* Where the words of the next mw_leak_flood() are; `address` is that of the first. */
void mw_leak_flood_from(const mw_state_holder_t *root, uintptr_t address);
/* Returns who holds the record's block, which is REACHED; its sequence number is not set. */
mw_state_holder_t mw_leak_holder(uint32_t record);
/* Marks leaked blocks as DIRECT, those that no other leaked block leads to; of each cycle that
 * nothing else leads to, one block. Called when all roots were followed. Returns false if there is
 * no memory. */
bool mw_leak_find_direct(void);
/* Adds up the leaked blocks that a leaked block leads to, directly and through others, without
 * itself and without those that an earlier call counted. Called after mw_leak_map_clear(
 * MW_LEAK_OWNED). */
void mw_leak_count_below(const mw_leak_block_t *block, uint64_t *blocks, uint64_t *bytes);
/* Bytes of blocks that were read. */
uint64_t mw_leak_flood_bytes(void);

#endif
