/* SPDX-License-Identifier: MIT
 * count.h -- additions to counters of the tables.
 * Layer: prof. */
#ifndef MW_PROF_COUNT_H
#define MW_PROF_COUNT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/arch.h"

/* In the caller's turn (gate.h): nobody else writes meanwhile.  Relaxed, so that a reader sees no
 * half of a word. */
MW_ALWAYS_INLINE void mw_count(char *base, size_t offset_bytes, int64_t delta) {
	mw_os_add((_Atomic int64_t *)(void *)(base + offset_bytes), delta);
}

#endif
