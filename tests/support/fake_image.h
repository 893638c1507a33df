/* SPDX-License-Identifier: MIT
 * fake_image.h -- bytes as a dynamic linker lays out a program and a library with an allocator. */
#ifndef MW_TESTS_FAKE_IMAGE_H
#define MW_TESTS_FAKE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "live/image/loaded_modules.h"

/* The program is at the base, the library FAKE_IMAGE_LIBRARY behind it. Each is four pages: headers
 * and tables, code, words that are read only once relocated, data. */
#define FAKE_IMAGE_BASE UINT64_C(0x10000)
enum {
	FAKE_IMAGE_LIBRARY = 0x4000,
	FAKE_IMAGE_BYTES = 0x8000,
	FAKE_IMAGE_MAPS = 8,
	FAKE_IMAGE_CODE = 0x1000,
	FAKE_IMAGE_RELRO = 0x2000,
	FAKE_IMAGE_DATA = 0x3000,
	/* In the data of the program: slots of malloc and free, not used yet and used. */
	FAKE_IMAGE_UNBOUND = 0x3800,
	FAKE_IMAGE_BOUND = 0x3808,
	/* Words that are left out: another function's address, and outside of the module. */
	FAKE_IMAGE_OTHER = 0x3810,
	FAKE_IMAGE_OUTSIDE = 0x9000,
	/* In the library. */
	FAKE_IMAGE_MALLOC = 0x1100,
	FAKE_IMAGE_FREE = 0x1200,
};

void fake_image_fill(uint8_t bytes[FAKE_IMAGE_BYTES]);
void fake_image_maps(mw_map_t maps[FAKE_IMAGE_MAPS]);
/* What the kernel tells the program. */
mw_program_start_t fake_image_start(void);

#endif
