/* SPDX-License-Identifier: MIT
 * object.h -- one ELF file with its debug information, looked up by address.
 * Layer: tools/symbol.  Private to this folder.  The files are taken for hostile: everything read
 * from them is bounded, and symbolize.c runs this in a process of its own. */
#ifndef MW_TOOL_SYMBOL_OBJECT_H
#define MW_TOOL_SYMBOL_OBJECT_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"
#include "symbol/symbolize.h"

typedef struct mw_object mw_object_t;

/* A function of a frame, by the names the file has. */
typedef struct mw_symbol_frame {
	const char *name; /* as the linker sees it if known, else as in the source; never NULL */
	const char *file; /* NULL: not known */
	int64_t line;     /* 0: not known */
} mw_symbol_frame_t;

/* More inlining than any compiler does. */
#define MW_OBJECT_INLINE_MAX 64

/* Hex digits of the longest build-id that is used, and NUL. */
#define MW_BUILD_ID_BYTES 129

/* Opens the file of a mapping, of the build recorded in it, where the options say to look.  NULL:
 * `error` says why. */
mw_object_t *mw_object_open(const mw_profile_t *profile, const mw_mapping_t *mapping,
			    const mw_symbolize_options_t *options, mw_error_t *error);
void mw_object_close(mw_object_t *object);

/* That of the file; "" without one. */
const char *mw_object_build_id(const mw_object_t *object);

/* Runtime address - address in the ELF file, from the file's segments; false: the mapping is not
 * one of them. */
bool mw_object_bias(const mw_object_t *object, const mw_mapping_t *mapping, uint64_t *bias);

/* Looks for the debug information at the first call, and unpacks it if it is packed. */
bool mw_object_has_debug(mw_object_t *object);

/* Gives back the file's pages that were read so far: to be called when a unit is behind. */
void mw_object_drop_pages(mw_object_t *object);

/* The file itself, as libdwfl has it: its addresses are those of the ELF file. */
Dwfl_Module *mw_object_module(const mw_object_t *object);

/* Which compilation unit an address is in, 0: none.  Looking up the first address of a unit reads
 * all of its lines and the names of its functions. */
uint64_t mw_object_unit(mw_object_t *object, uint64_t address);

/* Reads the lines of an address's unit and gives their pages back, so that they are not in memory
 * beside those of its functions. */
void mw_object_read_lines(mw_object_t *object, uint64_t address);

/* Says that only these addresses, rising, will be looked up until the next call: less is kept of a
 * large unit.  Without a call, any may. */
void mw_object_expect(mw_object_t *object, const uint64_t *addresses, size_t count);

/* The functions at an address of the ELF file, innermost first; returns how many (0: none).  The
 * texts are valid until the object is closed. */
size_t mw_object_lookup(mw_object_t *object, uint64_t address,
			mw_symbol_frame_t frames[MW_OBJECT_INLINE_MAX]);

#endif
