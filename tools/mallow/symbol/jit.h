/* SPDX-License-Identifier: MIT
 * jit.h -- names generated code by the files that its compiler writes for perf(1).
 * Layer: symbol. /tmp/perf-PID.map has one line for each function: start and size in hexadecimal,
 * and the name.  V8 writes it with --perf-basic-prof, HotSpot with -XX:+DumpPerfMapAtExit, Python
 * with PYTHONPERFSUPPORT=1.  jit-PID.dump (jitdump) has a record for each: V8 with --perf-prof,
 * HotSpot with perf's agent.  jit_find.h opens these files, jit_read.h reads them, jit_name.h takes
 * the names apart.  Their content counts as hostile: a piece of code costs the logarithm of the
 * number of locations. */
#ifndef MW_TOOL_SYMBOL_JIT_H
#define MW_TOOL_SYMBOL_JIT_H

#include <stdio.h>

#include "model/profile.h"

/* Names the locations that are in no file and have no name yet.  `pid` is a live process, whose
 * own files are searched first; 0 = the process has ended.  A function of a script gets a mapping
 * without addresses, such as [javascript]. */
void mw_jit_symbolize(mw_profile_t *profile, uint32_t pid);
/* Names the locations by one file, which stays open.  A jitdump of another process than `pid` is
 * not used. */
void mw_jit_symbolize_by(mw_profile_t *profile, FILE *file, uint32_t pid);

#endif
