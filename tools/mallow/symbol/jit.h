/* SPDX-License-Identifier: MIT
 * jit.h -- names of generated code, from the map that its compiler writes for perf(1).
 * Layer: tools/symbol.  /tmp/perf-PID.map has a line a function: start and size in hexadecimal, and
 * the name.  V8 writes it with --perf-basic-prof, the JVM with perf-map-agent, and so on.  The file
 * is taken for hostile: anybody may have put it there. */
#ifndef MW_TOOL_SYMBOL_JIT_H
#define MW_TOOL_SYMBOL_JIT_H

#include "model/profile.h"

/* Names the locations that are in no file and have no name yet.  `pid` is that of the live process,
 * whose own /tmp is then looked at first; 0: it has ended. */
void mw_jit_symbolize(mw_profile_t *profile, uint32_t pid);

#endif
