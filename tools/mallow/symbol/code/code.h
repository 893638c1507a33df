/* SPDX-License-Identifier: MIT
 * code.h -- reads a function's instructions from the ELF file of a mapping: x86-64, i386,
 * aarch64.
 * Layer: symbol/code.  The folder's door; plt.h names the targets of calls through tables.  The
 * files may be hostile: callers call these functions within mw_confine()
 * (symbol/workers/confine.h). */
#ifndef MW_TOOL_SYMBOL_CODE_CODE_H
#define MW_TOOL_SYMBOL_CODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"
#include "symbol/files/symbol_options.h"

typedef enum mw_syntax {
	MW_SYNTAX_ATT,
	MW_SYNTAX_INTEL,
} mw_syntax_t;

/* A symbol of the file.  All addresses in this header are addresses of the ELF file. */
typedef struct mw_code_range {
	uint64_t start, end;
	char *name; /* demangled name; the caller frees it */
} mw_code_range_t;

typedef struct mw_instruction {
	uint64_t address;
	char *text; /* text, for example "call 0x1030 <malloc@plt>" */
} mw_instruction_t;

/* A function that an instruction belongs to, directly or by inlining. */
typedef struct mw_code_place {
	const char *name; /* demangled name */
	const char *file; /* source file; NULL = not known */
	int64_t line;
} mw_code_place_t;

enum { MW_CODE_PLACES_MAX = 64 };

typedef struct mw_code mw_code_t;

/* Opens the file of a mapping.  NULL: `error` says why. */
mw_code_t *mw_code_open(const mw_profile_t *profile, uint32_t mapping,
			const mw_symbolize_options_t *options, mw_syntax_t syntax,
			mw_error_t *error);
void mw_code_close(mw_code_t *code); /* NULL is allowed */

/* Returns the runtime address minus the address in the ELF file. */
uint64_t mw_code_bias(const mw_code_t *code);

/* Finds the symbol that holds an address.  False: there is none. */
bool mw_code_find(mw_code_t *code, uint64_t address, mw_code_range_t *range);

/* Reads the instructions of a range, by rising address, without gaps.  Bytes that are no
 * instruction become ".byte".  The caller frees each text and *out. */
int mw_code_read(mw_code_t *code, const mw_code_range_t *range, mw_instruction_t **out,
		 size_t *count, mw_error_t *error);

/* Fills in the functions inlined at an address, innermost first, and returns their number.  The
 * texts are valid until the code is closed. */
size_t mw_code_places(mw_code_t *code, uint64_t address,
		      mw_code_place_t places[MW_CODE_PLACES_MAX]);

#endif
