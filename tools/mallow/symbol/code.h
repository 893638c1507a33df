/* SPDX-License-Identifier: MIT
 * code.h -- the instructions of a function, from the ELF file of a mapping: x86-64, i386, aarch64.
 * Layer: tools/symbol.  The files are taken for hostile: work on them in mw_confine(). */
#ifndef MW_TOOL_SYMBOL_CODE_H
#define MW_TOOL_SYMBOL_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"
#include "model/profile.h"
#include "symbol/symbolize.h"

typedef enum mw_syntax {
	MW_SYNTAX_ATT,
	MW_SYNTAX_INTEL,
} mw_syntax_t;

/* A symbol of the file.  Addresses here are those of the ELF file. */
typedef struct mw_code_range {
	uint64_t start, end;
	char *name; /* demangled; the caller frees it */
} mw_code_range_t;

typedef struct mw_instruction {
	uint64_t address;
	char *text; /* "call 0x1030 <malloc@plt>" */
} mw_instruction_t;

/* A function at an instruction. */
typedef struct mw_code_place {
	const char *name; /* demangled */
	const char *file; /* NULL: not known */
	int64_t line;
} mw_code_place_t;

enum { MW_CODE_PLACES_MAX = 64 };

typedef struct mw_code mw_code_t;

/* NULL: `error` says why. */
mw_code_t *mw_code_open(const mw_profile_t *profile, uint32_t mapping,
			const mw_symbolize_options_t *options, mw_syntax_t syntax,
			mw_error_t *error);
void mw_code_close(mw_code_t *code); /* NULL is fine */

/* Runtime address - address in the ELF file. */
uint64_t mw_code_bias(const mw_code_t *code);

/* The symbol that holds an address; false: none does. */
bool mw_code_find(mw_code_t *code, uint64_t address, mw_code_range_t *range);

/* Its instructions, rising, without a gap: what is none is a ".byte".  The caller frees each text,
 * and *out. */
int mw_code_read(mw_code_t *code, const mw_code_range_t *range, mw_instruction_t **out,
		 size_t *count, mw_error_t *error);

/* The functions inlined at an address, innermost first; returns how many.  The texts are valid
 * until the code is closed. */
size_t mw_code_places(mw_code_t *code, uint64_t address,
		      mw_code_place_t places[MW_CODE_PLACES_MAX]);

#endif
