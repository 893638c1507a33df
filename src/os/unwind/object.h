/* SPDX-License-Identifier: MIT
 * object.h -- finds the loaded object that contains a code address, and its unwind tables.
 * Layer: os/unwind. mw_os_object_find() is async-signal-safe and takes no lock: objects loaded at
 * program start come from a table that is filled then, others from glibc's _dl_find_object (2.35
 * and later) or from a copy of the dynamic linker's list (object_table.h). errno kept.
 *
 * The result for an object loaded later is valid while the object's code is on the calling thread's
 * stack, because the object cannot be unloaded then. */
#ifndef MW_OS_OBJECT_H
#define MW_OS_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Capacity for executable segments of program start. A browser has about 200. Further ones are
 * found like those loaded later, which only takes longer. */
#define MW_OS_PERMANENT_MAX 512u
#define MW_OS_NOT_PERMANENT UINT32_MAX

typedef struct mw_os_object {
	uintptr_t text_lo; /* executable segment that contains the address */
	uintptr_t text_hi;
	uintptr_t data_lo; /* readable segment with the unwind tables; empty: none */
	uintptr_t data_hi;
	/* Lies in [data_lo, data_hi). 0: none; if there are unwind tables, they are the program's,
	 * set by mw_os_object_set_program_tables(). */
	uintptr_t eh_frame_hdr;
	bool is_permanent; /* loaded at program start, so never unloaded: results may be cached */
	/* Hash of the address and the build-id of an object that was loaded later. Two objects with
	 * the same stamp have the same tables. 0: the object has no build-id, or finding it would
	 * take long. */
	uint64_t stamp;
	uintptr_t build_id; /* address of the build-id; 0: none */
} mw_os_object_t;

/* Lists the objects loaded with the program. Called once, before threads exist and before the
 * program can call dlopen(3). */
void mw_os_object_start(void);

bool mw_os_object_find(uintptr_t address, mw_os_object_t *object);
/* Returns whether an object that was found earlier, with a stamp, still contains the address.
 * Faster than mw_os_object_find(). */
bool mw_os_object_is_there(const mw_os_object_t *object, uintptr_t address);
/* Returns the number, from 0, of the segment of program start that contains the address, or
 * MW_OS_NOT_PERMANENT. Stores the segment's range in [*lo, *hi). Takes a few comparisons. */
uint32_t mw_os_object_permanent(uintptr_t address, uintptr_t *lo, uintptr_t *hi);

/* For programs whose segments are aligned to more than a page, the loader reports a single segment.
 * If [*start, *limit) lies in the program and `bias` is the program's, this sets the range to the
 * whole program, including the gaps between its segments. */
void mw_os_object_widen(uintptr_t bias, uintptr_t *start, uintptr_t *limit);

/* The program, as the kernel or the loader mapped it. */
typedef struct mw_os_program {
	const ElfW(Phdr) * headers;
	unsigned header_count; /* 0: the program is not known */
	uintptr_t bias;
	uintptr_t start, limit; /* from its first segment to the end of its last one */
} mw_os_program_t;

const mw_os_program_t *mw_os_object_program(void);
/* Sets the .eh_frame of a program without PT_GNU_EH_FRAME. Called once, after mw_os_object_start()
 * and before threads exist. */
void mw_os_object_set_program_tables(uintptr_t lo, uintptr_t hi);

/* Returns the build-id among an object's notes; NULL: none. */
const char *mw_os_object_build_id(const char *notes, uint64_t bytes, uint32_t *id_bytes);

/* Returns whether _dl_find_object may be called: libc must have it, and the program must not be
 * static, because a static program may allocate before libc fills its tables. */
bool mw_os_object_can_ask_loader(void);

/* ---- between object.c and object_loaded.c ---- */

/* Finds the unwind tables and the text segment that contains `address` (0: any text segment). */
bool mw_os_object_describe(const ElfW(Phdr) * headers, unsigned count, uintptr_t bias,
			   uintptr_t address, mw_os_object_t *object);
bool mw_os_object_has_loader(void);
bool mw_os_object_find_loaded(uintptr_t address, mw_os_object_t *object);

#endif
