/* SPDX-License-Identifier: MIT
 * nallocx.h -- gperftools' nallocx(): the usable size of a block before it is allocated. */
#ifndef GPERFTOOLS_NALLOCX_H_
#define GPERFTOOLS_NALLOCX_H_

#include <stddef.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A flag: an alignment of 2^lg_align bytes. */
#define MALLOCX_LG_ALIGN(lg_align) ((int)(lg_align))

/* Returns the usable bytes of a block for a request of `size` bytes. */
PERFTOOLS_DLL_DECL size_t nallocx(size_t size, int flags);
PERFTOOLS_DLL_DECL size_t tc_nallocx(size_t size, int flags);

#ifdef __cplusplus
}
#endif

#endif
