/* SPDX-License-Identifier: MIT
 * collect.h -- takes stacks out of the tables to which nothing refers any more.
 * Layer: prof/table. A program that is sampled for months has ever new stacks. A collection
 * forgets a stack, with its nodes, frames, sizes and lifetimes, if it has no live sample, no part
 * of the peak, no sample since the collection before, less than a thousandth of all bytes that
 * were allocated, and no other user (mw_collect_keep()). Its counters are added to stack 0,
 * "unknown", so that the stacks still add up to the totals. Entries that stay do not move: a
 * process that is killed during a collection leaves a consistent file.
 *
 * A collection is due when as many stacks were added as the last one needed to keep, 4,096 at
 * least, or when a table is full; at most every second; full tables of which little was taken out
 * wait for a minute. So the tables hold at most about three times the stacks in use.
 *
 * All functions but mw_collect_is_due() and mw_collect_visit() are called with the tables
 * quiesced. None calls malloc. */
#ifndef MW_PROF_TABLE_COLLECT_H
#define MW_PROF_TABLE_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

/* now_ns: CLOCK_MONOTONIC. */
bool mw_collect_is_due(uint64_t now_ns);
/* Begins a collection: finds out which stacks are in use. Returns false if the kernel refuses
 * memory; the collection is then over. Blocks the signals of the thread. */
bool mw_collect_start(uint64_t now_ns);
/* Keeps a stack to which something else refers: an event, a CPU sample. */
void mw_collect_keep(uint64_t stack);
/* Forgets the other stacks, and ends the collection. */
void mw_collect_finish(void);
/* A whole collection, which keeps the stacks of events and CPU samples. */
void mw_collect(uint64_t now_ns);
/* Passes the address ranges of the memory that collections keep to `see`. */
void mw_collect_visit(void (*see)(uintptr_t start, uintptr_t limit));

#endif
