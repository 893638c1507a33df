/* SPDX-License-Identifier: MIT
 * cxx.h -- C++'s operator new and delete under their mangled names (Itanium C++ ABI), so that the
 * library needs neither a C++ compiler nor libstdc++.
 * Layer: api.
 *
 * A program may replace some of the operators.  The C++ standard has the other forms call the
 * replaced ones ([new.delete]): new[] calls new, sized delete calls delete, and so on.  The nothrow
 * forms are not here: libstdc++'s call the throwing ones inside a try block, which C cannot. */
#ifndef MW_API_CXX_H
#define MW_API_CXX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* Weak for the sake of libmallow.a: a program may define some of the operators. */
#define MW_OPERATOR MW_EXPORT __attribute__((weak))

MW_OPERATOR void *_Znwm(size_t bytes);
MW_OPERATOR void *_Znam(size_t bytes);
MW_OPERATOR void *_ZnwmSt11align_val_t(size_t bytes, size_t align);
MW_OPERATOR void *_ZnamSt11align_val_t(size_t bytes, size_t align);
MW_OPERATOR void _ZdlPv(void *block);
MW_OPERATOR void _ZdaPv(void *block);
MW_OPERATOR void _ZdlPvm(void *block, size_t bytes);
MW_OPERATOR void _ZdaPvm(void *block, size_t bytes);
MW_OPERATOR void _ZdlPvSt11align_val_t(void *block, size_t align);
MW_OPERATOR void _ZdaPvSt11align_val_t(void *block, size_t align);
MW_OPERATOR void _ZdlPvmSt11align_val_t(void *block, size_t bytes, size_t align);
MW_OPERATOR void _ZdaPvmSt11align_val_t(void *block, size_t bytes, size_t align);

/* Functions of libstdc++; NULL: not loaded when libmallow.so was. libmallow.a refers to them
 * strongly, because a static program contains only those parts of libstdc++ that are referred
 * to. */
typedef void (*mw_new_handler_t)(void);
typedef struct mw_cxx_library {
	mw_new_handler_t (*get_new_handler)(void);
	void (*throw_bad_alloc)(void);
} mw_cxx_library_t;
extern const mw_cxx_library_t mw_cxx_library;

/* For functions that behave as operator new. `caller` is the return address of the function that
 * the program called. Calls the program's new handler; returns false if there is none. */
bool mw_cxx_call_new_handler(void *caller);
_Noreturn void mw_cxx_throw_bad_alloc(void *caller);

#endif
