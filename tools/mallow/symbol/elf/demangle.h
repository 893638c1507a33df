/* SPDX-License-Identifier: MIT
 * demangle.h -- makes C++ and Rust names readable.
 * Layer: symbol/elf. */
#ifndef MW_TOOL_SYMBOL_ELF_DEMANGLE_H
#define MW_TOOL_SYMBOL_ELF_DEMANGLE_H

/* Returns the demangled name (C++, Rust v0 and legacy), or a copy of `name`.  The caller frees
 * it. */
char *mw_demangle(const char *name);
/* As mw_demangle(), with parameters and return types. */
char *mw_demangle_whole(const char *name);

#endif
