/* SPDX-License-Identifier: MIT
 * found.h -- the functions that a worker has found, each once, with readable names.
 * Layer: symbol/workers.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_WORKERS_FOUND_H
#define MW_TOOL_SYMBOL_WORKERS_FOUND_H

#include <stdint.h>

#include "model/profile.h"
#include "symbol/elf/elf_object.h"

typedef struct mw_found mw_found_t;

mw_found_t *mw_found_new(void);
void mw_found_free(mw_found_t *names);

/* Returns the number of a frame's function.  A new function gets the next number. */
uint32_t mw_found_add(mw_found_t *names, const mw_symbol_frame_t *frame);
/* Returns the profile that holds the functions and their texts. */
const mw_profile_t *mw_found_profile(const mw_found_t *names);
/* Forgets the addresses of texts.  Called before an object is closed whose frames were added,
 * because its memory becomes invalid. */
void mw_found_forget_places(mw_found_t *names);

#endif
