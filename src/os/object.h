/* SPDX-License-Identifier: MIT
 * object.h -- which loaded object holds a code address, and where its unwind tables are.
 * Layer: os.  mw_os_object_find() is async-signal-safe and takes no lock: objects present at the
 * start come from a table made then, others from glibc's _dl_find_object (2.35 and later; before
 * that, objects loaded by dlopen are not found).  errno kept.
 *
 * The answer for an object loaded later holds as long as the object cannot be unloaded, which is so
 * while its code is on the calling thread's stack. */
#ifndef MW_OS_OBJECT_H
#define MW_OS_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Executable segments of program start.  A browser has about 200; those beyond are found as
 * if they had been loaded later, which costs time only. */
#define MW_OS_PERMANENT_MAX 512u
#define MW_OS_NOT_PERMANENT UINT32_MAX

typedef struct mw_os_object {
	uintptr_t text_lo; /* the executable segment that holds the address */
	uintptr_t text_hi;
	uintptr_t data_lo; /* the readable segment that holds the unwind tables; empty: none */
	uintptr_t data_hi;
	uintptr_t eh_frame_hdr; /* in [data_lo, data_hi); 0: none */
	uint64_t data_offset;   /* of data_lo in its file */
	uintptr_t header;       /* where the file's first KiB is mapped; 0: nowhere */
	const char *path;       /* of those of program start, else NULL; stays */
	bool is_permanent;      /* loaded at program start: never unloaded, answers may be kept */
	/* Of an object loaded later: stands for its place and its build-id, so that two of one
	 * stamp have the same tables.  0: it has no build-id that is quickly found. */
	uint64_t stamp;
	uintptr_t build_id; /* where that is; 0: none */
} mw_os_object_t;

/* Lists the objects loaded with the program.  Once, before threads and before the program can have
 * called dlopen(3). */
void mw_os_object_start(void);

bool mw_os_object_find(uintptr_t address, mw_os_object_t *object);
/* Is what was found once, with a stamp, what holds the address now?  Quicker than finding it anew.
 */
bool mw_os_object_is_there(const mw_os_object_t *object, uintptr_t address);
/* The segment of program start that holds the address, numbered from 0, or MW_OS_NOT_PERMANENT. Its
 * range is in [*lo, *hi).  Costs a few comparisons. */
uint32_t mw_os_object_permanent(uintptr_t address, uintptr_t *lo, uintptr_t *hi);

/* The loader answers for a program whose segments have holes between them (they are aligned to more
 * than a page) with the segment alone.  Where [*start, *limit) lies in the program and `bias` is
 * the program's, makes it the whole of it, the holes included. */
void mw_os_object_widen(uintptr_t bias, uintptr_t *start, uintptr_t *limit);

/* The beginning of a file that tells it from all others, by its build-id. */
#define MW_OS_OBJECT_HEADER_BYTES 1024u
/* Is the file the one that the object was mapped from?  False in doubt: it has no build-id in its
 * beginning. */
bool mw_os_object_is_file(const mw_os_object_t *object, int file);
/* The build-id among an object's notes; NULL: none. */
const char *mw_os_object_build_id(const char *notes, uint64_t bytes, uint32_t *id_bytes);

/* May _dl_find_object be called?  Not where libc has none, and not in a static program, which may
 * allocate while libc makes the tables behind it. */
bool mw_os_object_can_ask_loader(void);

/* ---- between object.c and object_loaded.c ---- */

/* Fills in the unwind tables and the text segment that holds `address` (any text segment if 0). */
bool mw_os_object_describe(const ElfW(Phdr) * headers, unsigned count, uintptr_t bias,
			   uintptr_t address, mw_os_object_t *object);
bool mw_os_object_has_loader(void);
bool mw_os_object_find_loaded(uintptr_t address, mw_os_object_t *object);

#endif
