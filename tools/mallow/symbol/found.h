/* SPDX-License-Identifier: MIT
 * found.h -- the functions a worker has found, each once, with the names people read.
 * Layer: tools/symbol.  Private to this folder. */
#ifndef MW_TOOL_SYMBOL_FOUND_H
#define MW_TOOL_SYMBOL_FOUND_H

#include <stdint.h>

#include "model/profile.h"
#include "symbol/object.h"

typedef struct mw_found mw_found_t;

mw_found_t *mw_found_new(void);
void mw_found_free(mw_found_t *names);

/* The number of a frame's function: new ones follow the last. */
uint32_t mw_found_add(mw_found_t *names, const mw_symbol_frame_t *frame);
/* Where the functions and their texts are. */
const mw_profile_t *mw_found_profile(const mw_found_t *names);
/* To be called before an object is closed whose frames were added: they are known by the place of
 * their texts. */
void mw_found_forget_places(mw_found_t *names);

#endif
