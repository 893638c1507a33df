/* SPDX-License-Identifier: MIT
 * place.h -- says where a PC is, for messages written inside the process.
 * Layer: prof.  Async-signal-safe: no locks, no allocation; it reads the object's file, which may
 * be gone or another by now, so what it says is for people. */
#ifndef MW_PROF_PLACE_H
#define MW_PROF_PLACE_H

#include <stddef.h>
#include <stdint.h>

/* "function+0x12 (/path/object+0x1234)", the latter an address of the ELF file as addr2line takes
 * it; without the function where no symbol table tells.  `pc` as mw_unwind_capture() gives it. */
void mw_place_name(uint64_t pc, char *buffer, size_t capacity);
/* The same of an address in an ELF file, of the call, not of what it returns to. */
void mw_place_name_in(const char *path, uint64_t address, char *buffer, size_t capacity);

#endif
