/* SPDX-License-Identifier: MIT
 * heap_walk.h -- publishes sums over the heap by size class, its address ranges, and how much of
 * them was resident at the process's peak.
 * Layer: prof/control. The command uses them to account for resident memory. */
#ifndef MW_PROF_CONTROL_HEAP_WALK_H
#define MW_PROF_CONTROL_HEAP_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "heap/stats/heap_walk.h"

/* Sets the function that walks the heap; NULL: no walks. Called once, before threads exist. */
void mw_heap_walk_start(void (*walk)(const mw_heap_walk_sink_t *sink));
/* Walks the heap and writes the result into the tables if the last walk is old enough, or always
 * with `now`. The tables exist. Takes the
 * heap's locks. Called between mw_tables_enter() and mw_tables_leave(). */
void mw_heap_walk_take(bool now);
/* Returns whether the heap, at `in_use_bytes`, has grown so much since the last walk that a walk is
 * due. */
bool mw_heap_walk_is_due(size_t in_use_bytes);
/* Counts the resident pages of the last walk's ranges if the last tick found more resident memory
 * than there was at the count before, by 1/32; with `at_end`, if it found more at all. With
 * `at_end`, stores the most resident memory by the kernel's own count, too. Called as
 * mw_heap_walk_take(). */
void mw_heap_walk_count_resident(bool at_end);
/* Called in the child of a fork. */
void mw_heap_walk_forked(void);

#endif
