/* SPDX-License-Identifier: MIT
 * new_objects.h -- has the table of objects (os/unwind/object_table.h) learn of objects that a walk
 * did not know. Where libc finds the objects itself, nothing is done.
 * Layer: prof. errno kept. The calls wait for the lock of dl_iterate_phdr(3), unless the thread
 * holds a lock of the library, forks, or runs a signal handler. */
#ifndef MW_PROF_NEW_OBJECTS_H
#define MW_PROF_NEW_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/unwind/object_table.h"

/* Walks of one stack. */
typedef struct mw_new_objects {
	uint32_t generation; /* of the table before the last walk */
	uint32_t tries;
} mw_new_objects_t;

static inline mw_new_objects_t mw_new_objects_begin(void) {
	return (mw_new_objects_t){.generation = mw_os_object_table_generation()};
}

/* Called after a walk that met an address in no known object. Returns whether another walk will
 * know more. */
MW_COLD bool mw_new_objects_learn(mw_new_objects_t *objects, const uint64_t *frames,
				  unsigned depth);
/* Learns of what walks in signal handlers did not know. Called where an allocation does
 * maintenance, and by the background thread. */
void mw_new_objects_poll(void);

#endif
