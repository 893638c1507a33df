/* SPDX-License-Identifier: MIT
 * growers.h -- finds functions that make something larger and copy it (growers.def).
 * Layer: advise.  Private to this folder. */
#ifndef MW_TOOL_ADVISE_GROWERS_H
#define MW_TOOL_ADVISE_GROWERS_H

typedef struct mw_growers mw_growers_t;

mw_growers_t *mw_growers_new(void);
void mw_growers_free(mw_growers_t *growers);
/* Returns what the function of this name makes larger ("a std::vector"), or NULL. */
const char *mw_growers_find(const mw_growers_t *growers, const char *name);

#endif
