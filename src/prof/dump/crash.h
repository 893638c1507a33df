/* SPDX-License-Identifier: MIT
 * crash.h -- on a fatal signal, prints the stacks with the most live bytes.
 * Layer: prof/dump. Async-signal-safe. Frames are printed as function+offset (file+address), by
 * prof/dump/pc_name.h. */
#ifndef MW_PROF_DUMP_CRASH_H
#define MW_PROF_DUMP_CRASH_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/sample/hooks.h"

/* true: installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, if the program has none;
 * false: restores the default. After the report the signal ends the process. */
void mw_crash_set_report(bool on);
/* Prints the frames of a stack on stderr, one line each. */
void mw_crash_print_stack(uint32_t stack);

/* A hook (heap/sample/hooks.h): prints the thread and stack that allocated a live sample, on
 * stderr. */
void mw_crash_show_sample(mw_record_id_t record);

#endif
