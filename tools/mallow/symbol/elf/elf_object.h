/* SPDX-License-Identifier: MIT
 * elf_object.h -- one ELF file with its debug information, looked up by address.
 * Layer: symbol/elf.  The folder's door. elf_object.c opens the file and asks functions.h (DWARF's
 * functions), dwarf_units.h (the unit of an address) and symbols.h (the symbol table).
 * demangle.h makes names readable; mapped_pages.h returns memory.  The files may be hostile: all
 * values read from them are bounded, and callers use this in a separate process
 * (symbol/workers). */
#ifndef MW_TOOL_SYMBOL_ELF_ELF_OBJECT_H
#define MW_TOOL_SYMBOL_ELF_ELF_OBJECT_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"
#include "symbol/files/symbol_options.h"

typedef struct mw_object mw_object_t;

/* A function of a frame, with the names that the file has. */
typedef struct mw_symbol_frame {
	const char *name; /* the linker's name if it is known, else the source's; never NULL */
	const char *file; /* NULL = not known */
	int64_t line;     /* 0 = not known */
	/* The name is made of the file and the start of the unwind range: "cc1plus@0xcb5000". */
	bool is_range;
} mw_symbol_frame_t;

/* Most functions inlined at one address.  No compiler inlines deeper. */
#define MW_OBJECT_INLINE_MAX 64

/* Bytes for the hexadecimal digits of the longest supported build-id, and a NUL. */
#define MW_BUILD_ID_BYTES 129

/* Bytes for the longest identity of a file, and a NUL. */
#define MW_IDENTITY_BYTES 128

/* Fills in the identity of the file that a mapping's symbols come from: how it was found, its
 * device, inode, size and times of change.  "" = no file is found without asking servers.
 * Returns `identity`. */
const char *mw_object_identify(const mw_profile_t *profile, const mw_mapping_t *mapping,
			       const mw_symbolize_options_t *options,
			       char identity[MW_IDENTITY_BYTES]);
/* True if names from the identified file may be used after the file was removed: it was at the
 * profile's path, or it came from a server that the user asked. */
bool mw_identity_outlives_file(const char *identity);

/* Opens the file of a mapping, of the build recorded in the mapping, from the places that the
 * options name.  NULL: `error` says why. */
mw_object_t *mw_object_open(const mw_profile_t *profile, const mw_mapping_t *mapping,
			    const mw_symbolize_options_t *options, mw_error_t *error);
void mw_object_close(mw_object_t *object);

/* Returns the file's build-id; "" = it has none. */
const char *mw_object_build_id(const mw_object_t *object);
/* Returns the identity (mw_object_identify()) of the file that was opened. */
const char *mw_object_identity(const mw_object_t *object);

/* Computes the runtime address minus the address in the ELF file, from the file's segments.
 * False: the mapping is none of the segments. */
bool mw_object_bias(const mw_object_t *object, const mw_mapping_t *mapping, uint64_t *bias);

/* True if the file has debug information.  The first call searches for it, and unpacks it if it
 * is compressed. */
bool mw_object_has_debug(mw_object_t *object);

enum { MW_MISSING_BYTES = 200 };
/* Returns the name of a file of split debug information (.dwo) that a lookup wanted and did not
 * find; "" = none. */
const char *mw_object_missing(const mw_object_t *object);

/* Returns the pages of the file that were read so far to the system.  Called after each unit. */
void mw_object_drop_pages(mw_object_t *object);

/* Returns libdwfl's handle of the file.  Its addresses are those of the ELF file. */
Dwfl_Module *mw_object_module(const mw_object_t *object);

/* Returns the compilation unit of an address; 0 = none.  Looking up the first address of a unit
 * reads all of its lines and the names of its functions. */
uint64_t mw_object_unit(mw_object_t *object, uint64_t address);

/* Reads the lines of an address's unit and returns their pages, so that lines and functions are
 * not in memory together. */
void mw_object_read_lines(mw_object_t *object, uint64_t address);

/* Says that until the next call only these addresses, rising, will be looked up, so that less of
 * a large unit is kept.  Without a call any address may be looked up. */
void mw_object_expect(mw_object_t *object, const uint64_t *addresses, size_t count);

/* Fills in the functions at an address of the ELF file, innermost first; returns their number, 0
 * = none.  Code without a name has one function if its unwind range is known.  The texts are valid
 * until the object is closed. */
size_t mw_object_lookup(mw_object_t *object, uint64_t address,
			mw_symbol_frame_t frames[MW_OBJECT_INLINE_MAX]);

#endif
