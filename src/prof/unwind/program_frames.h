/* SPDX-License-Identifier: MIT
 * program_frames.h -- the unwind tables of a program that has no .eh_frame_hdr.
 * Layer: prof/unwind. gcc links static programs without that header, and no program header says
 * where .eh_frame is. The section headers do, in the program's file, which is opened once. An index
 * then takes the header's place. A program that has the header costs nothing here. */
#ifndef MW_PROF_UNWIND_PROGRAM_FRAMES_H
#define MW_PROF_UNWIND_PROGRAM_FRAMES_H

#include <stdint.h>

/* Makes the index, if the program needs one and its file can be read. Called once, behind
 * mw_os_object_start(), before threads exist. */
void mw_program_frames_start(void);

/* Returns the FDE that the index has for `pc`; NULL: none. The FDE may not cover pc.
 * Async-signal-safe, no locks. */
const uint8_t *mw_program_frames_search(uintptr_t pc);

uint64_t mw_program_frames_memory_bytes(void);
/* Passes the address range of the index to `see`. */
void mw_program_frames_visit_memory(void (*see)(uintptr_t start, uintptr_t limit));

#endif
