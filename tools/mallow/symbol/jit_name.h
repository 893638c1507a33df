/* SPDX-License-Identifier: MIT
 * jit_name.h -- takes apart the names that compilers of scripts give their code.
 * Layer: symbol. */
#ifndef MW_TOOL_SYMBOL_JIT_NAME_H
#define MW_TOOL_SYMBOL_JIT_NAME_H

#include <stddef.h>
#include <stdint.h>

typedef struct mw_jit_name {
	/* For people. Of JavaScript "pack app.js:2:45", because many functions have no name of
	 * their own. */
	char name[1200];
	const char *file; /* path of the source, in the text that was parsed; NULL: not told */
	int64_t line;     /* 0: not told */
	/* "[javascript]", "[java]", "[python]": whose function it is; NULL: code of the compiler or
	 * of the interpreter itself. */
	const char *module;
} mw_jit_name_t;

/* Takes a name of V8, HotSpot or Python apart. Changes the text. */
void mw_jit_name_parse(char *text, mw_jit_name_t *out);

#endif
