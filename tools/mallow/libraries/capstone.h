/* SPDX-License-Identifier: MIT
 * capstone.h -- functions of capstone, which decodes instructions.  Layer: libraries.  Its tables
 * hold so many pointers to relocate that loading it costs more page faults than the start of the
 * command.  MW_LINKS_LIBRARIES (a command for other systems, scripts/tarball.sh): capstone is part
 * of the command. */
#ifndef MW_TOOL_LIBRARIES_CAPSTONE_H
#define MW_TOOL_LIBRARIES_CAPSTONE_H

#include <capstone/capstone.h>

#include "model/error.h"

/* F(name): each function that is called, without its cs_. */
#define MW_CAPSTONE_FUNCTIONS(F)                                                                   \
	F(close)                                                                                   \
	F(disasm_iter)                                                                             \
	F(free)                                                                                    \
	F(insn_group)                                                                              \
	F(malloc)                                                                                  \
	F(open)                                                                                    \
	F(option)                                                                                  \
	F(regs_access)

typedef struct mw_capstone {
#define MW_CAPSTONE_FIELD(name) __typeof__(cs_##name) *name;
	MW_CAPSTONE_FUNCTIONS(MW_CAPSTONE_FIELD)
#undef MW_CAPSTONE_FIELD
} mw_capstone_t;

/* All NULL until mw_capstone_load() has returned 0. */
extern mw_capstone_t mw_capstone;

/* Loads the version that the command was built for, once for the process: versions number
 * instructions and registers differently.  0, or -1 with an error that says what to install. */
int mw_capstone_load(mw_error_t *error);

#endif
