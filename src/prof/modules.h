/* SPDX-License-Identifier: MIT
 * modules.h -- which loaded object a PC belongs to, also after that object is gone.
 * Layer: prof.  Objects are found through glibc's lock-free _dl_find_object, without it through
 * /proc/self/maps.  Known ones are recognised without a lock; the lock MW_RANK_MODULES is for
 * adding one.  An object that takes the place of another gets an entry of its own. */
#ifndef MW_PROF_MODULES_H
#define MW_PROF_MODULES_H

#include <stdbool.h>
#include <stdint.h>

/* Turns the PCs of one stack, which is the calling thread's, into frames as state/layout.h has
 * them.  True when none of their code can ever be unloaded: the same PCs then give the same frames
 * again.  In the caller's turn (gate.h). */
bool mw_modules_encode(uint64_t *frames, unsigned depth);
/* Changes when an object is seen for the first time, or again, or is seen to be gone: until then,
 * the same code at the same place gives the same frames. */
uint32_t mw_modules_generation(void);
/* Marks the objects that are gone.  Inside the gate; cheap, but for about once a second. */
void mw_modules_check(void);
/* In the child of a fork. */
void mw_modules_forked(void);

#ifdef MW_TESTING
/* true: as if libc had no _dl_find_object. */
void mw_modules_use_maps(bool use_maps);
#endif

#endif
