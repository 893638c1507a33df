/* SPDX-License-Identifier: MIT
 * fake_modules.h -- bytes as a dynamic linker lays out a program and a library with an allocator.
 */
#ifndef MW_TESTS_FAKE_MODULES_H
#define MW_TESTS_FAKE_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "live/loaded/loaded_modules.h"

/* The program is at the base, the library FAKE_MODULES_LIBRARY behind it. Each is four pages:
 * headers and tables, code, words that are read only once relocated, data. */
#define FAKE_MODULES_BASE UINT64_C(0x10000)
enum {
	FAKE_MODULES_LIBRARY = 0x4000,
	FAKE_MODULES_BYTES = 0x8000,
	FAKE_MODULES_MAPS = 8,
	FAKE_MODULES_CODE = 0x1000,
	FAKE_MODULES_RELRO = 0x2000,
	FAKE_MODULES_DATA = 0x3000,
	/* In the data of the program: slots of malloc and free, not used yet and used. */
	FAKE_MODULES_UNBOUND = 0x3800,
	FAKE_MODULES_BOUND = 0x3808,
	/* Words that are left out: an address of data, and outside of the module. */
	FAKE_MODULES_OTHER = 0x3810,
	FAKE_MODULES_OUTSIDE = 0x9000,
	/* In the library. */
	FAKE_MODULES_MALLOC = 0x1100,
	FAKE_MODULES_FREE = 0x1200,
};

void fake_modules_fill(uint8_t bytes[FAKE_MODULES_BYTES]);
void fake_modules_maps(mw_map_t maps[FAKE_MODULES_MAPS]);
/* What the kernel tells the program. */
mw_program_start_t fake_modules_start(void);

#endif
