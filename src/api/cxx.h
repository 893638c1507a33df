/* SPDX-License-Identifier: MIT
 * cxx.h -- C++'s operator new and delete under their mangled names (Itanium C++ ABI), so that the
 * library needs neither a C++ compiler nor libstdc++.
 * Layer: api. */
#ifndef MW_API_CXX_H
#define MW_API_CXX_H

#include <stddef.h>

#include "base/compiler.h"

typedef struct mw_nothrow mw_nothrow_t; /* std::nothrow_t */

MW_EXPORT void *_Znwm(size_t bytes);
MW_EXPORT void *_Znam(size_t bytes);
MW_EXPORT void *_ZnwmRKSt9nothrow_t(size_t bytes, const mw_nothrow_t *tag);
MW_EXPORT void *_ZnamRKSt9nothrow_t(size_t bytes, const mw_nothrow_t *tag);
MW_EXPORT void *_ZnwmSt11align_val_t(size_t bytes, size_t align);
MW_EXPORT void *_ZnamSt11align_val_t(size_t bytes, size_t align);
MW_EXPORT void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align,
						   const mw_nothrow_t *tag);
MW_EXPORT void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align,
						   const mw_nothrow_t *tag);
MW_EXPORT void _ZdlPv(void *block);
MW_EXPORT void _ZdaPv(void *block);
MW_EXPORT void _ZdlPvm(void *block, size_t bytes);
MW_EXPORT void _ZdaPvm(void *block, size_t bytes);
MW_EXPORT void _ZdlPvRKSt9nothrow_t(void *block, const mw_nothrow_t *tag);
MW_EXPORT void _ZdaPvRKSt9nothrow_t(void *block, const mw_nothrow_t *tag);
MW_EXPORT void _ZdlPvSt11align_val_t(void *block, size_t align);
MW_EXPORT void _ZdaPvSt11align_val_t(void *block, size_t align);
MW_EXPORT void _ZdlPvmSt11align_val_t(void *block, size_t bytes, size_t align);
MW_EXPORT void _ZdaPvmSt11align_val_t(void *block, size_t bytes, size_t align);
MW_EXPORT void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align,
						   const mw_nothrow_t *tag);
MW_EXPORT void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align,
						   const mw_nothrow_t *tag);

#endif
