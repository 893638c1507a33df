/* SPDX-License-Identifier: MIT
 * pc_name.h -- writes the function and file of a PC, for messages of the library.
 * Layer: prof/dump. Async-signal-safe: no locks, no allocation; it reads the object's file, which
 * may have been removed or replaced since it was loaded. */
#ifndef MW_PROF_DUMP_PC_NAME_H
#define MW_PROF_DUMP_PC_NAME_H

#include <stddef.h>
#include <stdint.h>

/* Writes "function+0x12 (/path/object+0x1234)". The address in parentheses is one of the ELF file,
 * as addr2line expects it. The function is omitted if no symbol table has it. `pc` is in the form
 * of mw_unwind_capture(). */
void mw_pc_name(uint64_t pc, char *buffer, size_t capacity);
/* Like mw_pc_name(), for an address in an ELF file that lies in the call, not behind it. */
void mw_pc_name_in(const char *path, uint64_t address, char *buffer, size_t capacity);

#endif
