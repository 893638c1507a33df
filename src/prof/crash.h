/* SPDX-License-Identifier: MIT
 * crash.h -- the profile's last words: on a fatal signal, the stacks that hold most, as text.
 * Layer: prof.  Async-signal-safe.  Frames are function+offset (file+address), as
 * prof/place.h has them. */
#ifndef MW_PROF_CRASH_H
#define MW_PROF_CRASH_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/hooks.h"

/* Handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, where the program has none of its own;
 * off: the default again.  Afterwards the process ends by that signal all the same. */
void mw_crash_set_report(bool on);
/* The frames of a stack, a line each, on stderr. */
void mw_crash_print_stack(uint32_t stack);

/* A hook (heap/hooks.h): who allocated a live sample, and the frames, on stderr. */
void mw_crash_show_sample(mw_record_id_t record);

#endif
