/* SPDX-License-Identifier: MIT
 * jit.h -- names generated code by the map that its compiler writes for perf(1).
 * Layer: symbol. /tmp/perf-PID.map has one line for each function: start and size in
 * hexadecimal, and the name.  V8 writes it with --perf-basic-prof, the JVM with perf-map-agent.
 * Any user may write a file with that name, so a map is believed only if it belongs to the
 * process's user, to the user who asks or to root, and is a regular file with one name. Its content
 * counts as hostile: a line costs the logarithm of the number of locations. */
#ifndef MW_TOOL_SYMBOL_JIT_H
#define MW_TOOL_SYMBOL_JIT_H

#include "model/profile.h"

/* Names the locations that are in no file and have no name yet.  `pid` is a live process, whose
 * own /tmp is searched first; 0 = the process has ended. */
void mw_jit_symbolize(mw_profile_t *profile, uint32_t pid);

#endif
