/* SPDX-License-Identifier: MIT
 * debug_blocks.c -- a hash table by address, and the queue of freed blocks.
 *
 * The table does not grow: its pages are resident only where a bucket was used, and chains stay
 * short up to some million blocks. */
#include "compat/gperftools/debug/debug_blocks.h"

#include <pthread.h>

#define BUCKETS ((size_t)1 << 20)
#define QUEUE_MAX_BLOCKS 1024u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mw_gpd_block_t *buckets[BUCKETS];
static mw_gpd_block_t *unused;
static struct {
	mw_gpd_block_t *oldest, *newest;
	size_t bytes, blocks;
} queue;

void mw_gpd_lock(void) {
	pthread_mutex_lock(&lock);
}

void mw_gpd_unlock(void) {
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void keep_lock_across_fork(void) {
	pthread_atfork(mw_gpd_lock, mw_gpd_unlock, mw_gpd_unlock);
}

static mw_gpd_block_t **bucket_of(const void *start) {
	uint64_t hash = (uint64_t)(uintptr_t)start * 0x9e3779b97f4a7c15u;
	return &buckets[hash >> 44];
}

mw_gpd_block_t *mw_gpd_find(const void *start) {
	mw_gpd_block_t *block = *bucket_of(start);
	while (block && block->start != start)
		block = block->next;
	return block;
}

bool mw_gpd_add(const mw_gpd_block_t *block) {
	mw_gpd_block_t *row = unused;
	if (row)
		unused = row->next;
	else
		row = mw_gpd_take_memory(sizeof *row);
	if (!row)
		return false;
	mw_gpd_block_t **bucket = bucket_of(block->start);
	*row = *block;
	row->next = *bucket;
	*bucket = row;
	return true;
}

void mw_gpd_remove(mw_gpd_block_t *block) {
	mw_gpd_block_t **place = bucket_of(block->start);
	while (*place != block)
		place = &(*place)->next;
	*place = block->next;
	block->next = unused;
	unused = block;
}

void mw_gpd_visit(bool (*visit)(const mw_gpd_block_t *block, void *context), void *context) {
	for (size_t i = 0; i < BUCKETS; i++)
		for (const mw_gpd_block_t *block = buckets[i]; block; block = block->next)
			if (!visit(block, context))
				return;
}

void mw_gpd_queue_add(mw_gpd_block_t *block) {
	block->newer = NULL;
	if (queue.newest)
		queue.newest->newer = block;
	else
		queue.oldest = block;
	queue.newest = block;
	queue.bytes += block->bytes;
	queue.blocks++;
}

mw_gpd_block_t *mw_gpd_queue_take(size_t limit_bytes) {
	if (!queue.oldest || limit_bytes == SIZE_MAX ||
	    (queue.bytes <= limit_bytes && queue.blocks <= QUEUE_MAX_BLOCKS))
		return NULL;
	mw_gpd_block_t *block = queue.oldest;
	queue.oldest = block->newer;
	if (!queue.oldest)
		queue.newest = NULL;
	queue.bytes -= block->bytes;
	queue.blocks--;
	return block;
}
